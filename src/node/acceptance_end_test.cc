// SPDX-License-Identifier: Apache-2.0
//
// The acceptance rows about the end of pods and claims (docs/spec/node.md 20).
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

TEST_F(Acceptance, Row14UnprepareFailsThenSucceeds) {
  StartWithPod();
  plugins_.driver("d1").fail_unprepare = 1000;
  // Whoever gives devices away goes by a final status: there must be none while one is prepared.
  cluster_->on_status = [&](const api::Pod& pod) {
    if (pod.status.phase == "Succeeded") {
      EXPECT_THAT(plugins_.prepared(), IsEmpty());
    }
  };
  runtime_.End("uid-p", "c", 0);
  Run(seconds(30));
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_GT(plugins_.CallsOf("unprepare"), 2);
  EXPECT_TRUE(HasEvent("Warning FailedUnprepareDynamicResources"));
  plugins_.driver("d1").fail_unprepare = 0;
  Run(seconds(16));
  EXPECT_EQ(PhaseOf("p"), "Succeeded");
  EXPECT_THAT(plugins_.prepared(), IsEmpty());
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").state.terminated->exit_code, 0);
}

TEST_F(Acceptance, Row16UnprepareFailedAndTheAgentRestarts) {
  StartWithPod();
  plugins_.driver("d1").fail_unprepare = 1000;
  runtime_.End("uid-p", "c", 1);
  Run(seconds(5));
  EXPECT_EQ(PhaseOf("p"), "Running");
  KillAgent();
  plugins_.driver("d1").fail_unprepare = 0;
  StartAgent();
  Run();
  EXPECT_EQ(PhaseOf("p"), "Failed");
  EXPECT_THAT(plugins_.prepared(), IsEmpty());
  EXPECT_THAT(Checkpoint(), IsEmpty());
  EXPECT_EQ(plugins_.CallsOf("prepare"), 1);
}

TEST_F(Acceptance, Row17APodIsDeletedWhileUnprepareFails) {
  StartWithPod();
  plugins_.driver("d1").fail_unprepare = 1000;
  DeletePod("p");
  Run(seconds(40));
  EXPECT_NE(PhaseOf("p"), "gone");
  EXPECT_THAT(cluster_->deleted, IsEmpty());
  plugins_.driver("d1").fail_unprepare = 0;
  Run(seconds(16));
  EXPECT_EQ(PhaseOf("p"), "gone");
  EXPECT_THAT(cluster_->deleted, ElementsAre("pods ns/p"));
}

TEST_F(Acceptance, Row18APodIsForceDeletedAndTheAgentRestarts) {
  StartWithPod();
  KillAgent();
  ForceDelete("p");
  runtime_.ForgetSandbox("uid-p");
  StartAgent();
  Run(seconds(61));
  EXPECT_EQ(plugins_.CallsOf("unprepare d1 a"), 1);
  EXPECT_THAT(Checkpoint(), IsEmpty());
}

TEST_F(Acceptance, Row25OneOfTwoFailsToUnprepareAndTheAgentRestartsInTheMiddle) {
  AddClaim(ClaimOf("a", {"d1", "d2"}, {"p"}));
  CreatePodWith("p", {"a"});
  StartAgent();
  plugins_.driver("d2").fail_unprepare = 1000;
  DeletePod("p");
  Run(seconds(5));
  EXPECT_THAT(plugins_.prepared(), ElementsAre("d2/uid-a"));
  RestartAgent();
  EXPECT_NE(PhaseOf("p"), "gone");
  const int calls = plugins_.CallsOf("unprepare d2");
  plugins_.driver("d2").fail_unprepare = 1;
  Run(seconds(20));
  EXPECT_EQ(PhaseOf("p"), "gone");
  EXPECT_GT(plugins_.CallsOf("unprepare d2"), calls);
  EXPECT_THAT(plugins_.prepared(), IsEmpty());
}

TEST_F(Acceptance, Row35AForceDeletedPod) {
  StartWithPod();
  ForceDelete("p");
  Run(seconds(60));
  EXPECT_THAT(plugins_.prepared(), IsEmpty());
  EXPECT_EQ(plugins_.CallsOf("unprepare"), 1);
  EXPECT_EQ(RuntimeCalls("Stop ns/p/c"), 1);
  EXPECT_THAT(agent_->Pods(), IsEmpty());
}

