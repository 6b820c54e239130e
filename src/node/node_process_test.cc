// SPDX-License-Identifier: Apache-2.0
//
// The whole agent with real sockets: an API server with TLS that knows what a node may do, a driver,
// and a runtime that runs nothing.
#include "node/node_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "api/lease.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/mutex.h"
#include "client/server_for_test.h"
#include "container/none_runtime.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"
#include "rpc/plugin_server.h"
#include "rpc/pod_resources.h"
#include "testing/descriptors.h"
#include "testing/objects_from.h"
#include "testing/status_matchers.h"

namespace dray::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::IsOk;

// A driver that does what it is asked and remembers it.
class Driver final : public rpc::PluginHandler {
 public:
  explicit Driver(std::string endpoint) : endpoint_(std::move(endpoint)) {}

  StatusOr<rpc::PrepareAnswer> Prepare(const std::vector<rpc::ClaimName>& claims) override {
    rpc::PrepareAnswer answer;
    for (const rpc::ClaimName& claim : claims) {
      Add("prepare " + claim.name);
      answer[claim.uid].devices = {{.requests = {"gpu"},
                                    .pool = "n1",
                                    .device = "gpu-0",
                                    .cdi_ids = {"d.example.com/gpu=" + claim.uid}}};
    }
    return answer;
  }
  StatusOr<rpc::UnprepareAnswer> Unprepare(const std::vector<rpc::ClaimName>& claims) override {
    rpc::UnprepareAnswer answer;
    for (const rpc::ClaimName& claim : claims) {
      Add("unprepare " + claim.name);
      answer[claim.uid] = "";
    }
    return answer;
  }
  Status WatchHealth(std::shared_ptr<rpc::HealthReports> reports) override {
    reports->Send({{.pool = "n1", .device = "gpu-0", .health = rpc::Health::kHealthy}});
    reports_ = std::move(reports);
    return {};
  }
  StatusOr<rpc::PluginInfo> Info() override {
    return rpc::PluginInfo{.type = "DRAPlugin",
                           .name = "d.example.com",
                           .endpoint = endpoint_,
                           .supported_versions = {"v1.DRAPlugin", "v1.DRAResourceHealth"}};
  }
  Status Registered(bool registered, const std::string& error) override {
    Add(registered ? "registered" : "refused " + error);
    return {};
  }
  std::vector<std::string> calls() const {
    const base::MutexLock lock(mutex_);
    return calls_;
  }

 private:
  void Add(std::string call) {
    const base::MutexLock lock(mutex_);
    calls_.push_back(std::move(call));
  }

  const std::string endpoint_;
  std::shared_ptr<rpc::HealthReports> reports_;
  mutable base::Mutex mutex_;
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mutex_);
};

bool Eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < end) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

class NodeProcessTest : public ::testing::Test {
 protected:
  NodeProcessTest() {
    Create(R"(
apiVersion: v1
kind: Namespace
metadata: {name: kube-node-lease}
)");
    options_.access = server_.AccessAs("system:node:n1", {"system:nodes"});
    options_.name = "n1";
    options_.root = folder_ / "root";
    options_.log_root = folder_ / "logs";
    options_.port = 0;
    options_.address = "127.0.0.1";
  }

  void Create(std::string_view yaml) {
    for (const api::Object& object : testing::ObjectsFrom(yaml)) {
      const auto created = server_.local().Create(object);
      ASSERT_TRUE(created.ok()) << created.status();
    }
  }
  template <typename T>
  std::optional<T> Find(std::string_view namespace_, std::string_view name) {
    const auto found = server_.local().Find(api::HubKind(api::TypeInfoOf<T>()), namespace_, name);
    if (!found.ok() || !found->has_value()) return std::nullopt;
    return *(*found)->template As<T>();
  }
  std::string PhaseOf(std::string_view name) {
    const auto pod = Find<api::Pod>("ns", name);
    return pod ? pod->status.phase : "gone";
  }
  void Allocate(const std::string& claim_name, const api::Pod& pod) {
    api::ResourceClaim claim = *Find<api::ResourceClaim>("ns", claim_name);
    claim.status.allocation.emplace().devices.results.push_back(
        {.request = "gpu", .driver = "d.example.com", .pool = "n1", .device = "gpu-0"});
    claim.status.reserved_for = {
        {.resource = "pods", .name = pod.metadata.name, .uid = pod.metadata.uid}};
    const auto written = server_.local().UpdateStatus(api::Object::Of(claim));
    ASSERT_TRUE(written.ok()) << written.status();
  }

  base::SystemClock clock_;
  files::TemporaryFolder folder_;
  client::TestServer server_;
  container::NoneRuntime runtime_{clock_};
  NodeProcessOptions options_;
};

