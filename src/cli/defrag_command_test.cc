// SPDX-License-Identifier: Apache-2.0
//
// `dray defrag` as a command line: what it prints where, how it ends, and what it does to a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "api/node.h"
#include "api/pod.h"
#include "api/workloads.h"
#include "cli/cli_test_support.h"
#include "fmt/format.h"
#include "plane/plane_for_test.h"

namespace dray::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::string NodeYaml(std::string_view name) {
  return fmt::format(R"(---
apiVersion: v1
kind: Node
metadata: {{name: {0}, labels: {{pool: {0}}}}}
status:
  allocatable: {{cpu: "8", memory: 64Gi, pods: "110"}}
)",
                     name);
}

std::string PodYaml(std::string_view name, std::string_view node, int cpu,
                    std::string_view more = "") {
  return fmt::format(R"(---
apiVersion: v1
kind: Pod
metadata:
  name: {0}
  namespace: default
  ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: of-{0}, uid: of-{0}, controller: true}}]
spec:
  containers: [{{name: c, image: i, resources: {{requests: {{cpu: "{2}"}}}}}}]
{1}{3})",
                     name, node.empty() ? "" : fmt::format("  nodeName: {}\n", node), cpu, more);
}

// Two nodes with a small pod each, and one that wants nearly a whole one.
std::string Small() {
  return NodeYaml("n1") + NodeYaml("n2") + PodYaml("a", "n1", 2) + PodYaml("b", "n2", 3);
}

Outcome Defrag(const std::string& yaml, std::vector<std::string> more = {}) {
  std::vector<std::string> line = {"defrag", "-f", "-"};
  line.insert(line.end(), more.begin(), more.end());
  return RunLine(line, {.in = yaml});
}

TEST(DefragCommand, PrintsTheMovesAndWhatTheyAreFor) {
  const Outcome outcome = Defrag(Small() + PodYaml("big", "", 7));
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.out,
            "STEP  NAME     FROM    TO  DEVICES\n"
            "1     pod/a    n1      n2  <none>\n"
            "then  pod/big  <none>  n1  <none>\n");
  EXPECT_EQ(outcome.err, "1 move; no shorter list is enough, and none with less important pods\n");
}

TEST(DefragCommand, NodesAreFreedByNameByNumberAndByLabel) {
  EXPECT_THAT(Defrag(Small(), {"--free-node", "n2", "--no-headers"}).out,
              "1     pod/b    n2      n1    <none>\n"
              "then  node/n2  <none>  free  <none>\n");
  EXPECT_THAT(Defrag(Small(), {"--free-nodes", "1", "-l", "pool=n2"}).out, HasSubstr("pod/b"));
  EXPECT_THAT(Defrag(Small(), {"--free-nodes", "1", "-l", "pool=n1"}).out, HasSubstr("pod/a"));
  const Outcome both = Defrag(Small(), {"--free-nodes", "2"});
  EXPECT_EQ(both.code, kExitFindings);
  EXPECT_THAT(both.err, HasSubstr("no list of at most 8 moves is enough"));
}

TEST(DefragCommand, WhereThereIsNoListItSaysWhoStaysAndWhy) {
  std::string yaml = Small() + PodYaml("big", "", 7);
  for (auto at = yaml.find("  ownerReferences"); at != std::string::npos;
       at = yaml.find("  ownerReferences")) {
    yaml.erase(at, yaml.find('\n', at) + 1 - at);
  }
  const Outcome outcome = Defrag(yaml);
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(
      outcome.out,
      AllOf(StartsWith("NOT MOVED  NODE  RULE           REASON\n"),
            HasSubstr(
                "pod/a      n1    no_controller  it has no controller that would recreate it\n")));
  EXPECT_THAT(outcome.err,
              HasSubstr("pod big fits on no node, even without all pods that may be moved"));
  EXPECT_EQ(Defrag(yaml, {"--move-bare-pods"}).code, kExitOk);
}

