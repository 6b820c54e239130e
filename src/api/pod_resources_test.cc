// SPDX-License-Identifier: Apache-2.0
#include "api/pod_resources.h"

#include <gtest/gtest.h>

namespace dray::api {
namespace {

Container Asking(std::int64_t cpu, std::string restart_policy = "") {
  Container container;
  container.resources.requests["cpu"] = base::Quantity::FromInt(cpu);
  if (!restart_policy.empty()) container.restart_policy = restart_policy;
  return container;
}

std::int64_t Cpu(const Pod& pod, PodResourcesOptions options = {}) {
  return PodRequests(pod, options).Find("cpu")->Value();
}

TEST(PodResources, ContainersAddUpAndInitContainersTakeTurns) {
  Pod pod;
  pod.spec.containers = {Asking(1), Asking(2)};
  pod.spec.init_containers = {Asking(2), Asking(1)};
  EXPECT_EQ(Cpu(pod), 3);
  pod.spec.init_containers = {Asking(5), Asking(4)};
  EXPECT_EQ(Cpu(pod), 5);
}

TEST(PodResources, SidecarsRunBesideWhatComesAfterThem) {
  Pod pod;
  pod.spec.containers = {Asking(1)};
  pod.spec.init_containers = {Asking(5), Asking(2, "Always"), Asking(4)};
  EXPECT_EQ(Cpu(pod), 6);  // the sidecar and the last init container
  pod.spec.containers = {Asking(5)};
  EXPECT_EQ(Cpu(pod), 7);  // the sidecar and the container
}

TEST(PodResources, PodLevelAmountsReplaceTheSumAndOverheadComesOnTop) {
  Pod pod;
  pod.spec.containers = {Asking(3)};
  pod.spec.containers[0].resources.requests["example.com/gpu"] = base::Quantity::FromInt(1);
  pod.spec.resources.emplace();
  pod.spec.resources->requests["cpu"] = base::Quantity::FromInt(8);
  pod.spec.resources->requests["example.com/gpu"] = base::Quantity::FromInt(9);
  pod.spec.overhead["cpu"] = base::Quantity::FromInt(1);
  EXPECT_EQ(Cpu(pod), 9);
  EXPECT_EQ(PodRequests(pod).Find("example.com/gpu")->Value(), 1);
}

TEST(PodResources, OverheadDoesNotLimitWhatHasNoLimit) {
  Pod pod;
  pod.spec.containers.resize(1);
  pod.spec.containers[0].resources.limits["memory"] = base::Quantity::FromInt(10);
  pod.spec.overhead = {{"cpu", base::Quantity::FromInt(1)}, {"memory", base::Quantity::FromInt(1)}};
  const auto limits = PodLimits(pod);
  EXPECT_EQ(limits.Find("cpu"), nullptr);
  EXPECT_EQ(limits.Find("memory")->Value(), 11);
}

TEST(PodResources, APodThatShrinksHoldsItsOldAmountForAWhile) {
  Pod pod;
  pod.spec.containers = {Asking(1)};
  pod.spec.containers[0].name = "c";
  pod.status.container_statuses.resize(1);
  ContainerStatus& status = pod.status.container_statuses[0];
  status.name = "c";
  status.allocated_resources["cpu"] = base::Quantity::FromInt(2);
  EXPECT_EQ(Cpu(pod), 1);
  EXPECT_EQ(Cpu(pod, {.use_status = true}), 2);
  status.resources.emplace();
  status.resources->requests["cpu"] = base::Quantity::FromInt(3);
  EXPECT_EQ(Cpu(pod, {.use_status = true}), 3);
}

TEST(PodResources, AResizeThatCannotBeDoneDoesNotCount) {
  Pod pod;
  pod.spec.containers = {Asking(100)};
  pod.spec.containers[0].name = "c";
  pod.status.container_statuses.resize(1);
  pod.status.container_statuses[0].name = "c";
  pod.status.container_statuses[0].allocated_resources["cpu"] = base::Quantity::FromInt(2);
  EXPECT_EQ(Cpu(pod, {.use_status = true}), 100);
  pod.status.conditions = {{.type = "PodResizePending", .reason = "Infeasible"}};
  EXPECT_EQ(Cpu(pod, {.use_status = true}), 2);
}

// KEP-5517: what claims take of the node comes beside what containers ask for.
TEST(PodResources, ClaimsTakeWhatTheStatusSays) {
  Pod pod;
  pod.spec.containers = {Asking(1)};
  pod.spec.init_containers = {Asking(4)};
  NodeAllocatableResourceClaimStatus claim;
  claim.resource_claim_name = "a";
  claim.containers = {"x", "z"};
  claim.mapping = {{.name = "cpu", .quantity = base::Quantity::FromInt(2)}};
  claim.overhead = {{.name = "memory",
                     .per_pod = base::Quantity::FromInt(100),
                     .per_container = base::Quantity::FromInt(10)},
                    {.name = "hugepages-2Mi", .per_pod = base::Quantity::FromInt(7)}};
  pod.status.node_allocatable_resource_claim_statuses.emplace().push_back(claim);
  EXPECT_EQ(Cpu(pod), 4);  // as long as the gate is off
  const PodResourcesOptions counted{.node_allocatable = true};
  EXPECT_EQ(Cpu(pod, counted), 6);
  EXPECT_EQ(Cpu(pod, {.use_status = true, .node_allocatable = true}), 6);
  EXPECT_EQ(PodRequests(pod, counted).Find("memory")->Value(), 120);
  // Of limits only what is limited is raised, and huge pages, which cannot be overcommitted.
  pod.spec.containers[0].resources.limits["cpu"] = base::Quantity::FromInt(3);
  EXPECT_EQ(PodLimits(pod, counted).Find("cpu")->Value(), 5);
  EXPECT_EQ(PodLimits(pod, counted).Find("memory"), nullptr);
  EXPECT_EQ(PodLimits(pod, counted).Find("hugepages-2Mi")->Value(), 7);
  // One container's part.
  EXPECT_EQ(NodeAllocatableOf(pod, "z").Find("memory")->Value(), 110);
  EXPECT_TRUE(NodeAllocatableOf(pod, "other").empty());
  // An amount for the whole pod stands for everything in it.
  pod.spec.resources.emplace();
  pod.spec.resources->requests["cpu"] = base::Quantity::FromInt(20);
  EXPECT_EQ(Cpu(pod, counted), 20);
}

}  // namespace
}  // namespace dray::api
