// SPDX-License-Identifier: Apache-2.0
//
// Hooks of containers, probes over TLS and gRPC, and the last words of containers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "files/files.h"
#include "fmt/format.h"
#include "node/agent_for_test.h"
#include "node/termination_message.h"

namespace dray::node {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PodHookTest : public AgentTest {
 protected:
  // Calls that change something, and commands in containers, from `since` on.
  std::vector<std::string> Calls(std::size_t since = 0) const {
    std::vector<std::string> calls = runtime_.Calls();
    calls.erase(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(since));
    std::erase_if(calls, [](const std::string& call) {
      return !call.starts_with("Start ") && !call.starts_with("Stop ") &&
             !call.starts_with("ExecSync");
    });
    for (std::string& call : calls) {
      // Which container a command is run in is known; its id is not worth comparing.
      if (call.starts_with("ExecSync ")) {
        call = "ExecSync " + call.substr(call.find(' ', std::string_view("ExecSync ").size()) + 1);
      }
    }
    return calls;
  }
  std::size_t CallCount() const { return runtime_.Calls().size(); }
};

std::string PodWithHooks(std::string_view lifecycle, std::string_view more = "") {
  return fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec:
  restartPolicy: Always
  terminationGracePeriodSeconds: 20
  containers:
  - name: c
    image: i
    ports: [{{name: web, containerPort: 80}}]
    lifecycle: {}
{}
)",
                     lifecycle, more);
}

TEST_F(PodHookTest, NobodyHearsOfAContainerBeforeItsPostStartHookIsThrough) {
  runtime_.Hold("ExecSync");
  Apply(PodWithHooks("{postStart: {exec: {command: [warm, up]}}}", "  - {name: d, image: i}"));
  StartAgent();
  Run(seconds(10));
  EXPECT_THAT(Calls(), ElementsAre("Start ns/p/c", "ExecSync warm up"));
  EXPECT_EQ(PhaseOf("p"), "Pending");
  const api::ContainerStatus starting = StatusOf(*FindPod("p"), "c");
  ASSERT_TRUE(starting.state.waiting);
  EXPECT_EQ(starting.state.waiting->reason, "ContainerCreating");
  EXPECT_EQ(starting.started, false);
  runtime_.LetGo("ExecSync");
  Run();
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_THAT(Calls(), ElementsAre("Start ns/p/c", "ExecSync warm up", "Start ns/p/d"));
}

TEST_F(PodHookTest, AContainerWhosePostStartHookFailsIsStoppedAndStartedAgain) {
  int tries = 0;
  runtime_.SetExec([&](const container::ContainerConfig&, const std::vector<std::string>&) {
    return container::ExecResult{.exit_code = ++tries == 1 ? 3 : 0, .err = "no luck"};
  });
  Apply(PodWithHooks("{postStart: {exec: {command: [try]}}}"));
  StartAgent();
  EXPECT_TRUE(
      HasEvent("Warning FailedPostStartHook: PostStartHook of container c failed: no luck"));
  EXPECT_TRUE(HasEvent("Normal Killing: Container c failed its postStart hook, will be stopped"));
  Run(seconds(15));
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").restart_count, 1);
  EXPECT_THAT(Calls(), ElementsAre("Start ns/p/c", "ExecSync try", "Stop ns/p/c 20s",
                                   "Start ns/p/c", "ExecSync try"));
}

// Somebody's hook hangs: the pod can be deleted all the same.
TEST_F(PodHookTest, APodWhosePostStartHookHangsCanBeDeleted) {
  runtime_.Hold("ExecSync");
  Apply(PodWithHooks("{postStart: {exec: {command: [hang]}}}"));
  StartAgent();
  DeletePod("p");
  Run();
  EXPECT_EQ(PhaseOf("p"), "gone");
}