TEST(DefragCommand, ProgramsGetAllOfIt) {
  const Outcome outcome = Defrag(Small() + PodYaml("big", "", 7), {"-o", "json"});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("{\n  \"reached\": true,\n  \"shortest\": true,\n"),
                                 HasSubstr("\"from\": \"n1\",\n      \"to\": \"n2\""),
                                 HasSubstr("\"owners\": [\n        \"ReplicaSet/of-a\"\n      ]")));
  EXPECT_THAT(Defrag(Small(), {"-o", "yaml"}).out, StartsWith("reached: true\n"));
}

TEST(DefragCommand, WideSaysWhatPodsHadAndWhoMadeThem) {
  const Outcome outcome = Defrag(Small() + PodYaml("big", "", 7), {"-o", "wide"});
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("BEFORE  PRIORITY  OWNER"),
                                 HasSubstr("<none>  0         ReplicaSet/of-a")));
}

TEST(DefragCommand, NothingHasToMoveWhereNobodyWaits) {
  const Outcome outcome = Defrag(Small());
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "no pod is pending; nothing has to move\n");
}

TEST(DefragCommand, NumbersThatMeanSomethingElseAreRefused) {
  const auto refused = [&](const std::vector<std::string>& flags) {
    const Outcome outcome = Defrag(Small(), flags);
    EXPECT_EQ(outcome.code, kExitUsage);
    return outcome.err;
  };
  EXPECT_THAT(refused({"--max-moves", "-1"}), HasSubstr("--max-moves"));
  EXPECT_THAT(refused({"--attempts", "0"}), HasSubstr("--attempts"));
  EXPECT_THAT(refused({"--timeout", "99999999999"}), HasSubstr("--timeout"));
}

TEST(DefragCommand, WhatCannotBeUsedIsRefused) {
  const auto refused = [&](const std::vector<std::string>& flags) {
    const Outcome outcome = Defrag(Small(), flags);
    EXPECT_EQ(outcome.code, kExitUsage);
    EXPECT_THAT(outcome.out, IsEmpty());
    return outcome.err;
  };
  EXPECT_THAT(refused({"node/n1"}), HasSubstr("\"node/n1\" is not the name of a pod"));
  EXPECT_THAT(refused({"pod/none"}), HasSubstr("there is no pod none"));
  EXPECT_THAT(refused({"pod/a"}), HasSubstr("pod a is already on node n1"));
  EXPECT_THAT(refused({"--free-node", "n9"}), HasSubstr("node n9 not found"));
  EXPECT_THAT(refused({"--free-devices", "gpu"}), HasSubstr("\"gpu\" is not CLASS=N"));
  EXPECT_THAT(refused({"--free-devices", "gpu=0"}), HasSubstr("\"gpu=0\" is not CLASS=N"));
  EXPECT_THAT(refused({"--free-devices", "gpu=2"}), HasSubstr("there is no DeviceClass gpu"));
  EXPECT_THAT(refused({"-l", "a=b"}), HasSubstr("--free-nodes"));
  EXPECT_THAT(refused({"--free-nodes", "1", "-l", "a=b=c"}), HasSubstr("--selector"));
  EXPECT_THAT(refused({"--apply"}), HasSubstr("remove -f"));
}