TEST_F(Acceptance, Row38TheSameNamesAgainWhileUnprepareFails) {
  StartWithPod();
  plugins_.driver("d1").fail_unprepare = 1000;
  ForceDelete("p");
  DeleteClaim("a");
  Run(seconds(2));
  api::ResourceClaim again = ClaimOf("a", {"d1"}, {});
  again.metadata.uid = "uid-a2";
  again.status.reserved_for = {{.resource = "pods", .name = "p", .uid = "uid-p2"}};
  AddClaim(again);
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p, uid: uid-p2}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: r}]}}]
  resourceClaims: [{name: r, resourceClaimName: a}]
)");
  Run(seconds(20));
  EXPECT_EQ(PhaseOf("p"), "Pending");
  EXPECT_TRUE(
      HasEvent("old ResourceClaim with same name a and different UID uid-a still exists "
               "(previous pod force-deleted?!)"));
  EXPECT_EQ(plugins_.CallsOf("prepare"), 1);
  plugins_.driver("d1").fail_unprepare = 0;
  Run(seconds(40));
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_THAT(plugins_.prepared(), ElementsAre("d1/uid-a2"));
}

TEST_F(Acceptance, Row39ASecondPodJoinsAClaim) {
  AddClaim(ClaimOf("a", {"d1"}, {"p", "q"}));
  CreatePodWith("p", {"a"});
  StartAgent();
  CreatePodWith("q", {"a"});
  Run();
  EXPECT_EQ(PhaseOf("q"), "Running");
  EXPECT_EQ(plugins_.CallsOf("prepare"), 1);
  runtime_.End("uid-p", "c", 0);
  Run();
  EXPECT_EQ(PhaseOf("p"), "Succeeded");
  EXPECT_EQ(plugins_.CallsOf("unprepare"), 0);
  runtime_.End("uid-q", "c", 0);
  Run();
  EXPECT_EQ(PhaseOf("q"), "Succeeded");
  EXPECT_EQ(plugins_.CallsOf("unprepare"), 1);
}

TEST_F(Acceptance, Row40APodJoinsWhileUnprepareIsOnItsWay) {
  AddClaim(ClaimOf("a", {"d1"}, {"p", "q"}));
  CreatePodWith("p", {"a"});
  StartAgent();
  plugins_.driver("d1").hang_unprepare = true;
  runtime_.End("uid-p", "c", 0);
  Run();
  CreatePodWith("q", {"a"});
  Run();
  EXPECT_TRUE(HasEvent("ResourceClaim a is being unprepared"));
  EXPECT_EQ(PhaseOf("q"), "Pending");
  plugins_.driver("d1").hang_unprepare = false;
  plugins_.LetGo();
  Run(seconds(11));
  EXPECT_EQ(PhaseOf("q"), "Running");
  EXPECT_THAT(plugins_.calls(), ElementsAre("prepare d1 a", "unprepare d1 a", "prepare d1 a"));
}

// Containers are stopped, then claims unprepared, then the status is final, then the object goes.
TEST_F(Acceptance, Row17TheOrderOfTheEnd) {
  StartWithPod();
  runtime_.Hold("Stop");
  DeletePod("p");
  Run(seconds(10));
  EXPECT_EQ(plugins_.CallsOf("unprepare"), 0) << "a container runs";
  runtime_.LetGo("Stop");
  plugins_.driver("d1").hang_unprepare = true;
  Run(seconds(10));
  EXPECT_EQ(plugins_.CallsOf("unprepare"), 1);
  EXPECT_EQ(PhaseOf("p"), "Running") << "its claim is prepared";
  plugins_.LetGo();
  Run();
  EXPECT_EQ(PhaseOf("p"), "gone");
}

TEST_F(Acceptance, Row58TheAgentDoesNotStartWithACorruptState) {
  ASSERT_TRUE(files::MakeFolder(options_.root).ok());
  ASSERT_TRUE(files::WriteWhole(options_.root + "/dra_manager_state", "{\"Data\":\"x\"}").ok());
  const auto made = Agent::Make({.loop = loop_,
                                 .offload = offload_,
                                 .cluster = *cluster_,
                                 .runtime = runtime_,
                                 .plugins = plugins_,
                                 .probes = probes_,
                                 .sources = sources_,
                                 .log = {}},
                                options_);
  ASSERT_FALSE(made.ok());
  const std::string text(base::Message(made.status()));
  EXPECT_NE(text.find("checkpoint is corrupted"), std::string::npos) << text;
  EXPECT_NE(text.find("drain the node, remove dra_manager_state"), std::string::npos) << text;
}

}  // namespace
}  // namespace dray::node
