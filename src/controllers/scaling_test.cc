// SPDX-License-Identifier: Apache-2.0
//
// Four times as many of something take four times the work, not sixteen times.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "api/device_class.h"
#include "api/lease.h"
#include "api/node.h"
#include "api/pod_claims.h"
#include "controllers/all_controllers.h"
#include "controllers/device_taint_eviction.h"
#include "controllers/node_lifecycle.h"
#include "controllers/pod_cleanup.h"
#include "controllers/resource_claim_controller.h"
#include "controllers/scene_for_test.h"
#include "controllers/workloads_for_test.h"
#include "testing/scaling.h"
#include "testing/slice_builder.h"

namespace dray::controllers {
namespace {

using testing::CostOfFourTimes;
using testing::kMoreThanProportional;
using testing::ProcessorSeconds;

TEST(Scaling, ClaimsOfOnePod) {
  const auto run = [](int claims) {
    Scene scene;
    scene.Add(TemplateNamed("t"));
    api::Pod pod = PodNamed("p");
    for (int i = 0; i < claims; ++i) {
      pod.spec.resource_claims.push_back(
          {.name = "c" + std::to_string(i), .resource_claim_template_name = "t"});
    }
    scene.Add(std::move(pod));
    ResourceClaimController controller(scene.cluster(), scene.clock(), {});
    const double began = ProcessorSeconds();
    EXPECT_EQ(controller.Sync(), static_cast<std::size_t>(claims) + 1);
    controller.Sync();
    return ProcessorSeconds() - began;
  };
  EXPECT_LT(CostOfFourTimes(500, run), kMoreThanProportional);
}

TEST(Scaling, PodsOfOneDeployment) {
  const auto run = [](int pods) {
    Scene scene;
    scene.Add(DeploymentNamed("web", pods));
    const ControllerList controllers = MakeControllers(scene.cluster(), scene.clock());
    const double began = ProcessorSeconds();
    SyncAll(controllers);
    const double took = ProcessorSeconds() - began;
    EXPECT_EQ(scene.All<api::Pod>().size(), static_cast<std::size_t>(pods));
    return took;
  };
  EXPECT_LT(CostOfFourTimes(1000, run), kMoreThanProportional);
}

// As many slices as claims, every device of which is tainted.
TEST(Scaling, TaintedDevicesOfOnePool) {
  const auto run = [](int claims) {
    Scene scene;
    for (int i = 0; i < claims; ++i) {
      const std::string n = std::to_string(i);
      testing::Slice slice = testing::Slice("s" + n).Of(claims).OnNode("n");
      slice.With(testing::Device("d" + n).Taint("broken", api::kTaintEffectNoExecute));
      scene.Add<api::ResourceSlice>(slice);
      api::Pod pod = PodNamed("p" + n);
      pod.spec.node_name = "n";
      pod.spec.resource_claims.push_back({.name = "c", .resource_claim_name = "c" + n});
      pod = scene.Add(std::move(pod));
      api::ResourceClaim claim;
      claim.metadata.namespace_ = "ns";
      claim.metadata.name = "c" + n;
      claim.spec = TemplateNamed("t").spec.spec;
      claim.status.allocation.emplace().devices.results = {
          {.request = claim.spec.devices.requests.front().name,
           .driver = std::string(testing::kDriver),
           .pool = "pool",
           .device = "d" + n}};
      claim.status.reserved_for.push_back(api::ConsumerOf(pod));
      scene.Add(std::move(claim));
    }
    DeviceTaintEviction controller(scene.cluster(), scene.clock(), {});
    const double began = ProcessorSeconds();
    controller.Sync();
    const double took = ProcessorSeconds() - began;
    EXPECT_TRUE(scene.All<api::Pod>().empty() ||
                scene.All<api::Pod>().front().metadata.deletion_timestamp.has_value());
    return took;
  };
  EXPECT_LT(CostOfFourTimes(250, run), kMoreThanProportional);
}

TEST(Scaling, PodsThatHaveEnded) {
  const auto run = [](int pods) {
    Scene scene;
    api::Node node;
    node.metadata.name = "n";
    scene.Add(std::move(node));
    for (int i = 0; i < pods; ++i) {
      api::Pod pod = PodNamed("p" + std::to_string(i));
      pod.spec.node_name = "n";
      pod.status.phase = api::kPodSucceeded;
      scene.Add(std::move(pod));
    }
    PodCleanup controller(scene.cluster(), scene.clock(), {.ended_pods = 2});
    const double began = ProcessorSeconds();
    EXPECT_EQ(controller.Sync(), static_cast<std::size_t>(pods) - 2);
    return ProcessorSeconds() - began;
  };
  EXPECT_LT(CostOfFourTimes(1000, run), kMoreThanProportional);
}

void AddNodeWithLease(Scene& scene, const std::string& name) {
  api::Node node;
  node.metadata.name = name;
  node.status.conditions.push_back({.type = std::string(api::kNodeReadyCondition),
                                    .status = "True",
                                    .last_heartbeat_time = scene.clock().Now()});
  scene.Add(std::move(node));
  api::Lease lease;
  lease.metadata.namespace_ = std::string(kNodeLeaseNamespace);
  lease.metadata.name = name;
  lease.spec.lease_duration_seconds = 40;
  lease.spec.renew_time = api::MicroTime{scene.clock().Now()};
  scene.Add(std::move(lease));
}

// All but one of them at once.
TEST(Scaling, NodesThatFallSilent) {
  const auto run = [](int nodes) {
    Scene scene;
    AddNodeWithLease(scene, "alive");
    for (int i = 0; i < nodes; ++i) AddNodeWithLease(scene, "n" + std::to_string(i));
    NodeLifecycle controller(scene.cluster(), scene.clock());
    controller.Sync();
    scene.clock().Advance(std::chrono::seconds(40));
    auto lease = scene.Get<api::Lease>("alive", kNodeLeaseNamespace);
    lease.spec.renew_time = api::MicroTime{scene.clock().Now()};
    scene.Put(std::move(lease));
    controller.Sync();
    scene.clock().Advance(std::chrono::seconds(20));
    const double began = ProcessorSeconds();
    scene.Settle(controller);
    return ProcessorSeconds() - began;
  };
  EXPECT_LT(CostOfFourTimes(500, run), kMoreThanProportional);
}

// Each is looked at a few times when it falls silent; after that a turn of one is no work for those who
// wait.
TEST(Scaling, TenThousandSilentNodesWaitForTheirTurn) {
  constexpr std::size_t kNodes = 10'000;
  Scene scene;
  for (std::size_t i = 0; i < kNodes; ++i) AddNodeWithLease(scene, "n" + std::to_string(i));
  NodeLifecycle controller(scene.cluster(), scene.clock());
  controller.Sync();
  const auto renew_last = [&] {
    auto lease = scene.Get<api::Lease>("n" + std::to_string(kNodes - 1), kNodeLeaseNamespace);
    lease.spec.renew_time = api::MicroTime{scene.clock().Now()};
    scene.Put(std::move(lease));
  };
  scene.clock().Advance(std::chrono::seconds(40));
  renew_last();
  controller.Sync();
  const std::size_t before = controller.reconciled();
  scene.clock().Advance(std::chrono::seconds(20));
  scene.Settle(controller);
  EXPECT_LE(controller.reconciled() - before, 4 * kNodes);

  const auto evicting = [&] {
    std::size_t nodes = 0;
    for (const auto& node : scene.All<api::Node>()) {
      for (const api::Taint& taint : node.spec.taints) {
        if (taint.effect == api::kTaintEffectNoExecute) ++nodes;
      }
    }
    return nodes;
  };
  const std::size_t evicted = evicting();
  const std::size_t waiting = controller.reconciled();
  constexpr std::size_t kTurns = 10;
  for (std::size_t i = 0; i < 10 * kTurns; ++i) {
    scene.clock().Advance(std::chrono::seconds(10));
    renew_last();
    scene.Settle(controller);
  }
  EXPECT_EQ(evicting() - evicted, kTurns);  // most of the zone is silent: one in 100 s
  EXPECT_LE(controller.reconciled() - waiting, 10 * kTurns);
}

}  // namespace
}  // namespace dray::controllers
