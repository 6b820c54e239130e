// SPDX-License-Identifier: Apache-2.0
//
// The acceptance rows about preparing claims (docs/spec/node.md 20), with a runtime that runs
// nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "node/agent_for_test.h"

namespace dray::node {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(Acceptance, Row10APodWithAClaim) {
  AddClaim(ClaimOf("a", {"d1", "d2"}, {"p"}));
  AddClaim(ClaimOf("b", {"d1"}, {"p"}));
  CreatePodWith("p", {"a", "b"});
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_THAT(plugins_.calls(), ElementsAre("prepare d1 a,b", "prepare d2 a"));
  EXPECT_THAT(CdiOf("p", "c"), ElementsAre("d1/dev=uid-a", "d2/dev=uid-a", "d1/dev=uid-b"));
}

// No sandbox before all claims are prepared.
TEST_F(Acceptance, Row10PrepareComesBeforeTheSandbox) {
  AddClaim(ClaimOf("a", {"d1"}, {"p"}));
  CreatePodWith("p", {"a"});
  plugins_.driver("d1").hang_prepare = true;
  StartAgent();
  Run(seconds(20));
  EXPECT_EQ(plugins_.CallsOf("prepare"), 1);
  EXPECT_EQ(RuntimeCalls("RunSandbox"), 0);
  plugins_.driver("d1").hang_prepare = false;
  plugins_.LetGo();
  Run();
  EXPECT_EQ(RuntimeCalls("RunSandbox"), 1);
  EXPECT_EQ(PhaseOf("p"), "Running");
}

TEST_F(Acceptance, Row11APodCreatedWhileTheAgentIsDown) {
  StartAgent();
  KillAgent();
  AddClaim(ClaimOf("a", {"d1"}, {"p"}));
  CreatePodWith("p", {"a"});
  Run();
  EXPECT_EQ(RuntimeCalls("RunSandbox"), 0);
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Running");
}

TEST_F(Acceptance, Row12PrepareHangs) {
  AddClaim(ClaimOf("a", {"d1"}, {"p"}));
  CreatePodWith("p", {"a"});
  plugins_.driver("d1").hang_prepare = true;
  StartAgent();
  Run(seconds(40));
  EXPECT_EQ(PhaseOf("p"), "Pending");
  EXPECT_THAT(cluster_->events, IsEmpty());
  Run(seconds(5));
  EXPECT_EQ(PhaseOf("p"), "Pending");
  EXPECT_TRUE(HasEvent(
      "Warning FailedPrepareDynamicResources: Failed to prepare dynamic resources: prepare dynamic "
      "resources: NodePrepareResources: context deadline exceeded"));
}

TEST_F(Acceptance, Row13PrepareFailsThenSucceeds) {
  AddClaim(ClaimOf("a", {"d1"}, {"p"}));
  CreatePodWith("p", {"a"});
  plugins_.driver("d1").fail_prepare = 1;
  StartAgent();
  EXPECT_TRUE(HasEvent("FailedPrepareDynamicResources"));
  Run(seconds(3));
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_EQ(plugins_.CallsOf("prepare"), 2);
}

// Longer each time, at most 90 s; at once when the driver comes back.
TEST_F(Acceptance, Row13PrepareIsTriedAgainAtOnceWhenTheDriverIsReady) {
  AddClaim(ClaimOf("a", {"d1"}, {"p"}));
  CreatePodWith("p", {"a"});
  plugins_.driver("d1").fail_prepare = 1000;
  StartAgent();
  Run(seconds(600));
  const int calls = plugins_.CallsOf("prepare");
  EXPECT_GE(calls, 10);
  EXPECT_LE(calls, 14);
  plugins_.driver("d1").fail_prepare = 0;
  agent_->OnDriverReady("d1");
  Run(seconds(1));
  EXPECT_EQ(plugins_.CallsOf("prepare"), calls + 1);
  EXPECT_EQ(PhaseOf("p"), "Running");
}

TEST_F(Acceptance, Row15PrepareFailedAndTheAgentRestarts) {
  AddClaim(ClaimOf("a", {"d1"}, {"p"}));
  CreatePodWith("p", {"a"});
  plugins_.driver("d1").fail_prepare = 1;
  StartAgent();
  RestartAgent();
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_THAT(plugins_.prepared(), ElementsAre("d1/uid-a"));
}

TEST_F(Acceptance, Row19PrepareHangsAgentStopsPodIsDeletedAgentStarts) {
  AddClaim(ClaimOf("a", {"d1"}, {"p"}));
  CreatePodWith("p", {"a"});
  plugins_.driver("d1").hang_prepare = true;
  StartAgent();
  EXPECT_EQ(plugins_.CallsOf("prepare"), 1);
  KillAgent();
  ForceDelete("p");
  plugins_.driver("d1").hang_prepare = false;
  StartAgent();
  Run(seconds(70));
  EXPECT_EQ(plugins_.CallsOf("prepare"), 1);
  EXPECT_THAT(Checkpoint(), IsEmpty());
}

TEST_F(Acceptance, Row23AClaimWithTwoDrivers) {
  AddClaim(ClaimOf("a", {"d1", "d2"}, {"p"}));
  CreatePodWith("p", {"a"});
  StartAgent();
  EXPECT_THAT(plugins_.calls(), ElementsAre("prepare d1 a", "prepare d2 a"));
}

TEST_F(Acceptance, Row24OneOfTwoDriversFailsToPrepareThenSucceeds) {
  AddClaim(ClaimOf("a", {"d1", "d2"}, {"p"}));
  CreatePodWith("p", {"a"});
  plugins_.driver("d2").refuse_prepare = 1;
  StartAgent();
  Run(seconds(5));
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_EQ(plugins_.CallsOf("prepare d1"), 2);
  // No device twice, although the first driver has answered twice.
  EXPECT_THAT(CdiOf("p", "c"), ElementsAre("d1/dev=uid-a", "d2/dev=uid-a"));
  EXPECT_EQ(Checkpoint().at(0).drivers.at("d1").devices.size(), 1u);
  EXPECT_TRUE(HasEvent("NodePrepareResources failed for ResourceClaim a: no such device"));
}

TEST_F(Acceptance, Row26MetricsOfAClaimWithTwoDrivers) {
  AddClaim(ClaimOf("a", {"d1", "d2"}, {"p"}));
  CreatePodWith("p", {"a"});
  StartAgent();
  const auto has = [&](const std::string& line) {
    return metrics_->Text().find(line + "\n") != std::string::npos;
  };
  EXPECT_TRUE(has(R"(dra_resource_claims_in_use{driver_name="<any>"} 1)"));
  EXPECT_TRUE(has(R"(dra_resource_claims_in_use{driver_name="d1"} 1)"));
  EXPECT_TRUE(has(R"(dra_resource_claims_in_use{driver_name="d2"} 1)"));
  DeletePod("p");
  Run(seconds(5));
  EXPECT_EQ(PhaseOf("p"), "gone");
  EXPECT_TRUE(has(R"(dra_resource_claims_in_use{driver_name="<any>"} 0)"));
  EXPECT_TRUE(has(
      R"(dra_operations_duration_seconds_count{operation_name="PrepareResources",is_error="false"} 1)"));
  EXPECT_TRUE(has(
      R"(dra_operations_duration_seconds_count{operation_name="UnprepareResources",is_error="false"} 1)"));
}

TEST_F(Acceptance, Row31AClaimThatIsNotAllocated) {
  api::ResourceClaim claim = ClaimOf("a", {"d1"}, {"p"});
  claim.status.allocation.reset();
  AddClaim(claim);
  CreatePodWith("p", {"a"});
  StartAgent();
  Run(seconds(30));
  EXPECT_EQ(PhaseOf("p"), "Pending");
  EXPECT_TRUE(HasEvent("prepare dynamic resources: ResourceClaim a: not allocated"));
  EXPECT_THAT(plugins_.calls(), IsEmpty());
  // Nobody tells a node; it looks, at least every 10 s.
  auto object = memory_->Stored(api::HubKind(api::TypeInfoOf<api::ResourceClaim>()), "ns", "a");
  object->Mutable<api::ResourceClaim>()->status = ClaimOf("a", {"d1"}, {"p"}).status;
  ASSERT_TRUE(memory_->UpdateStatus(*object).ok());
  Run(seconds(11));
  EXPECT_EQ(PhaseOf("p"), "Running");
}

TEST_F(Acceptance, Row32APodThatIsNotInReservedFor) {
  AddClaim(ClaimOf("a", {"d1"}, {}));
  CreatePodWith("p", {"a"});
  StartAgent();
  EXPECT_TRUE(HasEvent("pod p (uid-p) is not allowed to use ResourceClaim a (uid-a)"));
  EXPECT_THAT(plugins_.calls(), IsEmpty());
  EXPECT_THAT(Checkpoint(), IsEmpty());
}

TEST_F(Acceptance, Row33AClaimFromATemplateThatAnotherPodOwns) {
  api::ResourceClaim claim = ClaimOf("a", {"d1"}, {"p"});
  claim.metadata.owner_references = {
      {.api_version = "v1", .kind = "Pod", .name = "q", .uid = "uid-q", .controller = true}};
  AddClaim(claim);
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: r}]}}]
  resourceClaims: [{name: r, resourceClaimTemplateName: t}]
