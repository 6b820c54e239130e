// SPDX-License-Identifier: Apache-2.0
#include "node/container_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "testing/objects_from.h"
#include "testing/status_matchers.h"

namespace dray::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Pair;
using testing::StatusIs;

api::Pod PodFrom(std::string_view container) {
  return *testing::ObjectsFrom(std::string(R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: ns, uid: u, labels: {app: web}, annotations: {note: hi}}
spec:
  nodeName: n1
  serviceAccountName: robot
  containers:
  - name: c
    image: i
)") + std::string(container))[0]
              .As<api::Pod>();
}

PodFacts Facts() {
  PodFacts facts{.pod_ips = {"10.0.0.1", "fd00::1"}, .host_ips = {"192.0.2.1"}};
  facts.allocatable["memory"] = *base::Quantity::Parse("8Gi");
  return facts;
}

TEST(Expand, ReplacesWhatIsKnown) {
  const std::vector<std::pair<std::string, std::string>> env = {{"A", "1"}, {"B", "$(A)"}};
  EXPECT_EQ(*Expand("x$(A)y", env), "x1y");
  EXPECT_EQ(*Expand("$(B)", env), "$(A)");
  EXPECT_EQ(*Expand("$(C) $A $$(A) $$ $", env), "$(C) $A $(A) $ $");
  EXPECT_EQ(*Expand("$(A", env), "$(A");
}

// Each variable is the one before twice: sixty of them would be longer than all memory.
TEST(Expand, WhatNoProcessCanBeGivenIsRefusedBeforeItIsMade) {
  api::Pod pod;
  api::Container container;
  container.env.push_back({.name = "V0", .value = "xx"});
  for (int i = 1; i < 60; ++i) {
    container.env.push_back(
        {.name = fmt::format("V{}", i), .value = fmt::format("$(V{0})$(V{0})", i - 1)});
  }
  const auto made = EnvironmentOf(pod, container, {});
  EXPECT_EQ(made.status().code(), StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(made.status().message()),
              ::testing::HasSubstr("environment variable V17: with its variables replaced"));
  // Each is short enough, and all together are not.
  container.env.resize(16);
  for (int i = 0; i < 60; ++i) {
    container.env.push_back({.name = fmt::format("W{}", i), .value = "$(V15)"});
  }
  EXPECT_EQ(EnvironmentOf(pod, container, {}).status().code(), StatusCode::kOutOfRange);
  container.env.resize(30);
  EXPECT_TRUE(EnvironmentOf(pod, container, {}).ok());
  container.args.assign(60, "$(V15)");
  EXPECT_EQ(ConfigOf(pod, container, {}).status().code(), StatusCode::kOutOfRange);
}

TEST(EnvironmentOf, KnowsThePod) {
  const api::Pod pod = PodFrom(R"yaml(
    resources: {limits: {cpu: 1500m}, requests: {memory: 1Mi}}
    env:
    - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: WHERE, value: "$(NAME) on $(NODE)"}
    - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
    - {name: UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
    - {name: APP, valueFrom: {fieldRef: {fieldPath: "metadata.labels['app']"}}}
    - {name: NOTE, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['note']"}}}
    - {name: IPS, valueFrom: {fieldRef: {fieldPath: status.podIPs}}}
    - {name: HOST, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}
    - {name: WHO, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}}
    - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
    - {name: MILLI, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}
    - {name: MEMORY, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Gi}}}
    - {name: ASKED, valueFrom: {resourceFieldRef: {resource: requests.memory}}}
    - {name: NAME, value: again}
)yaml");
  const auto env = EnvironmentOf(pod, pod.spec.containers[0], Facts());
  ASSERT_THAT(env, IsOk());
  EXPECT_THAT(*env,
              ElementsAre(Pair("NAME", "again"), Pair("WHERE", "p on $(NODE)"), Pair("NODE", "n1"),
                          Pair("UID", "u"), Pair("APP", "web"), Pair("NOTE", "hi"),
                          Pair("IPS", "10.0.0.1,fd00::1"), Pair("HOST", "192.0.2.1"),
                          Pair("WHO", "robot"), Pair("CPU", "2"), Pair("MILLI", "1500"),
                          Pair("MEMORY", "8"), Pair("ASKED", "1048576")));
}

