// SPDX-License-Identifier: Apache-2.0
//
// The life of pods in an agent: containers in order, restarts, probes, statuses, events.
#include "node/pod_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "node/agent_for_test.h"

namespace dray::node {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PodLifeTest : public AgentTest {
 protected:
  std::string ConditionOf(const api::Pod& pod, std::string_view type) const {
    const auto it = std::ranges::find(pod.status.conditions, type, &api::PodCondition::type);
    return it == pod.status.conditions.end() ? "" : it->status;
  }
  std::string WaitingReason(std::string_view pod, std::string_view container) const {
    const api::Pod found = *FindPod(pod);
    const api::ContainerStatus status = StatusOf(found, container);
    return status.state.waiting ? status.state.waiting->reason : "";
  }
  std::vector<std::string> CallsWithoutLists() const {
    std::vector<std::string> calls = runtime_.Calls();
    std::erase_if(calls, [](const std::string& call) {
      return call.starts_with("List") || call.starts_with("Probe") || call.starts_with("FindImage");
    });
    return calls;
  }
};

constexpr std::string_view kPod = R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  restartPolicy: Always
  containers: [{name: c, image: "busybox:1"}]
)";

TEST_F(PodLifeTest, APodRunsAndSaysSo) {
  Apply(kPod);
  StartAgent();
  const api::Pod pod = *FindPod("p");
  EXPECT_EQ(pod.status.phase, "Running");
  EXPECT_EQ(pod.status.host_ip, "192.0.2.7");
  EXPECT_EQ(pod.status.pod_ip, "127.0.0.1");
  EXPECT_EQ(pod.status.qos_class, "BestEffort");
  for (const char* type :
       {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"}) {
    EXPECT_EQ(ConditionOf(pod, type), "True") << type;
  }
  const api::ContainerStatus status = StatusOf(pod, "c");
  EXPECT_TRUE(status.ready);
  EXPECT_EQ(status.started, true);
  EXPECT_THAT(status.container_id, HasSubstr("none://"));
  EXPECT_THAT(
      cluster_->events,
      ElementsAre("Normal Pulled: Container image \"busybox:1\" already present on machine",
                  "Normal Created: Created container: c", "Normal Started: Started container c"));
  EXPECT_THAT(CallsWithoutLists(),
              ElementsAre("RunSandbox ns/p", "Create ns/p/c#0 ", "Start ns/p/c"));
}

// What has not changed is not written.
TEST_F(PodLifeTest, NothingIsWrittenWhileNothingHappens) {
  Apply(kPod);
  StartAgent();
  int writes = 0;
  cluster_->on_status = [&](const api::Pod&) { ++writes; };
  Run(minutes(2));
  EXPECT_EQ(writes, 0);
}

TEST_F(PodLifeTest, ADeletedPodIsStoppedAndGoes) {
  Apply(kPod);
  StartAgent();
  DeletePod("p");
  Run();
  EXPECT_EQ(PhaseOf("p"), "gone");
  EXPECT_TRUE(HasEvent("Normal Killing: Stopping container c"));
  EXPECT_THAT(CallsWithoutLists(),
              ElementsAre("RunSandbox ns/p", "Create ns/p/c#0 ", "Start ns/p/c", "Stop ns/p/c 1s",
                          "StopSandbox ns/p", "RemoveSandbox ns/p"));
  EXPECT_THAT(agent_->Pods(), IsEmpty());
}

TEST_F(PodLifeTest, InitContainersRunOneAfterTheOther) {
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  restartPolicy: Never
  initContainers:
  - {name: i1, image: i}
  - {name: side, image: i, restartPolicy: Always}
  - {name: i2, image: i}
  containers: [{name: c, image: i}]
)");
  StartAgent();
  EXPECT_EQ(RuntimeCalls("Create ns/p/side"), 0);
  EXPECT_EQ(WaitingReason("p", "c"), "PodInitializing");
  EXPECT_EQ(ConditionOf(*FindPod("p"), "Initialized"), "False");
  runtime_.End("uid-p", "i1", 0);
  Run();
  EXPECT_EQ(RuntimeCalls("Create ns/p/side"), 1);
  EXPECT_EQ(RuntimeCalls("Create ns/p/i2"), 1);
  EXPECT_EQ(RuntimeCalls("Create ns/p/c"), 0);
  EXPECT_EQ(PhaseOf("p"), "Pending");
  runtime_.End("uid-p", "i2", 0);
  Run();
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_EQ(ConditionOf(*FindPod("p"), "Initialized"), "True");
  // A sidecar that ends is started again, whatever the pod's policy is.
  runtime_.End("uid-p", "side", 0);
  Run();
  EXPECT_EQ(RuntimeCalls("Create ns/p/side#1"), 1);
  // It does not keep the pod from ending.
  runtime_.End("uid-p", "c", 0);
  Run();
  EXPECT_EQ(PhaseOf("p"), "Succeeded");
  EXPECT_EQ(RuntimeCalls("Stop ns/p/side"), 1);
}

