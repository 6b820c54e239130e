// SPDX-License-Identifier: Apache-2.0
//
// The rows of docs/spec/node.md 20 that are marked with a dot, with real containers: the agent over
// runc, with drivers that write CDI specs. Skipped, with the reason, where nobody can run any.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/memory_cluster.h"
#include "container/can_run_for_test.h"
#include "container/runc_runtime.h"
#include "files/files.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"
#include "image/layout.h"
#include "image/store.h"
#include "node/agent.h"
#include "node/plugins_for_test.h"
#include "testing/objects_from.h"
#include "testing/status_matchers.h"

namespace dray::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::Not;

class NoProbes final : public ProbeClient {
 public:
  void Http(const HttpProbe&, std::chrono::nanoseconds,
            std::function<void(StatusOr<HttpAnswer>)> done) override {
    done(base::Unavailable("there is no network"));
  }
  void Tcp(const ProbeTarget&, std::chrono::nanoseconds,
           std::function<void(Status)> done) override {
    done(base::Unavailable("there is no network"));
  }
  void Grpc(const GrpcProbe&, std::chrono::nanoseconds, std::function<void(Status)> done) override {
    done(base::Unavailable("there is no network"));
  }
};

class NoSources final : public Sources {
 public:
  StatusOr<std::optional<Kept>> ConfigMap(const std::string&, const std::string&) override {
    return std::nullopt;
  }
  StatusOr<std::optional<Kept>> Secret(const std::string&, const std::string&) override {
    return std::nullopt;
  }
  StatusOr<Token> MakeToken(const TokenWish&) override { return base::Unavailable("nobody asks"); }
};

class LoopOffload final : public Offload {
 public:
  explicit LoopOffload(Loop& loop) : loop_(loop) {}
  void Do(std::function<void()> work) override { loop_.Post(std::move(work)); }

 private:
  Loop& loop_;
};

class RuncAcceptance : public ::testing::Test {
 protected:
  void SetUp() override {
    static const std::string why_not = container::WhyNoContainers();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    std::vector<std::pair<std::string, std::string>> links;
    for (const char* name : {"sh", "env", "sleep", "echo", "test", "rm"}) {
      links.emplace_back(fmt::format("/bin/{}", name), "busybox");
    }
    ASSERT_THAT(image::BuildImage({.images = folder_ / "images",
                                   .name = "busybox",
                                   .rootfs = {},
                                   .binary = "/bin/busybox",
                                   .links = links,
                                   .config = {.env = {"PATH=/bin"}, .cmd = {"sh"}}}),
                IsOk());
    ASSERT_THAT(files::MakeFolder(folder_ / "cdi"), IsOk());
    auto store = image::Store::Open(
        {.folder = folder_ / "store", .sources = {folder_ / "images"}, .limits = {}});
    ASSERT_THAT(store, IsOk());
    store_ = *std::move(store);
    container::RuncOptions runc;
    runc.root = folder_ / "run";
    runc.shim = {std::filesystem::read_symlink("/proc/self/exe").parent_path().string() +
                 "/node_shim"};
    runc.cgroup_parent = cgroup_;
    runc.cdi_folders = {folder_ / "cdi"};
    auto runtime = container::OpenRuncRuntime(runc, *store_, clock_);
    ASSERT_THAT(runtime, IsOk());
    runtime_ = *std::move(runtime);
    options_.root = folder_ / "kubelet";
    options_.log_root = folder_ / "logs";
    options_.node.name = "n1";
    options_.node.allocatable["cpu"] = base::Quantity::FromInt(4);
    options_.node.allocatable["memory"] = *base::Quantity::Parse("8Gi");
    options_.node.allocatable["pods"] = base::Quantity::FromInt(110);
    plugins_.Register("d1");
  }