// Two nodes of four devices, simulated kubelets, the scheduler and controllers.
class DefragServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    plane_.Start();
    api::ResourceClaimTemplate four;
    four.metadata.name = "four-devices";
    four.metadata.namespace_ = "default";
    api::DeviceRequest& request = four.spec.spec.devices.requests.emplace_back();
    request.name = "gpu";
    auto& exactly = request.exactly.emplace();
    exactly.device_class_name = "gpu.example.com";
    exactly.allocation_mode = "ExactCount";
    exactly.count = 4;
    plane_.Create(four);
  }
  // A pod with a device, and somebody who makes it again.
  void AddDeployment(const std::string& name) {
    api::Deployment deployment;
    deployment.metadata.name = name;
    deployment.metadata.namespace_ = "default";
    deployment.spec.replicas = 1;
    deployment.spec.selector.emplace().match_labels["app"] = name;
    deployment.spec.template_.metadata.labels["app"] = name;
    deployment.spec.template_.spec = plane::PodFromTemplate("x").spec;
    plane_.Create(deployment);
    ASSERT_TRUE(plane_.Until([&] { return !NodeOfApp(name).empty(); }));
  }
  void Cordon(const std::string& name, bool closed) {
    const auto& kind = api::HubKind(api::TypeInfoOf<api::Node>());
    ASSERT_TRUE(plane_.Until([&] {
      auto node = plane_.plane().cluster().Find(kind, "", name);
      if (!node.ok() || !*node) return false;
      (*node)->Mutable<api::Node>()->spec.unschedulable = closed;
      return plane_.plane().cluster().Update(**std::move(node)).ok();
    }));
  }
  std::string NodeOfApp(const std::string& app) {
    for (const api::Pod& pod : plane_.All<api::Pod>()) {
      const auto* label = pod.metadata.labels.Find("app");
      if (label != nullptr && *label == app && !pod.metadata.deletion_timestamp &&
          pod.status.phase == "Running") {
        return pod.spec.node_name;
      }
    }
    return "";
  }
  // With the machine's clock: things are waited for.
  Outcome Ask(std::vector<std::string> args) {
    args.insert(args.end(), {"--kubeconfig", plane_.folder() + "/admin.kubeconfig"});
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    const base::SystemClock clock;
    const std::map<std::string, std::string, std::less<>> none;
    const Environment env{.variables = none, .clock = clock};
    Outcome outcome;
    outcome.code = cli::Run(args, in, out, err, env);
    outcome.out = out.str();
    outcome.err = err.str();
    return outcome;
  }

  plane::TestPlane plane_;
};

TEST_F(DefragServerTest, MovesAreMadeThroughTheEvictionApi) {
  AddDeployment("a");
  // So that the other one goes elsewhere.
  Cordon(NodeOfApp("a"), true);
  AddDeployment("b");
  Cordon(NodeOfApp("a"), false);
  ASSERT_NE(NodeOfApp("a"), NodeOfApp("b"));
  api::Pod big = plane::PodFromTemplate("big");
  big.spec.resource_claims[0].resource_claim_template_name = "four-devices";
  plane_.Create(big);
  ASSERT_TRUE(plane_.AwaitEvent("big", "FailedScheduling"));

  const Outcome read = Ask({"defrag", "pod/big"});
  EXPECT_EQ(read.code, kExitOk) << read.err;
  EXPECT_THAT(read.err, HasSubstr("1 move"));
  EXPECT_NE(NodeOfApp("a"), NodeOfApp("b"));  // nothing was written

  const Outcome done = Ask({"defrag", "pod/big", "--apply", "--timeout", "60"});
  EXPECT_EQ(done.code, kExitOk) << done.out << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr(" cordoned\n"), HasSubstr(" evicted from node "),
                              HasSubstr("pod/big is on node ")));
  EXPECT_TRUE(plane_.Await("big", "Running"));
  EXPECT_EQ(NodeOfApp("a"), NodeOfApp("b"));
  for (const api::Node& node : plane_.All<api::Node>()) EXPECT_FALSE(node.spec.unschedulable);
}

TEST_F(DefragServerTest, AFreedNodeStaysCordoned) {
  AddDeployment("a");
  AddDeployment("b");
  const std::string node = NodeOfApp("b");
  const Outcome done =
      Ask({"defrag", "--free-node", node, "--apply", "--timeout", "60", "-o", "json"});
  EXPECT_EQ(done.code, kExitOk) << done.out << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("\"done\": true"), HasSubstr("\"cordoned\": [")));
  EXPECT_NE(NodeOfApp("b"), node);
  const auto nodes = plane_.All<api::Node>();
  EXPECT_TRUE(std::ranges::find(nodes, node, [](const api::Node& n) {
                return n.metadata.name;
              })->spec.unschedulable);
}

}  // namespace
}  // namespace dray::cli
