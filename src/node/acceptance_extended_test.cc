// SPDX-License-Identifier: Apache-2.0
//
// The acceptance rows about extended resources and shares (docs/spec/node.md 20; KEP-5004, KEP-5075).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "node/agent_for_test.h"

namespace dray::node {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

api::ResourceClaim SpecialClaim(std::string_view name, std::string_view pod) {
  api::ResourceClaim claim = ClaimOf(name, {"d1"}, {std::string(pod)});
  claim.metadata.owner_references = {{.api_version = "v1",
                                      .kind = "Pod",
                                      .name = std::string(pod),
                                      .uid = "uid-" + std::string(pod),
                                      .controller = true}};
  return claim;
}

// Explicit and implicit names, several containers with one to three resources.
TEST_F(Acceptance, Row48ExtendedResourcesReachTheirContainers) {
  std::vector<rpc::PreparedDevice>& devices = plugins_.driver("d1").devices["p-ext"];
  for (const char* request : {"r-1", "r-2", "r-3", "r-4", "r-5", "r-6"}) {
    devices.push_back({.requests = {request},
                       .pool = "pool",
                       .device = request,
                       .cdi_ids = {std::string("d1/dev=") + request}});
  }
  AddClaim(Allocated(SpecialClaim("p-ext", "p"), "d1", devices));
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  initContainers:
  - name: one
    image: i
    resources: {limits: {example.com/gpu: 1}, requests: {example.com/gpu: 1}}
  containers:
  - name: two
    image: i
    resources:
      requests: {example.com/gpu: 1, deviceclass.resource.kubernetes.io/c: 1}
      limits: {example.com/gpu: 1, deviceclass.resource.kubernetes.io/c: 1}
  - name: three
    image: i
    resources:
      requests: {example.com/gpu: 2, example.com/nic: 1, cpu: 1}
      limits: {example.com/gpu: 2, example.com/nic: 1}
status:
  extendedResourceClaimStatus:
    resourceClaimName: p-ext
    requestMappings:
    - {containerName: one, resourceName: example.com/gpu, requestName: r-1}
    - {containerName: two, resourceName: example.com/gpu, requestName: r-2}
    - {containerName: two, resourceName: deviceclass.resource.kubernetes.io/c, requestName: r-3}
    - {containerName: three, resourceName: example.com/gpu, requestName: r-4}
    - {containerName: three, resourceName: example.com/gpu, requestName: r-5}
    - {containerName: three, resourceName: example.com/nic, requestName: r-6}
)");
  StartAgent();
  runtime_.End("uid-p", "one", 0);
  Run();
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_THAT(plugins_.calls(), ElementsAre("prepare d1 p-ext"));
  EXPECT_THAT(CdiOf("p", "one"), ElementsAre("d1/dev=r-1"));
  EXPECT_THAT(CdiOf("p", "two"), ElementsAre("d1/dev=r-2", "d1/dev=r-3"));
  EXPECT_THAT(CdiOf("p", "three"), ElementsAre("d1/dev=r-4", "d1/dev=r-5", "d1/dev=r-6"));
  // In contrast to a kubelet, their health is shown.
  const auto status = StatusOf(*FindPod("p"), "three").allocated_resources_status;
  ASSERT_EQ(status.size(), 3u);
  EXPECT_EQ(status[0].name, "claim:p-ext/r-4");
  EXPECT_EQ(status[0].resources.at(0).resource_id, "d1/dev=r-4");
  EXPECT_EQ(status[0].resources.at(0).health, "Unknown");
}

// A server that does not know them in a status gets the status without them.
TEST_F(Acceptance, Row48AServerMayRefuseTheirHealth) {
  AddClaim(SpecialClaim("p-ext", "p"));
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i, resources: {requests: {example.com/gpu: 1}}}]
status:
  extendedResourceClaimStatus:
    resourceClaimName: p-ext
    requestMappings: [{containerName: c, resourceName: example.com/gpu, requestName: r}]
)");
  memory_->SetWriteHook([](api::Verb verb, const api::Object& object) -> Status {
    const api::Pod* pod = object.As<api::Pod>();
    if (verb != api::Verb::kUpdateStatus || pod == nullptr) return {};
    for (const api::ContainerStatus& status : pod->status.container_statuses) {
      if (!status.allocated_resources_status.empty()) {
        return base::InvalidArgument("allocatedResourcesStatus[0].name: Invalid value");
      }
    }
    return {};
  });
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_THAT(CdiOf("p", "c"), ElementsAre("d1/dev=uid-p-ext"));
}

