// SPDX-License-Identifier: Apache-2.0
//
// Containers that somebody adds to a running pod to look into it (kubectl debug).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "node/agent_for_test.h"

namespace dray::node {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::SizeIs;

class DebugContainerTest : public AgentTest {
 protected:
  void Add(const std::string& name, const std::string& target = "") {
    auto object = *memory_->Stored(api::HubKind(api::TypeInfoOf<api::Pod>()), "ns", "p");
    api::EphemeralContainer debugger;
    debugger.common.name = name;
    debugger.common.image = "tools";
    debugger.target_container_name = target;
    object.Mutable<api::Pod>()->spec.ephemeral_containers.push_back(debugger);
    ASSERT_TRUE(memory_->Update(object).ok());
  }
  api::ContainerStatus Status(std::size_t i = 0) const {
    return FindPod("p")->status.ephemeral_container_statuses.at(i);
  }
};

constexpr std::string_view kPod = R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  restartPolicy: Always
  containers: [{name: c, image: i}]
)";

TEST_F(DebugContainerTest, RunsBesideTheOthersOnce) {
  Apply(kPod);
  StartAgent();
  Add("debugger", "c");
  Run();
  EXPECT_THAT(FindPod("p")->status.ephemeral_container_statuses, SizeIs(1));
  EXPECT_EQ(Status().name, "debugger");
  EXPECT_TRUE(Status().state.running);
  EXPECT_FALSE(Status().ready);
  EXPECT_EQ(Status().started, std::nullopt);
  EXPECT_TRUE(HasEvent("Normal Started: Started container debugger"));
  EXPECT_EQ(RuntimeCalls("RunSandbox"), 1);
  // It sees the processes of its target.
  const std::string id = StatusOf(*FindPod("p"), "c").container_id;
  EXPECT_EQ("none://" + runtime_.ConfigOf("uid-p", "debugger")->pid_target, id);
  // A second one, without a target; the first is left alone.
  Add("other");
  Run();
  EXPECT_TRUE(Status(1).state.running);
  EXPECT_EQ(runtime_.ConfigOf("uid-p", "other")->pid_target, "");
  EXPECT_EQ(RuntimeCalls("Create ns/p/debugger"), 1);
  // The pod's policy is not its.
  runtime_.End("uid-p", "debugger", 1);
  Run(minutes(1));
  ASSERT_TRUE(Status().state.terminated);
  EXPECT_EQ(Status().state.terminated->exit_code, 1);
  EXPECT_EQ(Status().restart_count, 0);
  EXPECT_EQ(RuntimeCalls("Create ns/p/debugger"), 1);
  EXPECT_EQ(PhaseOf("p"), "Running");
}

TEST_F(DebugContainerTest, ThePodDoesNotWaitForItsEnd) {
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  restartPolicy: Never
  containers: [{name: c, image: i}]
)");
  StartAgent();
  Add("debugger");
  Run();
  runtime_.End("uid-p", "c", 0);
  Run();
  EXPECT_EQ(PhaseOf("p"), "Succeeded");
  EXPECT_EQ(RuntimeCalls("Stop ns/p/debugger"), 1);
  EXPECT_TRUE(Status().state.terminated);
}

TEST_F(DebugContainerTest, LooksIntoAPodThatIsNotThroughWithItsInitContainers) {
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  initContainers: [{name: hangs, image: i}]
  containers: [{name: c, image: i}]
)");
  StartAgent();
  Add("debugger", "hangs");
  Run();
  EXPECT_TRUE(Status().state.running);
  EXPECT_EQ(RuntimeCalls("Create ns/p/c#"), 0);
}

TEST_F(DebugContainerTest, WaitsForATargetThatDoesNotRun) {
  Apply(kPod);
  runtime_.Fail("Create", base::Unavailable("later"));
  StartAgent();
  EXPECT_EQ(RuntimeCalls("Start ns/p/c"), 0);
  Add("debugger", "c");
  Run(seconds(1));
  EXPECT_TRUE(HasEvent("Warning Failed: Error: unable to find target container c"));
  ASSERT_TRUE(Status().state.waiting);
  EXPECT_EQ(Status().state.waiting->reason, "CreateContainerConfigError");
  // Others are not kept waiting by it.
  Run(minutes(1));
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_TRUE(Status().state.running);
}

TEST_F(DebugContainerTest, AnImageThatIsNotThereIsToldAndTriedAgain) {
  runtime_.SetMissingImages({"tools"});
  Apply(kPod);
  StartAgent();
  Add("debugger");
  Run(seconds(1));
  ASSERT_TRUE(Status().state.waiting);
  EXPECT_EQ(Status().state.waiting->reason, "ErrImagePull");
  runtime_.SetMissingImages({});
  Run(minutes(1));
  EXPECT_TRUE(Status().state.running);
}

TEST_F(DebugContainerTest, ARestartOfTheAgentStartsNothingTwice) {
  Apply(kPod);
  StartAgent();
  Add("runs");
  Add("ended");
  Run();
  runtime_.End("uid-p", "ended", 3);
  Run();
  RestartAgent();
  Run(minutes(1));
  EXPECT_EQ(RuntimeCalls("Create ns/p/runs"), 1);
  EXPECT_EQ(RuntimeCalls("Create ns/p/ended"), 1);
  EXPECT_TRUE(Status(0).state.running);
  EXPECT_EQ(Status(1).state.terminated->exit_code, 3);
  // One that nobody has started yet is.
  KillAgent();
  Add("late");
  StartAgent();
  Run();
  EXPECT_TRUE(Status(2).state.running);
  DeletePod("p");
  Run();
  EXPECT_EQ(PhaseOf("p"), "gone");
}

}  // namespace
}  // namespace dray::node