TEST_F(PodHookTest, ARestartedAgentDoesNotRunAPostStartHookAgain) {
  Apply(PodWithHooks("{postStart: {exec: {command: [once]}}}"));
  StartAgent();
  RestartAgent();
  Run(seconds(10));
  EXPECT_THAT(Calls(), ElementsAre("Start ns/p/c", "ExecSync once"));
  EXPECT_EQ(PhaseOf("p"), "Running");
}

TEST_F(PodHookTest, APreStopHookRunsBeforeTheSignalAndCountsAsGrace) {
  Apply(PodWithHooks(
      "{preStop: {sleep: {seconds: 5}}}",
      "    livenessProbe: {tcpSocket: {port: web}, failureThreshold: 1, periodSeconds: 1}"));
  StartAgent();
  const std::size_t before = CallCount();
  probes_.tcp = base::Unavailable("connection refused");
  Run(seconds(3));
  probes_.tcp = {};
  EXPECT_THAT(Calls(before), ElementsAre());
  Run(seconds(4));
  EXPECT_THAT(Calls(before), ElementsAre("Stop ns/p/c 15s", "Start ns/p/c"));
}

// As nanoseconds, so many seconds are over before they have begun.
TEST_F(PodHookTest, SecondsThatNobodyCountsAreManyAndNotNone) {
  api::Container container;
  container.lifecycle = api::RawJson{R"({"preStop":{"sleep":{"seconds":9223372036854775807}}})"};
  const Lifecycle lifecycle = ReadLifecycle(container);
  ASSERT_TRUE(lifecycle.pre_stop && lifecycle.pre_stop->sleep);
  EXPECT_GT(std::chrono::nanoseconds(*lifecycle.pre_stop->sleep), std::chrono::hours(24 * 365));
  const ProbeSpec probe = ReadProbe(
      {R"({"tcpSocket":{"port":1},"terminationGracePeriodSeconds":13000000000})"}, container);
  ASSERT_TRUE(probe.grace.has_value());
  EXPECT_GT(std::chrono::nanoseconds(*probe.grace), std::chrono::hours(24 * 365));
}

// A pod with more grace than a clock counts has not asked for none.
TEST_F(PodHookTest, AGraceLongerThanAnybodyWaitsIsWaitedFor) {
  runtime_.SetExec([](const container::ContainerConfig&, const std::vector<std::string>&) {
    return container::ExecResult{.exit_code = 3};
  });
  std::string pod = PodWithHooks("{postStart: {exec: {command: [try]}}}");
  const std::string_view grace = "terminationGracePeriodSeconds: 20";
  pod.replace(pod.find(grace), grace.size(), "terminationGracePeriodSeconds: 9223372036854775807");
  Apply(pod);
  StartAgent();
  EXPECT_THAT(Calls(), Contains("Stop ns/p/c 3155760000s"));
}

TEST_F(PodHookTest, APreStopHookThatFailsIsToldAndTheContainerStopped) {
  runtime_.SetExec([](const container::ContainerConfig&, const std::vector<std::string>&) {
    return container::ExecResult{.exit_code = 1};
  });
  Apply(PodWithHooks("{preStop: {exec: {command: [bye]}}}"));
  StartAgent();
  DeletePod("p");
  Run();
  EXPECT_EQ(PhaseOf("p"), "gone");
  EXPECT_TRUE(
      HasEvent("Warning FailedPreStopHook: PreStopHook of container c failed: command ended with "
               "exit code 1"));
}

TEST_F(PodHookTest, APreStopHookThatHangsTakesItsGraceAndNoMore) {
  runtime_.Hold("ExecSync");
  Apply(PodWithHooks(
      "{preStop: {exec: {command: [hang]}}}",
      "    livenessProbe: {tcpSocket: {port: web}, failureThreshold: 1, periodSeconds: 1}"));
  StartAgent();
  const std::size_t before = CallCount();
  probes_.tcp = base::Unavailable("connection refused");
  Run(seconds(10));
  EXPECT_THAT(Calls(before), ElementsAre("ExecSync hang"));
  probes_.tcp = {};
  Run(seconds(15));
  EXPECT_THAT(Calls(before), ElementsAre("ExecSync hang", "Stop ns/p/c 2s", "Start ns/p/c"));
  EXPECT_TRUE(HasEvent("FailedPreStopHook: PreStopHook of container c failed: it took longer"));
}