// The claim for extended resources must be the pod's own.
TEST_F(Acceptance, Row48AnotherPodsSpecialClaimIsRefused) {
  api::ResourceClaim claim = SpecialClaim("q-ext", "q");
  claim.status.reserved_for = ClaimOf("x", {}, {"p"}).status.reserved_for;
  AddClaim(claim);
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i, resources: {requests: {example.com/gpu: 1}}}]
status:
  extendedResourceClaimStatus:
    resourceClaimName: q-ext
    requestMappings: [{containerName: c, resourceName: example.com/gpu, requestName: r}]
)");
  StartAgent();
  EXPECT_TRUE(HasEvent("was not created for pod ns/p (pod is not owner)"));
  EXPECT_THAT(plugins_.calls(), IsEmpty());
}

TEST_F(Acceptance, Row49ANodeWhoseAllocatableLacksTheResource) {
  AddClaim(SpecialClaim("p-ext", "p"));
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i, resources: {requests: {example.com/gpu: 1, deviceclass.resource.kubernetes.io/c: 1}}}]
status:
  extendedResourceClaimStatus:
    resourceClaimName: p-ext
    requestMappings:
    - {containerName: c, resourceName: example.com/gpu, requestName: r}
    - {containerName: c, resourceName: deviceclass.resource.kubernetes.io/c, requestName: r}
)");
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Running");
}

// A node that has the resource itself counts what no claim serves, and only that.
TEST_F(Acceptance, Row49WhatAClaimServesIsNotTheNodes) {
  options_.node.allocatable["example.com/gpu"] = base::Quantity::FromInt(1);
  AddClaim(SpecialClaim("p-ext", "p"));
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i, resources: {requests: {example.com/gpu: 8}}}]
status:
  extendedResourceClaimStatus:
    resourceClaimName: p-ext
    requestMappings: [{containerName: c, resourceName: example.com/gpu, requestName: r}]
---
apiVersion: v1
kind: Pod
metadata: {name: q}
spec:
  containers: [{name: c, image: i, resources: {requests: {example.com/gpu: 2}}}]
)");
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_EQ(PhaseOf("q"), "Failed");
  EXPECT_EQ(FindPod("q")->status.reason, "OutOfexample.com/gpu");
  EXPECT_EQ(FindPod("q")->status.message,
            "Pod was rejected: Node didn't have enough resource: example.com/gpu, requested: 2, "
            "used: 0, capacity: 1");
}

TEST_F(Acceptance, Row50AnAmountOfZero) {
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i, resources: {requests: {example.com/gpu: 0}}}]
)");
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_THAT(CdiOf("p", "c"), IsEmpty());
  EXPECT_THAT(plugins_.calls(), IsEmpty());
}

TEST_F(Acceptance, Row51ShareIdsAreKeptAndShown) {
  plugins_.driver("d1").devices["a"] = {
      {.requests = {"x"}, .pool = "pool", .device = "d0", .cdi_ids = {"d1/dev=0"}},
      {.requests = {"y"},
       .pool = "pool",
       .device = "d3",
       .cdi_ids = {"d1/dev=1"},
       .share_id = "e5ad978d-5ed7-4ed8-b217-90203ab6690b"},
      {.requests = {"z"},
       .pool = "pool",
       .device = "d3",
       .cdi_ids = {"d1/dev=2"},
       .share_id = "2fa694cd-ccb1-4ff8-807d-251b37546ff5"}};
  AddClaim(Allocated(ClaimOf("a", {"d1"}, {"p"}), "d1", plugins_.driver("d1").devices["a"]));
  CreatePodWith("p", {"a"});
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Running");
  // Two shares of one device are two devices, each with its own names.
  EXPECT_THAT(CdiOf("p", "c"), ElementsAre("d1/dev=0", "d1/dev=1", "d1/dev=2"));
  const auto devices = Checkpoint().at(0).drivers.at("d1").devices;
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[0].share_id, std::nullopt);
  EXPECT_EQ(devices[1].share_id, "e5ad978d-5ed7-4ed8-b217-90203ab6690b");
  EXPECT_EQ(devices[2].share_id, "2fa694cd-ccb1-4ff8-807d-251b37546ff5");
  const api::Pod pod = *FindPod("p");
  const auto claims = agent_->claims().ClaimsFor(pod, pod.spec.containers[0]);
  ASSERT_TRUE(claims.ok());
  EXPECT_EQ(claims->at(0).devices.at(2).device.share_id, "2fa694cd-ccb1-4ff8-807d-251b37546ff5");
}

}  // namespace
}  // namespace dray::node
