// SPDX-License-Identifier: Apache-2.0
#include "node/security.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "node/agent_for_test.h"
#include "node/container_config.h"
#include "testing/objects_from.h"
#include "testing/status_matchers.h"

namespace dray::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Pair;

api::Pod PodWith(const std::string& whole, const std::string& own, const std::string& more = "") {
  const auto objects = testing::ObjectsFrom(fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: p, uid: u}}
spec:
{}
  securityContext: {{{}}}
  containers: [{{name: c, image: i, securityContext: {{{}}}}}]
)",
                                                        more, whole, own));
  return *objects[0].As<api::Pod>();
}
std::string Refused(const api::Pod& pod, const Enforcing& enforcing) {
  auto refused = RefusedSecurity(pod, pod.spec.security_context, "pod", enforcing);
  if (!refused) {
    refused = RefusedSecurity(pod, pod.spec.containers[0].security_context, "own", enforcing);
  }
  return refused ? fmt::format("{}: {}", refused->reason, refused->message) : "";
}

TEST(Sysctls, SafeOnesAreThePods) {
  const api::Pod pod = PodWith(
      "sysctls: [{name: net.ipv4.ip_unprivileged_port_start, value: '0'}, "
      "{name: kernel/shm_rmid_forced, value: '1'}]",
      "");
  EXPECT_EQ(Refused(pod, {}), "");
  const auto sandbox = SandboxConfigOf(pod, "/logs", "");
  ASSERT_THAT(sandbox, IsOk());
  EXPECT_THAT(sandbox->sysctls, ElementsAre(Pair("kernel.shm_rmid_forced", "1"),
                                            Pair("net.ipv4.ip_unprivileged_port_start", "0")));
}

TEST(Sysctls, OthersAreForbiddenInTheKubeletsWords) {
  const auto refused = [](const std::string& name, const std::string& more = "") {
    return Refused(PodWith("sysctls: [{name: " + name + ", value: '1'}]", "", more), {});
  };
  EXPECT_EQ(refused("kernel.msgmax"),
            R"(SysctlForbidden: forbidden sysctl: "kernel.msgmax" not allowlisted)");
  EXPECT_EQ(
      refused("net/ipv4/conf/eth0.1/forwarding"),
      R"(SysctlForbidden: forbidden sysctl: "net.ipv4.conf.eth0/1.forwarding" not allowlisted)");
  EXPECT_EQ(refused("net.ipv4.tcp_syncookies", "  hostNetwork: true"),
            R"(SysctlForbidden: forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host )"
            "Net enabled");
  EXPECT_EQ(refused("kernel.shm_rmid_forced", "  hostIPC: true"),
            R"(SysctlForbidden: forbidden sysctl: "kernel.shm_rmid_forced" not allowed with host )"
            "IPC enabled");
  EXPECT_EQ(refused("kernel.shm_rmid_forced", "  hostNetwork: true"), "");
}

TEST(AppArmor, NeedsAKernelAndForItsDefaultARuntime) {
  const api::Pod any = PodWith("", "appArmorProfile: {type: RuntimeDefault}");
  EXPECT_EQ(Refused(any, {.runtime = {.app_armor_default = true}, .app_armor = false}),
            "AppArmor: Cannot enforce AppArmor: AppArmor is not enabled on the host");
  EXPECT_THAT(Refused(any, {.runtime = {}, .app_armor = true}),
              HasSubstr("own.appArmorProfile: RuntimeDefault: this container runtime has no"));
  EXPECT_EQ(Refused(any, {.runtime = {.app_armor_default = true}, .app_armor = true}), "");
  const api::Pod named = PodWith("appArmorProfile: {type: Localhost, localhostProfile: mine}", "");
  EXPECT_EQ(Refused(named, {.runtime = {}, .app_armor = true}), "");
  const api::Pod off = PodWith("", "appArmorProfile: {type: Unconfined}");
  EXPECT_EQ(Refused(off, {}), "");
}

TEST(AppArmor, TheContainersProfileGoesBeforeThePods) {
  const std::string whole = "appArmorProfile: {type: Localhost, localhostProfile: mine}";
  const auto of = [&](const std::string& own) {
    const api::Pod pod = PodWith(whole, own);
    return *SecurityOf(pod, pod.spec.containers[0], {});
  };
  EXPECT_EQ(of("").app_armor, container::AppArmor::kLocalhost);
  EXPECT_EQ(of("").app_armor_profile, "mine");
  EXPECT_EQ(of("appArmorProfile: {type: Unconfined}").app_armor, container::AppArmor::kUnconfined);
  const api::Pod none = PodWith("", "");
  EXPECT_EQ(SecurityOf(none, none.spec.containers[0], {})->app_armor, container::AppArmor::kNotSet);
  const api::Pod broken = PodWith("", "appArmorProfile: {type: Localhost}");
  EXPECT_THAT(SecurityOf(broken, broken.spec.containers[0], {}),
              testing::StatusIs(StatusCode::kInvalidArgument, HasSubstr("appArmorProfile")));
}

TEST(Selinux, IsPassedOnByARuntimeThatKnowsIt) {
  const api::Pod pod = PodWith("seLinuxOptions: {level: 's0:c1,c2'}", "seLinuxOptions: {type: t}");
  EXPECT_THAT(Refused(pod, {}), HasSubstr("pod.seLinuxOptions: SELinux is not supported"));
  EXPECT_EQ(Refused(pod, {.runtime = {.selinux = true}}), "");
  EXPECT_EQ(SandboxConfigOf(pod, "/logs", "")->selinux,
            (container::SelinuxLabel{.user = {}, .role = {}, .type = {}, .level = "s0:c1,c2"}));
  EXPECT_EQ(SecurityOf(pod, pod.spec.containers[0], {})->selinux->type, "t");
}

TEST(PodLimits, AreOfAllContainersTogether) {
  const api::Pod pod = PodWith("", "", "  resources: {limits: {cpu: 500m, memory: 64Mi}}");
  const auto sandbox = SandboxConfigOf(pod, "/logs", "");
  ASSERT_THAT(sandbox, IsOk());
  EXPECT_EQ(sandbox->limits.cpu_quota, 50'000);
  EXPECT_EQ(sandbox->limits.memory_bytes, 64 << 20);
  EXPECT_TRUE(SandboxConfigOf(PodWith("", ""), "/logs", "")->limits.none());
}

using SecurityPodTest = AgentTest;

TEST_F(SecurityPodTest, AForbiddenSysctlIsTheReason) {
  Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  securityContext: {sysctls: [{name: kernel.sem, value: '1'}]}
  containers: [{name: c, image: i}]
)");
  StartAgent();
  EXPECT_EQ(PhaseOf("p"), "Failed");
  EXPECT_EQ(FindPod("p")->status.reason, "SysctlForbidden");
  EXPECT_TRUE(HasEvent("Warning SysctlForbidden: forbidden sysctl"));
  EXPECT_EQ(RuntimeCalls("RunSandbox"), 0);
}

}  // namespace
}  // namespace dray::node