  void TearDown() override {
    if (runtime_ == nullptr) return;
    if (agent_ == nullptr) StartAgent();
    // Everything goes, whatever the test has left.
    for (const api::Object& pod : memory_.All(kPods)) {
      EXPECT_THAT(memory_.Delete(kPods, pod.metadata().namespace_, pod.metadata().name), IsOk());
    }
    EXPECT_TRUE(Pump([&] { return agent_->Pods().empty(); })) << "pods are left";
    EXPECT_THAT(plugins_.prepared(), IsEmpty());
    agent_.reset();
    runtime_.reset();
    // The group of all pods is left by a runtime: another one may use it.
    const std::filesystem::path groups = "/sys/fs/cgroup";
    ::rmdir((groups.string() + cgroup_).c_str());
    for (const auto& controller : std::filesystem::directory_iterator(groups)) {
      ::rmdir((controller.path().string() + cgroup_).c_str());
    }
    EXPECT_THAT(files::NamesIn(folder_ / "run/containers").value_or(std::vector<std::string>()),
                IsEmpty());
  }

  void StartAgent() {
    auto made = Agent::Make({.loop = loop_,
                             .offload = offload_,
                             .cluster = memory_,
                             .runtime = *runtime_,
                             .plugins = plugins_,
                             .probes = probes_,
                             .sources = sources_,
                             .log = {}},
                            options_);
    ASSERT_TRUE(made.ok()) << made.status();
    agent_ = *std::move(made);
    const api::KindInfo* kinds[] = {&kPods};
    agent_->Start(memory_.Watch(kinds, {.fields = *api::FieldSelector::Parse("spec.nodeName=n1")}));
  }

