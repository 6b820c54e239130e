// SPDX-License-Identifier: Apache-2.0
//
// The console's answers and those of the commands: the same, for the same cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "api/document.h"
#include "cli/cli_test_support.h"
#include "cli/internal/console_desk.h"
#include "cli/internal/console_manifests.h"
#include "console/planning.h"
#include "console/requests.h"
#include "fmt/format.h"
#include "testing/objects_from.h"

namespace dray::cli {
namespace {

using api::DocumentNode;
using ::testing::HasSubstr;
using ::testing::Not;

// Two nodes with two GPUs each, one of which pod running has.
constexpr std::string_view kCluster = R"(
apiVersion: v1
kind: Namespace
metadata: {name: default, uid: ns-1}
---
apiVersion: v1
kind: Node
metadata: {name: n1, uid: node-1}
status: {allocatable: {cpu: "8", memory: 64Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, uid: node-2}
status: {allocatable: {cpu: "8", memory: 64Gi, pods: "110"}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu, uid: class-1}
spec: {selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s1, uid: slice-1}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}, {name: gpu-1}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s2, uid: slice-2}
spec:
  driver: gpu.example.com
  nodeName: n2
  pool: {name: n2, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}, {name: gpu-1}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: running, namespace: default, uid: claim-1, finalizers: [resource.kubernetes.io/delete-protection]}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}}
status:
  allocation:
    devices: {results: [{request: gpu, driver: gpu.example.com, pool: n1, device: gpu-0}]}
    nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}
  reservedFor: [{resource: pods, name: running, uid: pod-1}]
---
apiVersion: v1
kind: Pod
metadata: {name: running, namespace: default, uid: pod-1}
spec:
  nodeName: n1
  resourceClaims: [{name: gpu, resourceClaimName: running}]
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
status: {phase: Running}
)";

std::string ClaimAndPod(std::string_view name, int count) {
  return fmt::format(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {0}, namespace: default}}
spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: gpu, allocationMode: ExactCount, count: {1}}}}}]}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: {0}, namespace: default}}
spec:
  resourceClaims: [{{name: gpu, resourceClaimName: {0}}}]
  containers: [{{name: c, image: i, resources: {{claims: [{{name: gpu}}]}}}}]
)",
                     name, count);
}