status:
  resourceClaimStatuses: [{name: r, resourceClaimName: a}]
)");
  StartAgent();
  EXPECT_TRUE(HasEvent("ResourceClaim ns/a was not created for pod ns/p (pod is not owner)"));
  EXPECT_EQ(PhaseOf("p"), "Pending");
  EXPECT_THAT(plugins_.calls(), IsEmpty());
}

// With the gate, a claim may be made and reserved for the pod's group, which is known by name.
TEST_F(Acceptance, Row33AClaimOfThePodsGroup) {
  const auto add = [&](const char* name, const char* group) {
    api::ResourceClaim claim = ClaimOf(name, {"d1"}, {});
    claim.metadata.owner_references = {{.api_version = "scheduling.k8s.io/v1alpha2",
                                        .kind = "PodGroup",
                                        .name = group,
                                        .uid = "uid-g",
                                        .controller = true}};
    claim.status.reserved_for = {
        {.api_group = "scheduling.k8s.io", .resource = "podgroups", .name = group, .uid = "uid-g"}};
    AddClaim(claim);
    Apply(fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: p-{0}}}
spec:
  schedulingGroup: {{podGroupName: g}}
  containers: [{{name: c, image: i, resources: {{claims: [{{name: r}}]}}}}]
  resourceClaims: [{{name: r, resourceClaimTemplateName: t}}]
status:
  resourceClaimStatuses: [{{name: r, resourceClaimName: {0}}}]
)",
                      name));
  };
  add("a", "g");
  add("b", "another");
  StartAgent();
  EXPECT_EQ(PhaseOf("p-a"), "Pending");
  gates_.Set(api::Gate::kDRAWorkloadResourceClaims, true);
  RestartAgent();
  EXPECT_EQ(PhaseOf("p-a"), "Running");
  EXPECT_EQ(PhaseOf("p-b"), "Pending");
}