constexpr std::string_view kObjects = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: ns}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpus}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: ns}
spec:
  nodeName: n1
  terminationGracePeriodSeconds: 5
  containers: [{name: main, image: i, resources: {claims: [{name: r}]}}]
  resourceClaims: [{name: r, resourceClaimName: c}]
)";

TEST_F(NodeProcessTest, APodGetsItsDeviceThroughRealSockets) {
  const auto before = testing::DescriptorsForChildren();
  Create(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: old}
spec: {driver: gone.example.com, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1}}
)");
  const std::string endpoint = options_.root + "/plugins/d.example.com/dra.sock";
  ASSERT_THAT(files::MakeFolder(options_.root + "/plugins/d.example.com"), IsOk());
  ASSERT_THAT(files::MakeFolder(options_.root + "/plugins_registry"), IsOk());
  Driver driver(endpoint);
  auto served = rpc::ServePlugin(
      {.registration = options_.root + "/plugins_registry/d-reg.sock", .dra = endpoint}, driver);
  ASSERT_TRUE(served.ok()) << served.status();
  auto node = NodeProcess::Start(options_, runtime_, clock_);
  ASSERT_TRUE(node.ok()) << node.status();
  Create(kObjects);
  Allocate("c", *Find<api::Pod>("ns", "p"));
  EXPECT_TRUE(Eventually([&] { return PhaseOf("p") == "Running"; })) << PhaseOf("p");
  EXPECT_THAT(driver.calls(), ElementsAre("registered", "prepare c"));

  const api::Node object = *Find<api::Node>("", "n1");
  EXPECT_GT(object.status.daemon_endpoints.kubelet_endpoint.port, 0);
  EXPECT_TRUE(Eventually([&] { return Find<api::Lease>("kube-node-lease", "n1").has_value(); }));
  // Whatever starts now inherits none of the sockets: to API server and driver, and those on which
  // the agent and the API server of this process listen.
  EXPECT_THAT(testing::DescriptorsForChildren(), ::testing::IsSubsetOf(before));
  // What drivers that are gone have published is gone, too.
  EXPECT_TRUE(Eventually([&] { return !Find<api::ResourceSlice>("", "old").has_value(); }));
  EXPECT_TRUE(Eventually([&] {
    const auto pod = Find<api::Pod>("ns", "p");
    const auto& statuses = pod->status.container_statuses;
    return !statuses.empty() && !statuses[0].allocated_resources_status.empty() &&
           statuses[0].allocated_resources_status[0].resources[0].health == "Healthy";
  }));

  // The agent is started again; nothing is prepared twice.
  node->reset();
  node = NodeProcess::Start(options_, runtime_, clock_);
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_TRUE(Eventually([&] { return driver.calls().size() == 3; }));
  EXPECT_THAT(driver.calls(), ElementsAre("registered", "prepare c", "registered"));
  ASSERT_THAT(server_.local().Delete(api::HubKind(api::TypeInfoOf<api::Pod>()), "ns", "p"), IsOk());
  EXPECT_TRUE(Eventually([&] { return PhaseOf("p") == "gone"; })) << PhaseOf("p");
  EXPECT_EQ(driver.calls().back(), "unprepare c");
}

// Whoever listens and says nothing keeps nobody but its own pod waiting, and not even the end of the
// agent.
TEST_F(NodeProcessTest, PodsThatDoNotAnswerStopNothing) {
  const files::Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&at), sizeof(at)), 0);
  ASSERT_EQ(::listen(listener.get(), 128), 0);
  socklen_t size = sizeof(at);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
  auto node = NodeProcess::Start(options_, runtime_, clock_);
  ASSERT_TRUE(node.ok()) << node.status();
  for (int i = 0; i < 40; ++i) {
    Create(fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: p{}, namespace: ns}}
spec:
  nodeName: n1
  containers:
  - name: c
    image: i
    livenessProbe: {{httpGet: {{host: 127.0.0.1, port: {}}}, timeoutSeconds: 3600}}
)",
                       i, ntohs(at.sin_port)));
  }
  EXPECT_TRUE(Eventually([&] {
    for (int i = 0; i < 40; ++i) {
      if (PhaseOf(fmt::format("p{}", i)) != "Running") return false;
    }
    return true;
  }));
  const auto before = std::chrono::steady_clock::now();
  node->reset();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(20));
}

TEST_F(NodeProcessTest, SaysWhyItCannotStart) {
  ASSERT_THAT(files::MakeFolder(options_.root), IsOk());
  ASSERT_THAT(files::WriteWhole(options_.root + "/dra_manager_state", "not JSON"), IsOk());
  const auto node = NodeProcess::Start(options_, runtime_, clock_);
  ASSERT_FALSE(node.ok());
  EXPECT_THAT(std::string(base::Message(node.status())),
              ::testing::HasSubstr("drain the node, remove dra_manager_state"));
}

}  // namespace
}  // namespace dray::node