console::Scene SceneOf(std::string_view yaml) {
  return {.objects = testing::ObjectsFrom(yaml),
          .now = base::Time::FromUnix(1'780'000'000),
          .revision = 7,
          .device_id = [](auto, auto, auto) { return std::optional<std::uint32_t>(); },
          .node_id = [](auto) { return std::optional<std::uint32_t>(); },
          .expired = [] { return false; }};
}

DocumentNode Parsed(const std::string& text) {
  std::vector<api::Diagnostic> diagnostics;
  DocumentNode node = api::ParseJson(text, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << text;
  return node;
}

std::string TextOf(const DocumentNode& node, std::string_view key) {
  const api::Member* member = node.Find(key);
  return member == nullptr ? "" : member->value.text;
}

// What a pod gets, as one line.
std::string LineOf(const DocumentNode& outcome) {
  std::string line = fmt::format("{} {} {}", TextOf(outcome, "name"), TextOf(outcome, "state"),
                                 TextOf(outcome, "node"));
  for (const DocumentNode& claim : outcome.Find("claims")->value.items) {
    for (const DocumentNode& device : claim.Find("devices")->value.items) {
      line += fmt::format(" {}={}/{}", TextOf(device, "request"), TextOf(device, "pool"),
                          TextOf(device, "device"));
    }
  }
  return line;
}

console::Answer PlanOf(const console::PlanRequest& request, std::string_view cluster = kCluster) {
  return console::PlanScene(request, SceneOf(cluster), {}, internal::ReadConsoleManifests);
}

const DocumentNode* Find(const DocumentNode& answer, std::string_view name) {
  for (const DocumentNode& outcome : answer.Find("outcomes")->value.items) {
    if (TextOf(outcome, "name") == name) return &outcome;
  }
  return nullptr;
}

TEST(ConsolePlanTest, SaysWhatThePlanOfTheCommandSays) {
  const std::string manifests = ClaimAndPod("one", 1) + "---" + ClaimAndPod("two", 2) + "---" +
                                ClaimAndPod("more", 2) + "---" + ClaimAndPod("too-big", 3);
  const auto answer = PlanOf({.manifests = manifests});
  ASSERT_EQ(answer.code, 200) << answer.json;
  const DocumentNode plan = Parsed(answer.json);
  std::vector<std::string> lines;
  for (const DocumentNode& outcome : plan.Find("outcomes")->value.items) {
    if (TextOf(outcome, "kind") == "Pod") lines.push_back(LineOf(outcome));
  }
  const auto command =
      RunLine({"plan", "-f", "-", "-o", "json"}, {.in = std::string(kCluster) + "---" + manifests});
  const DocumentNode whole = Parsed(command.out);
  const api::Member* pods = whole.Find("outcomes");
  if (pods == nullptr) pods = whole.Find("pods");
  ASSERT_NE(pods, nullptr) << command.out;
  std::vector<std::string> wanted;
  for (const DocumentNode& outcome : pods->value.items) {
    if (TextOf(outcome, "kind") == "Pod" && TextOf(outcome, "state") != "Existing") {
      wanted.push_back(LineOf(outcome));
    }
  }
  EXPECT_EQ(lines, wanted);
  EXPECT_EQ(lines.size(), 4U);
  EXPECT_THAT(answer.json, HasSubstr("\"rev\":7"));
}

TEST(ConsolePlanTest, DeletionsMakeRoom) {
  // Who waits there already goes before what is tried.
  std::string waits = ClaimAndPod("two", 2);
  const std::string pod = "kind: Pod\nmetadata: {";
  waits.replace(waits.find(pod), pod.size(),
                pod + "uid: pod-two, creationTimestamp: \"2026-01-01T00:00:00Z\", ");
  const std::string cluster = std::string(kCluster) + "---" + waits;
  console::PlanRequest request{.manifests = ClaimAndPod("more", 2)};
  EXPECT_THAT(PlanOf(request, cluster).json, HasSubstr("\"state\":\"Refused\""));
  request.gone = {{"pod", "default", "running"}};
  const auto answer = PlanOf(request, cluster);
  const DocumentNode plan = Parsed(answer.json);
  ASSERT_NE(Find(plan, "more"), nullptr) << answer.json;
  EXPECT_EQ(TextOf(*Find(plan, "more"), "state"), "Placed");
  EXPECT_EQ(TextOf(*Find(plan, "two"), "state"), "Placed");
  EXPECT_EQ(TextOf(*Find(plan, "two"), "before"), "Refused");
  EXPECT_EQ(PlanOf({.gone = {{"pod", "default", "nobody"}}}).code, 404);
  EXPECT_EQ(PlanOf({.gone = {{"thing", "default", "nobody"}}}).code, 422);
}

TEST(ConsolePlanTest, PodsThatAreOnlyMadeAreToldToo) {
  const std::string cluster = std::string(kCluster) + R"(---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
)";
  const auto answer = PlanOf({.scale = {{{"deployment", "default", "web"}, 3}}}, cluster);
  const DocumentNode plan = Parsed(answer.json);
  EXPECT_EQ(plan.Find("outcomes")->value.items.size(), 3U) << answer.json;
  EXPECT_THAT(answer.json, HasSubstr("\"planned\":true"));
}

TEST(ConsolePlanTest, NodesMayBeAdded) {
  const auto answer = PlanOf({.manifests = ClaimAndPod("a", 2) + "---" + ClaimAndPod("b", 2),
                              .nodes = {{.like = "n1", .count = 1}}});
  EXPECT_THAT(answer.json,
              HasSubstr("\"newNodes\":[{\"name\":\"n1-new-0\",\"like\":\"n1\",\"used\":[{"));
  EXPECT_EQ(PlanOf({.nodes = {{.like = "n9"}}}).code, 404);
}

TEST(ConsolePlanTest, BrokenManifestsAreTheirPlaces) {
  const auto broken = PlanOf({.manifests = "kind: Pod\n  name: x\n"});
  EXPECT_EQ(broken.code, 422);
  EXPECT_THAT(broken.json, HasSubstr("\"issues\":[{\"line\":2"));
  EXPECT_EQ(PlanOf({.policy = "worst-fit"}).code, 422);
}

TEST(ConsolePlanTest, WhatTakesTooLongEnds) {
  console::Scene scene = SceneOf(kCluster);
  scene.expired = [] { return true; };
  EXPECT_EQ(console::PlanScene({.manifests = ClaimAndPod("a", 1)}, std::move(scene), {},
                               internal::ReadConsoleManifests)
                .code,
            504);
}

// Bombs of aliases, pods beyond number, deep nesting: refused, and soon.
TEST(ConsolePlanTest, HostileManifestsAreRefused) {
  std::string aliases = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'k'; ++c) {
    const char before = static_cast<char>(c - 1);
    aliases +=
        fmt::format("{0}: &{0} [*{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}]\n", c, before);
  }
  EXPECT_EQ(PlanOf({.manifests = aliases}).code, 422);
  EXPECT_EQ(PlanOf({.manifests = std::string(100'000, '[')}).code, 422);
  const auto many = PlanOf({.manifests = R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: many, namespace: default}
spec:
  replicas: 2000000000
  selector: {matchLabels: {app: many}}
  template: {metadata: {labels: {app: many}}, spec: {containers: [{name: c, image: i}]}}
)"});
  EXPECT_EQ(many.code, 422);
}

TEST(ConsoleExplainTest, PendingPodsAreCausesAndTheirCuresHelp) {
  const std::string cluster = std::string(kCluster) + "---" + ClaimAndPod("two", 2) + "---" +
                              ClaimAndPod("third", 2) + "---" + ClaimAndPod("too-big", 3);
  const auto answer = console::ExplainScene({.pending = true}, SceneOf(cluster), {});
  ASSERT_EQ(answer.code, 200);
  const DocumentNode explained = Parsed(answer.json);
  EXPECT_EQ(explained.Find("causes")->value.items.size(), 2U) << answer.json;
  std::size_t cures = 0;
  for (const DocumentNode& outcome : explained.Find("outcomes")->value.items) {
    const std::string name = TextOf(outcome, "name");
    EXPECT_FALSE(TextOf(outcome, "answer").empty());
    for (const DocumentNode& cure : outcome.Find("cures")->value.items) {
      if (TextOf(cure, "verified") != "sufficient") continue;
      const DocumentNode& body = cure.Find("plan")->value;
      SCOPED_TRACE(api::ToJson(cure));
      const auto request = console::ReadPlanRequest(api::ToJson(body));
      ASSERT_TRUE(request.ok()) << request.status();
      const auto planned = PlanOf(*request, cluster);
      ASSERT_EQ(planned.code, 200) << planned.json;
      // A cure is promised to one pod; with others pending, somebody of the same cause gets it.
      EXPECT_THAT(planned.json, HasSubstr("\"state\":\"Placed\""));
      ++cures;
    }
    EXPECT_FALSE(name.empty());
  }
  EXPECT_GE(cures, 2U);
  const auto one = console::ExplainScene(
      {.target = console::ObjectName{"pod", "default", "too-big"}}, SceneOf(cluster), {});
  EXPECT_EQ(one.code, 200);
  EXPECT_THAT(one.json, HasSubstr("\"explanation\":{"));
  EXPECT_THAT(one.json,
              HasSubstr("needs 3 devices of class gpu on one node, and no node has more than 2"));
  EXPECT_THAT(one.json, HasSubstr("\"cause\":\"count_exceeds_node/gpu\""));
  EXPECT_EQ(console::ExplainScene({.target = console::ObjectName{"pod", "default", "nobody"}},
                                  SceneOf(cluster), {})
                .code,
            404);
}

TEST(ConsoleExplainTest, DevicesAndNodesHaveTheNumbersOfTheFleet) {
  const auto explain = [](std::string name) {
    console::Scene scene = SceneOf(std::string(kCluster) + "---" + ClaimAndPod("too-big", 3));
    scene.device_id = [](auto, std::string_view pool, std::string_view device) {
      return pool == "n1" && device == "gpu-0" ? std::optional<std::uint32_t>(12) : std::nullopt;
    };
    scene.node_id = [](std::string_view node) {
      return std::optional<std::uint32_t>(node == "n1" ? 4 : 5);
    };
    return console::ExplainScene({.target = console::ObjectName{"pod", "default", std::move(name)}},
                                 std::move(scene), {});
  };
  EXPECT_THAT(explain("running").json, HasSubstr(R"("device":"gpu-0","id":12)"));
  // n2 lacks one device, n1 two.
  const std::string groups = api::ToJson(
      Parsed(explain("too-big").json).Find("outcomes")->value.items.at(0).Find("groups")->value);
  EXPECT_THAT(groups, HasSubstr(R"("nodeSet":"5","nearest":true)"));
  EXPECT_THAT(groups, HasSubstr(R"("nodeSet":"4"})"));
}

TEST(ConsoleExplainTest, SaysWhatTheExplanationOfTheCommandSays) {
  const std::string cluster = std::string(kCluster) + "---" + ClaimAndPod("too-big", 3);
  const auto answer = console::ExplainScene(
      {.target = console::ObjectName{"pod", "default", "too-big"}}, SceneOf(cluster), {});
  const auto command =
      RunLine({"explain", "pod/too-big", "-f", "-", "-o", "json"}, {.in = cluster});
  const DocumentNode ours = Parsed(answer.json);
  const DocumentNode theirs = Parsed(command.out);
  const DocumentNode& a = ours.Find("outcomes")->value.items.at(0);
  const DocumentNode& b = theirs.Find("outcomes")->value.items.at(0);
  for (const char* text : {"state", "answer", "cause"}) EXPECT_EQ(TextOf(a, text), TextOf(b, text));
  for (const char* part : {"explanation", "cures", "reasons"}) {
    ASSERT_NE(a.Find(part), nullptr) << part << answer.json;
    EXPECT_EQ(api::ToJson(a.Find(part)->value), api::ToJson(b.Find(part)->value)) << part;
  }
}

TEST(ConsoleExplainTest, CausesAreThoseOfTheCommand) {
  const std::string cluster = std::string(kCluster) + "---" + ClaimAndPod("two", 2) + "---" +
                              ClaimAndPod("third", 2) + "---" + ClaimAndPod("too-big", 3) + R"(---
apiVersion: v1
kind: ResourceQuota
metadata: {name: pods, namespace: default}
spec: {hard: {count/pods: "4"}}
status: {hard: {count/pods: "4"}, used: {count/pods: "4"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
)";
  const auto answer = console::ExplainScene({.pending = true}, SceneOf(cluster), {});
  const auto command = RunLine({"explain", "-f", "-", "-o", "json"}, {.in = cluster});
  EXPECT_EQ(api::ToJson(Parsed(answer.json).Find("causes")->value),
            api::ToJson(Parsed(command.out).Find("causes")->value));
  EXPECT_THAT(answer.json, HasSubstr(R"("podsNotCreated":[{"namespace":"default")"));
}

TEST(ConsoleDeskTest, KnowsWhatCanBeScaled) {
  const auto answer = console::ScalableIn(SceneOf(kCluster));
  EXPECT_THAT(answer.json, HasSubstr(R"("like":"n1","nodes":2,"text":"2 × gpu.example.com")"));
}

TEST(ConsoleDeskTest, RunsScenariosOfItsFolderAndNoOthers) {
  const TempFolder folder;
  folder.Write("small.yaml", R"(apiVersion: dray/v1alpha1
kind: Scenario
title: Small
seed: 5
cluster:
  nodeGroups: [{name: nodes, count: 2, allocatable: {cpu: "4", memory: 8Gi}}]
workloads:
- name: w
  count: 3
  template:
    spec:
      containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]
)");
  folder.Write("broken.yaml", "kind: Nothing\n");
  const auto desk = internal::MakeConsoleDesk({.scenarios = folder.path()});
  const DocumentNode listed = Parsed(desk->Scenarios().json);
  ASSERT_EQ(listed.Find("scenarios")->value.items.size(), 2U);
  EXPECT_FALSE(TextOf(listed.Find("scenarios")->value.items[0], "error").empty());
  EXPECT_EQ(TextOf(listed.Find("scenarios")->value.items[1], "title"), "Small");
  const auto run = [&](console::SimulationRequest request, bool cancelled = false) {
    return desk->Simulate(
        request, [](const auto&) {}, [](const auto&) {}, [cancelled] { return cancelled; });
  };
  const auto done = run({.scenario = "small.yaml"});
  ASSERT_EQ(done.code, 200) << done.json;
  const auto command = RunLine({"simulate", folder.path() + "/small.yaml", "-o", "json"});
  EXPECT_EQ(api::ToJson(Parsed(done.json).Find("pods")->value),
            api::ToJson(Parsed(command.out).Find("pods")->value));
  EXPECT_EQ(run({.scenario = "../small.yaml"}).code, 422);
  EXPECT_EQ(run({.scenario = "/etc/passwd"}).code, 422);
  EXPECT_EQ(run({.scenario = "missing.yaml"}).code, 404);
  EXPECT_EQ(run({.scenario = "small.yaml", .policy = "worst"}).code, 422);
  // Text refers to no file of this machine.
  EXPECT_EQ(
      run({.text = "apiVersion: dray/v1alpha1\nkind: Scenario\ncluster: {from: /etc/passwd}\n"})
          .code,
      422);
}

TEST(ConsoleCommand, ListensToThisMachineOnly) {
  for (const char* address : {"0.0.0.0:0", "10.0.0.1:80", "example.com:80", "127.0.0.1", ":80",
                              "127.0.0.1:99999", "[::]:0"}) {
    const auto outcome = RunLine({"console", "--listen", address});
    EXPECT_EQ(outcome.code, 2) << address;
    EXPECT_THAT(outcome.err, HasSubstr("must be a loopback address and a port")) << address;
  }
  EXPECT_THAT(RunLine({"console", "--help"}).out, HasSubstr("never writes to the cluster"));
}

}  // namespace
}  // namespace dray::cli
