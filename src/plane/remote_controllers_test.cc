// SPDX-License-Identifier: Apache-2.0
//
// Controllers at the other end of a connection that loses answers: what was asked for is there in
// the end, once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/workloads.h"
#include "client/remote_cluster.h"
#include "client/server_for_test.h"
#include "controllers/all_controllers.h"
#include "testing/tcp_proxy.h"

namespace dray::plane {
namespace {

using testing::TcpProxy;
using Fate = testing::TcpProxy::Fate;

template <typename T>
std::vector<T> All(api::Cluster& cluster) {
  std::vector<T> all;
  const auto listed = cluster.List(api::HubKind(api::TypeInfoOf<T>()));
  EXPECT_TRUE(listed.ok()) << listed.status();
  if (!listed.ok()) return all;
  for (const api::Object& object : *listed) all.push_back(*object.template As<T>());
  return all;
}

api::Deployment ThreePods() {
  api::Deployment deployment;
  deployment.metadata.namespace_ = "ns";
  deployment.metadata.name = "d";
  deployment.spec.replicas = 3;
  deployment.spec.selector.emplace().match_labels["app"] = "d";
  deployment.spec.template_.metadata.labels["app"] = "d";
  api::PodSpec& pod = deployment.spec.template_.spec;
  pod.containers.push_back({.name = "c", .image = "i"});
  pod.resource_claims.push_back({.name = "gpu", .resource_claim_template_name = "one"});
  return deployment;
}

api::ResourceClaimTemplate OneDevice() {
  api::ResourceClaimTemplate one;
  one.metadata.namespace_ = "ns";
  one.metadata.name = "one";
  api::DeviceRequest& request = one.spec.spec.devices.requests.emplace_back();
  request.name = "gpu";
  request.exactly.emplace().device_class_name = "gpu.example.com";
  return one;
}

// Every pod that stays has one claim, and every claim a pod.
bool IsInOrder(api::Cluster& cluster) {
  std::set<std::string> pods;
  for (const api::Pod& pod : All<api::Pod>(cluster)) {
    if (pod.metadata.deletion_timestamp) return false;
    pods.insert(pod.metadata.uid);
    const auto& claims = pod.status.resource_claim_statuses;
    if (!claims || claims->size() != 1) return false;
  }
  std::map<std::string, int> claims;
  for (const api::ResourceClaim& claim : All<api::ResourceClaim>(cluster)) {
    for (const auto& owner : claim.metadata.owner_references) ++claims[owner.uid];
  }
  if (pods.size() != 3 || claims.size() != 3) return false;
  for (const auto& [pod, count] : claims) {
    if (count != 1 || !pods.contains(pod)) return false;
  }
  return true;
}

class RemoteControllersTest : public ::testing::TestWithParam<int> {};

TEST_P(RemoteControllersTest, LostAnswersChangeNothingInTheEnd) {
  client::TestServer server({}, false);
  TcpProxy proxy(server.port());
  std::atomic<int> writes = 0;
  std::atomic<int> lost = 0;
  // Done, and the connection ends instead of the answer.
  proxy.SetRule([&](std::string_view bytes) {
    const bool write = bytes.starts_with("POST") || bytes.starts_with("PUT") ||
                       bytes.starts_with("DELETE") || bytes.starts_with("PATCH");
    if (!write || writes++ % GetParam() != 0) return Fate::kForward;
    return ++lost, Fate::kCut;
  });
  ASSERT_TRUE(server.local().Create(api::Object::Of(OneDevice())).ok());
  ASSERT_TRUE(server.local().Create(api::Object::Of(ThreePods())).ok());

  const base::SystemClock clock;
  auto http = client::HttpClient::Create(server.AccessBy(proxy.port()));
  ASSERT_TRUE(http.ok()) << http.status();
  client::RemoteCluster cluster(**http, clock, {.first_backoff = std::chrono::milliseconds(2)});
  {
    const auto controllers = controllers::MakeControllers(cluster, clock);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    int in_order = 0;
    while (in_order < 20 && std::chrono::steady_clock::now() < deadline) {
      const std::size_t wrote = controllers::SyncAll(controllers);
      in_order = wrote == 0 && IsInOrder(server.local()) ? in_order + 1 : 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_EQ(in_order, 20) << All<api::Pod>(server.local()).size() << " pods, "
                            << All<api::ResourceClaim>(server.local()).size() << " claims";
  }
  EXPECT_GT(lost, 2);
}
INSTANTIATE_TEST_SUITE_P(OneIn, RemoteControllersTest, ::testing::Values(2, 3, 5));

}  // namespace
}  // namespace dray::plane