  // Runs the agent until this holds.
  bool Pump(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(90);
    while (std::chrono::steady_clock::now() < end) {
      if (agent_ != nullptr) agent_->OnWatch();
      loop_.RunDue();
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  // A CDI device of each claim, which sets a variable that says so.
  void AddClaim(const api::ResourceClaim& claim, const std::vector<std::string>& names = {}) {
    std::vector<std::string> devices = names;
    if (devices.empty()) devices = {claim.metadata.uid};
    std::string json = R"({"cdiVersion":"0.6.0","kind":"d1/dev","devices":[)";
    for (const std::string& name : devices) {
      if (name != devices.front()) json += ',';
      std::string variable = name;
      std::ranges::replace(variable, '-', '_');
      json += fmt::format(R"({{"name":"{}","containerEdits":{{"env":["DEVICE_{}=yes"]}}}})", name,
                          variable);
    }
    ASSERT_THAT(files::WriteWhole(folder_ / ("cdi/" + claim.metadata.uid + ".json"), json + "]}"),
                IsOk());
    std::vector<api::Object> one;
    one.push_back(api::Object::Of(claim));
    ASSERT_THAT(memory_.Load(std::move(one)), IsOk());
  }
  void Apply(std::string_view yaml) {
    for (api::Object object : testing::ObjectsFrom(yaml)) {
      if (object.As<api::Pod>() != nullptr) {
        api::Pod& pod = *object.Mutable<api::Pod>();
        pod.metadata.namespace_ = "ns";
        pod.metadata.uid = "uid-" + pod.metadata.name;
        pod.spec.node_name = "n1";
        pod.spec.termination_grace_period_seconds = 0;
      }
      std::vector<api::Object> one;
      one.push_back(std::move(object));
      ASSERT_THAT(memory_.Load(std::move(one)), IsOk());
    }
  }
  std::string PhaseOf(std::string_view name) const {
    const auto pod = memory_.Stored(kPods, "ns", name);
    return pod ? pod->As<api::Pod>()->status.phase : "gone";
  }
  bool Runs(std::string_view name) {
    return Pump([&] { return PhaseOf(name) == "Running"; });
  }
  std::string LogOf(std::string_view pod, std::string_view container, int attempt = 0) const {
    const std::string path =
        fmt::format("{}/ns_{}_uid-{}/{}/{}.log", options_.log_root, pod, pod, container, attempt);
    return files::ReadWhole(path).value_or("");
  }
  // Waits for the log to be complete: containers say so last.
  std::string EnvOf(std::string_view pod, std::string_view container, int attempt = 0) {
    EXPECT_TRUE(Pump([&] {
      return LogOf(pod, container, attempt).find("that is all") != std::string::npos;
    })) << LogOf(pod, container, attempt);
    return LogOf(pod, container, attempt);
  }

  const api::KindInfo& kPods = api::HubKind(api::TypeInfoOf<api::Pod>());
  base::SystemClock clock_;
  base::SeededRandomSource random_{1};
  files::TemporaryFolder folder_;
  const std::string cgroup_ = fmt::format("/dray-agent-test-{}", ::getpid());
  Loop loop_{clock_};
  LoopOffload offload_{loop_};
  NoProbes probes_;
  NoSources sources_;
  PluginsForTest plugins_{loop_};
  api::MemoryCluster memory_{clock_, random_, {.validate = false}};
  std::unique_ptr<image::Store> store_;
  std::unique_ptr<container::Runtime> runtime_;
  AgentOptions options_;
  std::unique_ptr<Agent> agent_;
};

constexpr std::string_view kPodWithClaim = R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  restartPolicy: Always
  containers:
  - name: c
    image: busybox
    command: [sh, -c, "env; echo that is all; sleep 1000"]
    resources: {claims: [{name: r}]}
  resourceClaims: [{name: r, resourceClaimName: a}]
)";

TEST_F(RuncAcceptance, Row10AContainerHasItsDevice) {
  AddClaim(ClaimOf("a", {"d1"}, {"p"}));
  Apply(kPodWithClaim);
  StartAgent();
  ASSERT_TRUE(Runs("p"));
  EXPECT_THAT(EnvOf("p", "c"), HasSubstr("DEVICE_uid_a=yes"));
  EXPECT_THAT(plugins_.calls(), ElementsAre("prepare d1 a"));
}

TEST_F(RuncAcceptance, Row11APodCreatedWhileTheAgentIsDown) {
  StartAgent();
  Pump([&] { return agent_->ready(); });
  agent_.reset();
  AddClaim(ClaimOf("a", {"d1"}, {"p"}));
  Apply(kPodWithClaim);
  StartAgent();
  EXPECT_TRUE(Runs("p"));
}

TEST_F(RuncAcceptance, Row35AForceDeletedPod) {
  AddClaim(ClaimOf("a", {"d1"}, {"p"}));
  Apply(kPodWithClaim);
  StartAgent();
  ASSERT_TRUE(Runs("p"));
  ASSERT_THAT(memory_.Delete(kPods, "ns", "p"), IsOk());
  EXPECT_TRUE(Pump([&] { return plugins_.prepared().empty(); }));
  EXPECT_TRUE(Pump([&] { return agent_->Pods().empty(); }));
}

TEST_F(RuncAcceptance, Row37EachContainerHasItsClaimsAndRequests) {
  plugins_.driver("d1").devices["a"] = {
      {.requests = {"x"}, .pool = "p", .device = "1", .cdi_ids = {"d1/dev=a-x"}},
      {.requests = {"z"}, .pool = "p", .device = "2", .cdi_ids = {"d1/dev=a-z"}}};
  AddClaim(Allocated(ClaimOf("a", {"d1"}, {"p"}), "d1", plugins_.driver("d1").devices["a"]),
           {"a-x", "a-z"});
  AddClaim(ClaimOf("b", {"d1"}, {"p"}));
  AddClaim(ClaimOf("d", {"d1"}, {"p"}));
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  restartPolicy: Never
  initContainers:
  - {name: first, image: busybox, command: [sh, -c, "env; echo that is all"], resources: {claims: [{name: r1}]}}
  containers:
  - {name: one, image: busybox, command: [sh, -c, "env; echo that is all; sleep 1000"], resources: {claims: [{name: r1, request: z}, {name: r2}]}}
  - {name: two, image: busybox, command: [sh, -c, "env; echo that is all; sleep 1000"], resources: {claims: [{name: r3}]}}
  resourceClaims:
  - {name: r1, resourceClaimName: a}
  - {name: r2, resourceClaimName: b}
  - {name: r3, resourceClaimName: d}
)");
  StartAgent();
  ASSERT_TRUE(Runs("p"));
  const std::string first = EnvOf("p", "first");
  EXPECT_THAT(first, HasSubstr("DEVICE_a_x=yes"));
  EXPECT_THAT(first, HasSubstr("DEVICE_a_z=yes"));
  const std::string one = EnvOf("p", "one");
  EXPECT_THAT(one, HasSubstr("DEVICE_a_z=yes"));
  EXPECT_THAT(one, HasSubstr("DEVICE_uid_b=yes"));
  EXPECT_THAT(one, Not(HasSubstr("DEVICE_a_x")));
  EXPECT_THAT(one, Not(HasSubstr("DEVICE_uid_d")));
  const std::string two = EnvOf("p", "two");
  EXPECT_THAT(two, HasSubstr("DEVICE_uid_d=yes"));
  EXPECT_THAT(two, Not(HasSubstr("DEVICE_a_z")));
}