TEST_F(PodLifeTest, AnInitContainerThatFailsEndsAPodThatIsNeverRestarted) {
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  restartPolicy: Never
  initContainers: [{name: i1, image: i}]
  containers: [{name: c, image: i}]
)");
  StartAgent();
  runtime_.End("uid-p", "i1", 3);
  Run();
  EXPECT_EQ(PhaseOf("p"), "Failed");
  EXPECT_EQ(StatusOf(*FindPod("p"), "i1").state.terminated->exit_code, 3);
  EXPECT_EQ(RuntimeCalls("Create ns/p/c"), 0);
}

struct PolicyCase {
  std::string name;
  std::string policy;
  int exit_code = 0;
  std::string want;
  friend void PrintTo(const PolicyCase& c, std::ostream* os) { *os << c.name; }
};
class PolicyTest : public PodLifeTest, public ::testing::WithParamInterface<PolicyCase> {};

TEST_P(PolicyTest, SaysWhatFollowsFromAnEnd) {
  Apply(fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec:
  restartPolicy: {}
  containers: [{{name: c, image: i}}]
)",
                    GetParam().policy));
  StartAgent();
  runtime_.End("uid-p", "c", GetParam().exit_code);
  Run();
  EXPECT_EQ(PhaseOf("p"), GetParam().want);
  EXPECT_EQ(RuntimeCalls("Create ns/p/c#1"), GetParam().want == "Running" ? 1 : 0);
}
INSTANTIATE_TEST_SUITE_P(Policies, PolicyTest,
                         ::testing::ValuesIn(std::vector<PolicyCase>{
                             {"never_0", "Never", 0, "Succeeded"},
                             {"never_1", "Never", 1, "Failed"},
                             {"on_failure_0", "OnFailure", 0, "Succeeded"},
                             {"on_failure_1", "OnFailure", 1, "Running"},
                             {"always_0", "Always", 0, "Running"},
                             {"always_1", "Always", 1, "Running"},
                         }),
                         [](const auto& info) { return info.param.name; });

// The first restart is at once, then 10 s, 20 s, ..., 5 min; forgotten after 10 min of running.
TEST_F(PodLifeTest, RestartsTakeLongerEachTime) {
  Apply(kPod);
  StartAgent();
  const auto end = [&] {
    runtime_.End("uid-p", "c", 1);
    Run(seconds(2));
  };
  end();
  EXPECT_EQ(RuntimeCalls("Create ns/p/c#1"), 1);
  end();
  EXPECT_EQ(RuntimeCalls("Create ns/p/c#2"), 0);
  EXPECT_EQ(WaitingReason("p", "c"), "CrashLoopBackOff");
  EXPECT_TRUE(
      HasEvent("Warning BackOff: Back-off restarting failed container c in pod p_ns(uid-p)"));
  const api::Pod waiting = *FindPod("p");
  EXPECT_EQ(StatusOf(waiting, "c").last_state.terminated->exit_code, 1);
  EXPECT_EQ(StatusOf(waiting, "c").state.waiting->message,
            "back-off 10s restarting failed container=c pod=p_ns(uid-p)");
  EXPECT_EQ(waiting.status.phase, "Running");
  Run(seconds(9));
  EXPECT_EQ(RuntimeCalls("Create ns/p/c#2"), 1);
  end();
  Run(seconds(15));
  EXPECT_EQ(RuntimeCalls("Create ns/p/c#3"), 0);
  Run(seconds(5));
  EXPECT_EQ(RuntimeCalls("Create ns/p/c#3"), 1);
  Run(minutes(11));
  end();
  EXPECT_EQ(RuntimeCalls("Create ns/p/c#4"), 1);
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").restart_count, 4);
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").last_state.terminated->exit_code, 1);
  // Of those that have ended the last one is kept.
  EXPECT_EQ(RuntimeCalls("Remove ns/p/c"), 3);
}