TEST_F(Acceptance, Row34TheDriverNeverRegisteredAndThePodIsDeleted) {
  plugins_.Deregister("d1");
  AddClaim(ClaimOf("a", {"d1"}, {"p"}));
  CreatePodWith("p", {"a"});
  StartAgent();
  EXPECT_TRUE(HasEvent("DRA driver d1 is not registered"));
  EXPECT_THAT(Checkpoint(), IsEmpty());
  DeletePod("p");
  Run(seconds(2));
  EXPECT_EQ(PhaseOf("p"), "gone");
}

TEST_F(Acceptance, Row36AClaimThatNoContainerUses) {
  AddClaim(ClaimOf("a", {"d1"}, {"p"}));
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i}]
  resourceClaims: [{name: r, resourceClaimName: a}]
)");
  StartAgent();
  EXPECT_THAT(plugins_.calls(), ElementsAre("prepare d1 a"));
  EXPECT_THAT(CdiOf("p", "c"), IsEmpty());
}

TEST_F(Acceptance, Row37ThreeClaimsTwoContainersOneNamesARequest) {
  plugins_.driver("d1").devices["a"] = {
      {.requests = {"x"}, .pool = "p", .device = "1", .cdi_ids = {"d1/dev=a-x"}},
      {.requests = {"z"}, .pool = "p", .device = "2", .cdi_ids = {"d1/dev=a-z"}}};
  AddClaim(Allocated(ClaimOf("a", {"d1"}, {"p"}), "d1", plugins_.driver("d1").devices["a"]));
  for (const char* name : {"b", "d"}) AddClaim(ClaimOf(name, {"d1"}, {"p"}));
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - {name: one, image: i, resources: {claims: [{name: r1, request: z}, {name: r2}]}}
  - {name: two, image: i, resources: {claims: [{name: r3}]}}
  initContainers:
  - {name: first, image: i, resources: {claims: [{name: r1}]}}
  resourceClaims:
  - {name: r1, resourceClaimName: a}
  - {name: r2, resourceClaimName: b}
  - {name: r3, resourceClaimName: d}
)");
  StartAgent();
  runtime_.End("uid-p", "first", 0);
  Run();
  EXPECT_THAT(plugins_.calls(), ElementsAre("prepare d1 a,b,d"));
  EXPECT_THAT(CdiOf("p", "first"), ElementsAre("d1/dev=a-x", "d1/dev=a-z"));
  EXPECT_THAT(CdiOf("p", "one"), ElementsAre("d1/dev=a-z", "d1/dev=uid-b"));
  EXPECT_THAT(CdiOf("p", "two"), ElementsAre("d1/dev=uid-d"));
}

TEST_F(Acceptance, Row41ARestartingContainerIsNotPreparedAgain) {
  AddClaim(ClaimOf("a", {"d1"}, {"p"}));
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  restartPolicy: Always
  containers: [{name: c, image: i, resources: {claims: [{name: r}]}}]
  resourceClaims: [{name: r, resourceClaimName: a}]
)");
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Running");
  RestartAgent();
  plugins_.Deregister("d1");
  plugins_.Register("d1");
  runtime_.End("uid-p", "c", 1);
  Run();
  EXPECT_EQ(RuntimeCalls("Create ns/p/c#1 d1/dev=uid-a"), 1);
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").restart_count, 1);
  EXPECT_EQ(plugins_.CallsOf("prepare"), 1);
  EXPECT_EQ(RuntimeCalls("RunSandbox"), 1);
}

}  // namespace
}  // namespace dray::node