TEST(EnvironmentOf, SaysWhatCannotBeHad) {
  const auto fails = [](std::string_view text) {
    const api::Pod pod = PodFrom(text);
    return std::string(base::Message(EnvironmentOf(pod, pod.spec.containers[0], Facts()).status()));
  };
  EXPECT_THAT(fails("    env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]\n"),
              HasSubstr("secret \"s\" not found"));
  EXPECT_THAT(fails("    envFrom: [{configMapRef: {name: m}}]\n"),
              HasSubstr("configmap \"m\" not found"));
  EXPECT_EQ(
      fails("    env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}]\n"),
      "");
}

TEST(ConfigOf, HasLimitsSecurityAndMounts) {
  const api::Pod pod = PodFrom(R"yaml(
    command: [run, "$(X)"]
    args: ["--x=$(X)"]
    env: [{name: X, value: "7"}]
    resources: {
  limits : {
  cpu:
    500m, memory : 64Mi
  }
    , requests : {
    cpu:
      250m
    }}
    volumeMounts: [{name: v, mountPath: /v, subPath: a/b}]
    securityContext: {runAsUser: 5, privileged: false, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {add: [NET_ADMIN], drop: [ALL]}}
)yaml");
  PodFacts facts = Facts();
  facts.volumes["v"] = {.path = "/vol"};
  const auto config = ConfigOf(pod, pod.spec.containers[0], facts);
  ASSERT_THAT(config, IsOk());
  EXPECT_THAT(config->command, ElementsAre("run", "7"));
  EXPECT_THAT(config->args, ElementsAre("--x=7"));
  EXPECT_EQ(config->limits.cpu_shares, 256);
  EXPECT_EQ(config->limits.cpu_quota, 50'000);
  EXPECT_EQ(config->limits.memory_bytes, 64 << 20);
  EXPECT_THAT(config->mounts, ElementsAre(container::Mount{"/v", "/vol/a/b", false}));
  EXPECT_EQ(config->security.user, 5);
  EXPECT_TRUE(config->security.read_only_root);
  EXPECT_TRUE(config->security.no_new_privileges);
  EXPECT_THAT(config->security.drop_capabilities, ElementsAre("ALL"));
}

TEST(ConfigOf, RefusesWhatWouldLeadAstray) {
  api::Pod pod = PodFrom("    volumeMounts: [{name: v, mountPath: /v, subPath: ../x}]\n");
  PodFacts facts = Facts();
  facts.volumes["v"] = {.path = "/vol"};
  EXPECT_THAT(ConfigOf(pod, pod.spec.containers[0], facts),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("leads out of it")));
  pod = PodFrom("    securityContext: {runAsNonRoot: true, runAsUser: 0}\n");
  EXPECT_THAT(ConfigOf(pod, pod.spec.containers[0], facts),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("runAsNonRoot")));
}

TEST(SandboxConfigOf, APodOnTheHostsNetworkHasNoNameOfItsOwn) {
  api::Pod pod = PodFrom("");
  EXPECT_EQ(SandboxConfigOf(pod, "/logs", "")->hostname, "p");
  EXPECT_EQ(SandboxConfigOf(pod, "/logs", "")->log_directory, "/logs/ns_p_u");
  pod.metadata.name = std::string(62, 'a') + "-b";
  EXPECT_EQ(SandboxConfigOf(pod, "/logs", "")->hostname, std::string(62, 'a'));
  pod.spec.host_network = true;
  EXPECT_EQ(SandboxConfigOf(pod, "/logs", "")->hostname, "");
}

TEST(SandboxConfigOf, APrivilegedContainerMakesItsPodOne) {
  EXPECT_FALSE(SandboxConfigOf(PodFrom(""), "/logs", "")->privileged);
  api::Pod pod = PodFrom("    securityContext: {privileged: true}\n");
  EXPECT_TRUE(SandboxConfigOf(pod, "/logs", "")->privileged);
  pod.spec.init_containers.swap(pod.spec.containers);
  EXPECT_TRUE(SandboxConfigOf(pod, "/logs", "")->privileged);
}

}  // namespace
}  // namespace dray::node
