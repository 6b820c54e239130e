// SPDX-License-Identifier: Apache-2.0
#include "node/refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "node/agent_for_test.h"
#include "testing/objects_from.h"

namespace dray::node {
namespace {

struct FieldCase {
  std::string name;
  std::string spec;       // of the pod
  std::string container;  // of its container
  std::string want;       // the field; empty: it is let in
  friend void PrintTo(const FieldCase& c, std::ostream* os) { *os << c.name; }
};

class RefusedFieldTest : public ::testing::TestWithParam<FieldCase> {};

TEST_P(RefusedFieldTest, IsNamed) {
  const auto objects = testing::ObjectsFrom(fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec:
{}
  containers:
  - name: c
    image: i
{}
)",
                                                        GetParam().spec, GetParam().container));
  // As a runtime by itself is, on a machine that has neither.
  const auto refused = RefusedField(*objects[0].As<api::Pod>(), {});
  if (GetParam().want.empty()) {
    EXPECT_FALSE(refused) << refused->message;
    return;
  }
  ASSERT_TRUE(refused);
  EXPECT_THAT(refused->message, ::testing::StartsWith(GetParam().want + ": "));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, RefusedFieldTest,
    ::testing::ValuesIn(std::vector<FieldCase>{
        {"plain", "", "", ""},
        {"windows", "  os: {name: windows}", "", "spec.os.name"},
        {"linux", "  os: {name: linux}", "", ""},
        {"users", "  hostUsers: false", "", "spec.hostUsers"},
        {"no_users", "  hostUsers: true", "", ""},
        {"runtime_class", "  runtimeClassName: gvisor", "", "spec.runtimeClassName"},
        {"pod_limits", "  resources: {limits: {cpu: 1}}", "", ""},
        {"pod_requests", "  resources: {requests: {cpu: 1}}", "", ""},
        {"sysctls", "  securityContext: {sysctls: [{name: a.b, value: c}]}", "",
         "forbidden sysctl"},
        {"selinux", "  securityContext: {seLinuxOptions: {level: s0}}", "",
         "spec.securityContext.seLinuxOptions"},
        {"selinux_of_container", "", "    securityContext: {seLinuxOptions: {level: s0}}",
         "spec.containers[0].securityContext.seLinuxOptions"},
        {"apparmor", "", "    securityContext: {appArmorProfile: {type: RuntimeDefault}}",
         "Cannot enforce AppArmor"},
        {"apparmor_off", "", "    securityContext: {appArmorProfile: {type: Unconfined}}", ""},
        {"proc_mount", "", "    securityContext: {procMount: Unmasked}",
         "spec.containers[0].securityContext.procMount"},
        {"restricted",
         "  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}",
         "    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}", ""},
        {"host_port", "", "    ports: [{containerPort: 80, hostPort: 8080}]",
         "spec.containers[0].ports[0].hostPort"},
        {"host_port_on_host", "  hostNetwork: true",
         "    ports: [{containerPort: 80, hostPort: 80}]", ""},
        {"block", "", "    volumeDevices: [{name: v, devicePath: /dev/x}]",
         "spec.containers[0].volumeDevices"},
        {"read_only_all_the_way", "",
         "    volumeMounts: [{name: v, mountPath: /v, recursiveReadOnly: Enabled}]",
         "spec.containers[0].volumeMounts[0].recursiveReadOnly"},
        {"restart_all", "", "    restartPolicyRules: [{action: RestartAllContainers}]",
         "spec.containers[0].restartPolicyRules[0].action"},
        {"restart_one", "",
         "    restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [3]}}]", ""},
        {"env_of_a_file", "",
         "    env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k}}}]",
         "spec.containers[0].env[0].valueFrom.fileKeyRef"},
        {"init",
         "  initContainers: [{name: x, image: i, ports: [{containerPort: 1, hostPort: 1}]}]", "",
         "spec.initContainers[0].ports[0].hostPort"},
    }),
    [](const auto& info) { return info.param.name; });

using RefusedPodTest = AgentTest;

TEST_F(RefusedPodTest, FailsWithAnEventThatNamesTheField) {
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  hostUsers: false
  containers: [{name: c, image: i}]
)");
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Failed");
  EXPECT_EQ(FindPod("p")->status.reason, "FieldNotSupported");
  EXPECT_TRUE(
      HasEvent("Warning FieldNotSupported: spec.hostUsers: user namespaces are not supported by "
               "this node agent"));
  EXPECT_EQ(RuntimeCalls("RunSandbox"), 0);
}

}  // namespace
}  // namespace dray::node