TEST_F(PodLifeTest, AnImageThatIsNotHereIsNamed) {
  runtime_.SetMissingImages({"busybox:1"});
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - {name: c, image: "busybox:1", imagePullPolicy: Never}
  - {name: d, image: "busybox:1"}
)");
  StartAgent();
  EXPECT_EQ(WaitingReason("p", "c"), "ErrImageNeverPull");
  EXPECT_EQ(WaitingReason("p", "d"), "ErrImagePull");
  EXPECT_TRUE(
      HasEvent("Warning Failed: Error: Container image \"busybox:1\" is not present with "
               "pull policy of Never"));
  EXPECT_EQ(PhaseOf("p"), "Pending");
  runtime_.SetMissingImages({});
  Run(seconds(15));
  EXPECT_EQ(PhaseOf("p"), "Running");
}

TEST_F(PodLifeTest, WhatTheRuntimeRefusesIsTriedAgain) {
  runtime_.Fail("RunSandbox", base::Unavailable("no room"), 2);
  runtime_.Fail("Create", base::Unavailable("unresolvable CDI devices a/b=c"), 1);
  runtime_.Fail("Start", base::Unavailable("exec format error"), 1);
  Apply(kPod);
  StartAgent();
  EXPECT_TRUE(HasEvent("Warning FailedCreatePodSandBox: Failed to create pod sandbox: no room"));
  Run(seconds(5));
  EXPECT_EQ(WaitingReason("p", "c"), "CreateContainerError");
  EXPECT_TRUE(HasEvent("Error: unresolvable CDI devices a/b=c"));
  Run(seconds(11));
  EXPECT_EQ(WaitingReason("p", "c"), "RunContainerError");
  Run(seconds(25));
  EXPECT_EQ(PhaseOf("p"), "Running");
}

TEST_F(PodLifeTest, APodForWhichThereIsNoRoomIsRejected) {
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 3}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: q}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]}
)");
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Running");
  const api::Pod rejected = *FindPod("q");
  EXPECT_EQ(rejected.status.phase, "Failed");
  EXPECT_EQ(rejected.status.reason, "OutOfcpu");
  EXPECT_EQ(rejected.status.message,
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 2000, used: 3000, "
            "capacity: 4000");
  EXPECT_TRUE(HasEvent("Warning OutOfcpu: Node didn't have enough resource: cpu"));
  EXPECT_EQ(RuntimeCalls("RunSandbox ns/q"), 0);
  // Who was let in is not thrown out by a restart, however little there is by then.
  options_.node.allocatable["cpu"] = base::Quantity::FromInt(1);
  RestartAgent();
  EXPECT_EQ(PhaseOf("p"), "Running");
}

TEST_F(PodLifeTest, ADeadlineEndsAPod) {
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {activeDeadlineSeconds: 60, containers: [{name: c, image: i}]}
)");
  StartAgent();
  Run(seconds(50));
  EXPECT_EQ(PhaseOf("p"), "Running");
  Run(seconds(12));
  EXPECT_EQ(PhaseOf("p"), "Failed");
  EXPECT_EQ(FindPod("p")->status.reason, "DeadlineExceeded");
}

TEST_F(PodLifeTest, ARestartOfTheAgentChangesNothing) {
  Apply(kPod);
  StartAgent();
  runtime_.End("uid-p", "c", 1);
  Run();
  const api::Pod before = *FindPod("p");
  RestartAgent();
  Run(seconds(30));
  const api::Pod after = *FindPod("p");
  EXPECT_EQ(before.metadata.resource_version, after.metadata.resource_version);
  EXPECT_EQ(RuntimeCalls("RunSandbox"), 1);
  EXPECT_EQ(RuntimeCalls("Create"), 2);
}

// The machine was started again: sandbox and containers are gone.
TEST_F(PodLifeTest, ALostSandboxIsMadeAnew) {
  AddClaim(ClaimOf("a", {"d1"}, {"p"}));
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  restartPolicy: Always
  initContainers: [{name: i, image: i}]
  containers: [{name: c, image: i, resources: {claims: [{name: r}]}}]
  resourceClaims: [{name: r, resourceClaimName: a}]
)");
  StartAgent();
  runtime_.End("uid-p", "i", 0);
  Run();
  ASSERT_EQ(PhaseOf("p"), "Running");
  KillAgent();
  runtime_.ForgetSandbox("uid-p");
  StartAgent();
  Run();
  // Preparing comes with the sandbox, and init containers run again.
  EXPECT_EQ(plugins_.CallsOf("prepare"), 2);
  EXPECT_EQ(RuntimeCalls("RunSandbox"), 2);
  EXPECT_EQ(RuntimeCalls("Create ns/p/i#1"), 1);
  runtime_.End("uid-p", "i", 0);
  Run();
  EXPECT_EQ(PhaseOf("p"), "Running");
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").restart_count, 1);
}