TEST_F(PodHookTest, AHookOverHttpIsContentWithAnyAnswer) {
  probes_.http = HttpAnswer{.code = 500};
  Apply(PodWithHooks("{postStart: {httpGet: {port: web, scheme: HTTPS, path: /up}}}"));
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_THAT(probes_.asked, ElementsAre("https://127.0.0.1:80/up"));
}

TEST_F(PodHookTest, AHookThatCannotBeIsOneThatFails) {
  Apply(PodWithHooks("{postStart: {tcpSocket: {port: 80}}}"));
  StartAgent();
  EXPECT_TRUE(HasEvent("a hook cannot be a tcpSocket: use exec, httpGet or sleep"));
}

TEST_F(PodHookTest, TheStopSignalReachesTheRuntimeAndTheStatus) {
  Apply(PodWithHooks("{stopSignal: SIGUSR1}"));
  StartAgent();
  EXPECT_EQ(runtime_.ConfigOf("uid-p", "c")->stop_signal, "SIGUSR1");
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").stop_signal, "SIGUSR1");
}

// ---- Probes ----

TEST_F(PodHookTest, ProbesOverTlsAndGrpc) {
  Apply(PodWithHooks("{}", R"(    readinessProbe: {grpc: {port: 9, service: db}, periodSeconds: 1}
    livenessProbe: {httpGet: {port: web, scheme: HTTPS}, periodSeconds: 1, failureThreshold: 1})"));
  probes_.grpc = base::Unavailable("service unhealthy (responded with \"NOT_SERVING\")");
  StartAgent();
  EXPECT_FALSE(StatusOf(*FindPod("p"), "c").ready);
  EXPECT_TRUE(HasEvent("Readiness probe failed: service unhealthy"));
  probes_.grpc = {};
  Run();
  EXPECT_TRUE(StatusOf(*FindPod("p"), "c").ready);
  EXPECT_THAT(probes_.asked, Contains("grpc://127.0.0.1:9/db"));
  EXPECT_THAT(probes_.asked, Contains("https://127.0.0.1:80/"));
}

TEST_F(PodHookTest, AProbeMayHaveAGraceOfItsOwn) {
  Apply(PodWithHooks(
      "{}", R"(    livenessProbe: {tcpSocket: {port: 1}, periodSeconds: 1, failureThreshold: 1,
      terminationGracePeriodSeconds: 7})"));
  StartAgent();
  probes_.tcp = base::Unavailable("connection refused");
  Run(seconds(2));
  EXPECT_GE(RuntimeCalls("Stop ns/p/c 7s"), 1);
  EXPECT_EQ(RuntimeCalls("Stop ns/p/c 20s"), 0);
}

TEST_F(PodHookTest, AProbeThatCannotBeUnderstoodFails) {
  Apply(PodWithHooks("{}", "    readinessProbe: {tcpSocket: {port: nowhere}, periodSeconds: 1}"));
  StartAgent();
  EXPECT_FALSE(StatusOf(*FindPod("p"), "c").ready);
  EXPECT_TRUE(HasEvent("container \"c\" has no port by the name of \"nowhere\""));
}

// ---- Last words ----

class LastWordsTest : public PodHookTest {
 protected:
  std::string MessageOf(std::string_view container) const {
    const auto config = runtime_.ConfigOf("uid-p", container);
    if (!config) return {};
    for (const container::Mount& mount : config->mounts) {
      if (mount.container_path == "/dev/termination-log") return mount.host_path;
    }
    return {};
  }
  void Write(const std::string& path, std::string_view text) {
    ASSERT_TRUE(files::WriteWhole(path, text).ok());
  }
};

std::string PodWithWords(std::string_view policy, std::string_view restart = "Never") {
  return fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec:
  restartPolicy: {}
  containers:
  - name: c
    image: i
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: {}
)",
                     restart, policy);
}