TEST_F(RuncAcceptance, Row41ARestartedContainerHasItsDeviceAgain) {
  AddClaim(ClaimOf("a", {"d1"}, {"p"}));
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  restartPolicy: Always
  volumes: [{name: v, emptyDir: {}}]
  containers:
  - name: c
    image: busybox
    command: [sh, -c, "env; echo that is all; while ! test -e /v/end; do sleep 0.1; done; rm /v/end; exit 7"]
    volumeMounts: [{name: v, mountPath: /v}]
    resources: {claims: [{name: r}]}
  resourceClaims: [{name: r, resourceClaimName: a}]
)");
  StartAgent();
  ASSERT_TRUE(Runs("p"));
  // The agent is killed, and the container ends while nobody looks.
  agent_.reset();
  const std::string volume = options_.root + "/pods/uid-p/volumes/kubernetes.io~empty-dir/v";
  ASSERT_THAT(files::WriteWhole(volume + "/end", ""), IsOk());
  ASSERT_TRUE(Pump([&] { return !std::filesystem::exists(volume + "/end"); }));
  StartAgent();
  EXPECT_THAT(EnvOf("p", "c", 1), HasSubstr("DEVICE_uid_a=yes"));
  EXPECT_TRUE(Pump([&] {
    const auto pod = memory_.Stored(kPods, "ns", "p");
    const auto& statuses = pod->As<api::Pod>()->status.container_statuses;
    return !statuses.empty() && statuses[0].restart_count == 1 &&
           statuses[0].last_state.terminated && statuses[0].last_state.terminated->exit_code == 7;
  }));
  EXPECT_THAT(plugins_.calls(), ElementsAre("prepare d1 a"));
}

TEST_F(RuncAcceptance, Row48AnExtendedResourceIsADevice) {
  api::ResourceClaim claim = ClaimOf("p-ext", {"d1"}, {"p"});
  claim.metadata.owner_references = {
      {.api_version = "v1", .kind = "Pod", .name = "p", .uid = "uid-p", .controller = true}};
  AddClaim(claim);
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    image: busybox
    command: [sh, -c, "env; echo that is all; sleep 1000"]
    resources: {limits: {example.com/gpu: 1}, requests: {example.com/gpu: 1}}
  - {name: other, image: busybox, command: [sh, -c, "env; echo that is all; sleep 1000"]}
status:
  extendedResourceClaimStatus:
    resourceClaimName: p-ext
    requestMappings: [{containerName: c, resourceName: example.com/gpu, requestName: r}]
)");
  StartAgent();
  ASSERT_TRUE(Runs("p"));
  EXPECT_THAT(EnvOf("p", "c"), HasSubstr("DEVICE_uid_p_ext=yes"));
  EXPECT_THAT(EnvOf("p", "other"), Not(HasSubstr("DEVICE_")));
}

}  // namespace
}  // namespace dray::node