TEST_F(PodLifeTest, APodThatIsNeverRestartedFailsWithItsMachine) {
  CreatePodWith("p", {});
  StartAgent();
  KillAgent();
  runtime_.ForgetSandbox("uid-p");
  StartAgent();
  Run();
  EXPECT_EQ(PhaseOf("p"), "Failed");
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").state.terminated->reason, "ContainerStatusUnknown");
  EXPECT_EQ(RuntimeCalls("RunSandbox"), 1);
}

TEST_F(PodLifeTest, WhatRunsForNobodyIsEnded) {
  Apply(kPod);
  StartAgent();
  KillAgent();
  ForceDelete("p");
  StartAgent();
  Run();
  EXPECT_EQ(RuntimeCalls("Stop ns/p/c"), 1);
  EXPECT_EQ(RuntimeCalls("RemoveSandbox ns/p"), 1);
  EXPECT_THAT(agent_->Pods(), IsEmpty());
}

TEST_F(PodLifeTest, AServerThatIsAwayIsToldLater) {
  Apply(kPod);
  StartAgent();
  cluster_->away = base::Unavailable("connection refused");
  runtime_.End("uid-p", "c", 1);
  Run(seconds(20));
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").restart_count, 0);
  cluster_->away = {};
  Run(seconds(31));
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").restart_count, 1);
}

// Others write into the status, too; what they write stays.
TEST_F(PodLifeTest, WhatOthersWriteStays) {
  Apply(kPod);
  StartAgent();
  const auto& kind = api::HubKind(api::TypeInfoOf<api::Pod>());
  api::Object object = *memory_->Stored(kind, "ns", "p");
  object.Mutable<api::Pod>()->status.conditions.push_back(
      {.type = "example.com/x", .status = "True"});
  ASSERT_TRUE(memory_->UpdateStatus(object).ok());
  runtime_.End("uid-p", "c", 1);
  Run();
  EXPECT_EQ(ConditionOf(*FindPod("p"), "example.com/x"), "True");
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").restart_count, 1);
}

constexpr std::string_view kProbed = R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    image: i
    ports: [{name: web, containerPort: 8080}]
    startupProbe: {exec: {command: [started]}, periodSeconds: 1, failureThreshold: 10}
    readinessProbe: {httpGet: {path: /ok, port: web}, periodSeconds: 2, failureThreshold: 1}
    livenessProbe: {tcpSocket: {port: 8080}, periodSeconds: 5, failureThreshold: 2}
)";

TEST_F(PodLifeTest, ProbesSayWhetherItIsReadyAndAlive) {
  bool up = false;
  runtime_.SetExec([&](const container::ContainerConfig&, const std::vector<std::string>&) {
    return container::ExecResult{.exit_code = up ? 0 : 1, .out = "not yet"};
  });
  Apply(kProbed);
  StartAgent();
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").started, false);
  EXPECT_THAT(probes_.asked, IsEmpty());
  EXPECT_TRUE(HasEvent("Warning Unhealthy: Startup probe failed: not yet"));
  up = true;
  Run();
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").started, true);
  EXPECT_TRUE(StatusOf(*FindPod("p"), "c").ready);
  EXPECT_THAT(probes_.asked, ::testing::Contains("http://127.0.0.1:8080/ok"));
  EXPECT_THAT(probes_.asked, ::testing::Contains("127.0.0.1:8080"));
  // Sent to another host: well enough, and worth a word.
  probes_.http = HttpAnswer{.code = 302, .body = "elsewhere"};
  Run(seconds(11));
  EXPECT_TRUE(StatusOf(*FindPod("p"), "c").ready);
  EXPECT_TRUE(HasEvent(
      "Warning ProbeWarning: Readiness probe warning: Probe terminated redirects, Response "
      "body: elsewhere"));
  probes_.http = HttpAnswer{.code = 503};
  Run();
  EXPECT_FALSE(StatusOf(*FindPod("p"), "c").ready);
  EXPECT_EQ(ConditionOf(*FindPod("p"), "Ready"), "False");
  EXPECT_TRUE(HasEvent("Readiness probe failed: HTTP probe failed with statuscode: 503"));
  EXPECT_EQ(RuntimeCalls("Stop"), 0);
  probes_.http = HttpAnswer{.code = 200};
  probes_.tcp = base::Unavailable("connection refused");
  Run(seconds(12));
  EXPECT_EQ(RuntimeCalls("Stop ns/p/c"), 1);
  EXPECT_TRUE(HasEvent("Normal Killing: Container c failed liveness probe, will be restarted"));
  EXPECT_EQ(StatusOf(*FindPod("p"), "c").restart_count, 1);
}