TEST_F(LastWordsTest, WhatAContainerHasWrittenIsInItsFinalStatus) {
  Apply(PodWithWords("File"));
  StartAgent();
  ASSERT_NE(MessageOf("c"), "");
  std::vector<std::string> told;
  cluster_->on_status = [&](const api::Pod& pod) {
    const api::ContainerStatus status = StatusOf(pod, "c");
    if (status.state.terminated) told.push_back(status.state.terminated->message);
  };
  Write(MessageOf("c"), "disk full");
  runtime_.End("uid-p", "c", 1);
  Run();
  EXPECT_EQ(PhaseOf("p"), "Failed");
  // At no time was it told that it has ended, and not why.
  EXPECT_THAT(told, ::testing::Each("disk full"));
  EXPECT_FALSE(told.empty());
}

TEST_F(LastWordsTest, OfWhatIsLongTheEndIsKept) {
  Apply(PodWithWords("File"));
  StartAgent();
  Write(MessageOf("c"), std::string(10'000, 'a') + "\xff" + std::string(100, 'z'));
  runtime_.End("uid-p", "c", 0);
  Run();
  const std::string message = StatusOf(*FindPod("p"), "c").state.terminated->message;
  EXPECT_LE(message.size(), kLongestMessage);
  EXPECT_THAT(message, HasSubstr("a\xEF\xBF\xBDz"));
}

TEST_F(LastWordsTest, TheEndOfTheLogStandsInForAMessageOfOneThatFailed) {
  Apply(PodWithWords("FallbackToLogsOnError", "Always"));
  StartAgent();
  const auto log = [&](int attempt) {
    return fmt::format("{}/ns_p_uid-p/c/{}.log", options_.log_root, attempt);
  };
  Write(log(0), "2026-11-16T10:00:00.000000000Z stderr F panic: no config\n");
  runtime_.End("uid-p", "c", 2);
  Run();
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").last_state.terminated->message, "panic: no config\n");
  // One that ended well needs no excuse.
  Write(log(1), "2026-11-16T10:00:00.000000000Z stdout F done\n");
  Run(minutes(11));
  runtime_.End("uid-p", "c", 0);
  Run();
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").last_state.terminated->message, "");
  // What was read is known to the next agent, too.
  RestartAgent();
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").last_state.terminated->message, "");
}

TEST(TerminationMessage, IsAlwaysText) {
  EXPECT_EQ(LastText("abc", 2), "bc");
  EXPECT_EQ(LastText("\xc3\xa4", 1), "");
  EXPECT_EQ(LastText("x\xc3\xa4", 2), "\xc3\xa4");
  EXPECT_EQ(LastText(std::string(100, '\xff'), 10), "");
  const std::string text = LastText("a" + std::string(100, '\xff'), 50);
  EXPECT_LE(text.size(), 50u);
}

// A container owns the file: whatever it is, nobody waits and nobody is led elsewhere.
TEST(TerminationMessage, OfAnythingButAFileNothingIsRead) {
  const files::TemporaryFolder folder;
  ASSERT_TRUE(files::WriteWhole(folder / "secret", "secret").ok());
  ASSERT_EQ(::symlink((folder / "secret").c_str(), (folder / "link").c_str()), 0);
  EXPECT_EQ(ReadMessage(folder / "link", ""), "");
  EXPECT_EQ(ReadMessage(folder / "nothing", ""), "");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(ReadMessage(folder / "pipe", ""), "");
}

}  // namespace
}  // namespace dray::node