TEST_F(PodLifeTest, HealthOfDevicesIsShownAtOnce) {
  AddClaim(ClaimOf("a", {"d1"}, {"p"}));
  CreatePodWith("p", {"a"});
  StartAgent();
  const auto health = [&] {
    const api::Pod pod = *FindPod("p");
    const auto& status = StatusOf(pod, "c").allocated_resources_status;
    if (status.size() != 1) return std::string("?");
    EXPECT_EQ(status[0].name, "claim:r-a");
    const api::ResourceHealth& one = status[0].resources.at(0);
    return one.resource_id + " " + one.health + " " + one.message.value_or("");
  };
  EXPECT_EQ(health(), "d1/dev=uid-a Unknown ");
  const DeviceName device{"d1", "pool", "dev-a"};
  plugins_.driver("d1").health[device] = {rpc::Health::kUnhealthy, "too hot"};
  agent_->OnHealthChanged({device});
  loop_.RunDue();
  EXPECT_EQ(health(), "d1/dev=uid-a Unhealthy too hot");
  gates_.Set(api::Gate::kResourceHealthStatusMessage, false);
  RestartAgent();
  EXPECT_EQ(health(), "d1/dev=uid-a Unhealthy ");
}

TEST_F(PodLifeTest, VolumesAreMadeAndOthersAreRefusedByName) {
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  volumes: [{name: v, emptyDir: {}}, {name: h, hostPath: {path: /etc}}]
  containers:
  - name: c
    image: i
    volumeMounts: [{name: v, mountPath: /v, subPath: below}, {name: h, mountPath: /h, readOnly: true}]
---
apiVersion: v1
kind: Pod
metadata: {name: q}
spec:
  volumes: [{name: v, nfs: {server: s, path: /}}]
  containers: [{name: c, image: i}]
)");
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Running");
  const auto config = runtime_.ConfigOf("uid-p", "c");
  ASSERT_TRUE(config.has_value());
  const std::string volume = options_.root + "/pods/uid-p/volumes/kubernetes.io~empty-dir/v";
  ASSERT_EQ(config->mounts.size(), 6u);  // and those that every container has
  EXPECT_EQ(config->mounts[0].container_path, "/v");
  EXPECT_FALSE(config->mounts[0].read_only);
  EXPECT_EQ(config->mounts[1], (container::Mount{"/h", "/etc", true}));
  EXPECT_TRUE(files::NamesIn(volume).ok());
  EXPECT_THAT(*files::NamesIn(volume), ElementsAre("below"));
  EXPECT_TRUE(
      HasEvent("Warning FailedMount: MountVolume.SetUp failed: volume \"v\": volumes "
               "nfs are not supported by this node agent"));
  DeletePod("p");
  DeletePod("q");
  Run();
  EXPECT_THAT(*files::NamesIn(options_.root + "/pods"), IsEmpty());
}

// What the agent itself needs for as many pods as a node takes; the goal for the whole process is
// 40 MiB.
TEST_F(PodLifeTest, AFullNodeTakesLittleMemory) {
  for (int i = 0; i < 110; ++i) {
    const std::string name = "p" + std::to_string(i);
    AddClaim(ClaimOf("a" + std::to_string(i), {"d1"}, {name}));
    CreatePodWith(name, {"a" + std::to_string(i)});
  }
  const std::size_t before = ::mallinfo2().uordblks;
  StartAgent();
  Run(seconds(5));
  const std::size_t after = ::mallinfo2().uordblks;
  EXPECT_EQ(PhaseOf("p109"), "Running");
  EXPECT_EQ(plugins_.prepared().size(), 110u);
  RecordProperty("bytes", std::to_string(after - before));
  EXPECT_LT(after - before, 8u << 20);
}

// A link in a volume must not lead a later container to the machine's files.
TEST_F(PodLifeTest, ASubPathThatLeadsOutOfItsVolumeIsRefused) {
  const std::string volume = options_.root + "/pods/uid-p/volumes/kubernetes.io~empty-dir/v";
  ASSERT_TRUE(files::MakeFolder(volume).ok());
  ASSERT_EQ(::symlink("/etc", (volume + "/out").c_str()), 0);
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  volumes: [{name: v, emptyDir: {}}]
  containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v, subPath: out}]}]
)");
  StartAgent();
  EXPECT_EQ(WaitingReason("p", "c"), "CreateContainerConfigError");
  EXPECT_EQ(RuntimeCalls("Create"), 0);
}

}  // namespace
}  // namespace dray::node
