// SPDX-License-Identifier: Apache-2.0
//
// `dray plan` as a command line: what it prints where, and how it ends.
#include <string>
#include <vector>

#include "cli/cli_test_support.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dray::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kDevices = R"(  devices:
  - {name: gpu-0}
  - {name: gpu-1, allowMultipleAllocations: true, capacity: {memory: {value: 80Gi}}}
)";

std::string Claim(std::string_view name, std::string_view more = "") {
  return "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: " +
         std::string(name) +
         "}\nspec:\n  devices:\n    requests:\n    - name: gpu\n      exactly:\n        "
         "deviceClassName: gpu\n" +
         std::string(more);
}
std::string Pod(std::string_view name, std::string_view claim, std::string_view more = "",
                std::string_view space = "default") {
  return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + std::string(name) +
         ", namespace: " + std::string(space) + "}\nspec:\n  containers: [{name: c, image: i}]\n" +
         (claim.empty() ? ""
                        : "  resourceClaims: [{name: gpu, resourceClaimName: " +
                              std::string(claim) + "}]\n") +
         std::string(more);
}

Outcome Plan(const std::string& yaml, std::vector<std::string> more = {},
             const RunOptions& options = {}) {
  std::vector<std::string> line = {"plan", "-f", "-"};
  line.insert(line.end(), more.begin(), more.end());
  RunOptions with_input = options;
  with_input.in = OneNodeYaml(kDevices) + yaml;
  return RunLine(line, with_input);
}

TEST(PlanCommand, PrintsATableAndASummary) {
  const Outcome outcome = Plan(Claim("c") + Pod("a", "c") + Pod("b", ""));
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.out,
            "NAME   STATUS  NODE  DEVICES\n"
            "pod/a  Placed  n1    gpu-0\n"
            "pod/b  Placed  n1    <none>\n");
  EXPECT_EQ(outcome.err, "2 pods: 2 newly placed\n");
}

TEST(PlanCommand, SaysWhyInTheLastColumn) {
  const Outcome outcome =
      Plan(Claim("c", "        count: 3\n        allocationMode: ExactCount\n") + Pod("a", "c") +
           Pod("b", ""));
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_EQ(outcome.out,
            "NAME   STATUS   NODE    DEVICES  REASON\n"
            "pod/a  Refused  <none>  <none>   0/1 nodes: 1 cannot allocate all claims; nearest "
            "fit: n1, short of 1 device of class gpu\n"
            "pod/b  Placed   n1      <none>\n");
  EXPECT_EQ(outcome.err, "2 pods: 1 newly placed, 1 unschedulable\n");
}

TEST(PlanCommand, ExplainsOnRequest) {
  const Outcome outcome = Plan(Pod("a", "missing"), {"--explain"});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("\n\nPod default/a is pending"), HasSubstr("missing")));
}

TEST(PlanCommand, NamespacesAreShownWhenThereAreSeveral) {
  const std::string yaml = Pod("a", "") + Pod("b", "", "", "team");
  EXPECT_THAT(Plan(yaml).out, StartsWith("NAMESPACE  NAME   STATUS  NODE  DEVICES\n"
                                         "default    pod/a  Placed  n1    <none>\n"
                                         "team       pod/b  Placed  n1    <none>\n"));
  EXPECT_THAT(Plan(yaml, {"-n", "team"}).out, Not(HasSubstr("pod/a")));
  EXPECT_THAT(Plan(yaml, {"-n", "team", "-A"}).out, HasSubstr("pod/a"));
}

TEST(PlanCommand, OnlyWhatIsShownIsJudged) {
  const std::string yaml = Pod("a", "none") + Pod("b", "", "", "team");
  EXPECT_EQ(Plan(yaml).code, kExitFindings);
  EXPECT_EQ(Plan(yaml, {"-n", "team"}).code, kExitOk);
}

TEST(PlanCommand, ObjectsWithoutANamespaceAreInTheGivenOne) {
  const std::string pod =
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: "
      "i}]}\n";
  EXPECT_THAT(Plan(pod, {"-n", "team"}).out, HasSubstr("team       pod/a"));
}

TEST(PlanCommand, WideHasARowPerDeviceAndWhatThereWas) {
  const Outcome outcome =
      Plan(Claim("c", "        capacity: {requests: {memory: 10Gi}}\n") + Pod("a", "c") +
               Pod("old", "", "  nodeName: n1\nstatus: {phase: Running}\n"),
           {"-o", "wide"});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("NAME     STATUS    NODE  CLAIM   REQUEST  DEVICE"),
                    HasSubstr("pod/a    Placed    n1    c       gpu      gpu.example.com/n1/gpu-1"),
                    HasSubstr("memory=10Gi"), HasSubstr("pod/old  Existing  n1    <none>")));
  EXPECT_THAT(Plan(Pod("old", "", "  nodeName: n1\nstatus: {phase: Running}\n")).out, "");
}

TEST(PlanCommand, HeadersCanBeLeftAway) {
  EXPECT_EQ(Plan(Pod("a", ""), {"--no-headers"}).out, "pod/a  Placed  n1  <none>\n");
}

TEST(PlanCommand, NamesAreThoseOfWhatWasPlaced) {
  EXPECT_EQ(Plan(Claim("c") + Claim("d") + Pod("a", "c") + Pod("x", "none"), {"-o", "name"}).out,
            "pod/a\nresourceclaim.resource.k8s.io/d\n");
}

TEST(PlanCommand, ItsObjectsCanBePlannedAgain) {
  const std::string yaml = Claim("c") + Claim("d") + Pod("a", "c") + Pod("x", "none");
  const Outcome first = Plan(yaml, {"-o", "objects"});
  EXPECT_EQ(first.code, kExitFindings);
  const Outcome second = RunLine({"plan", "-f", "-", "-o", "objects"}, {.in = first.out});
  EXPECT_EQ(second.code, kExitFindings) << second.err;
  EXPECT_EQ(second.out, first.out);
}

TEST(PlanCommand, ForProgramsItIsThePlan) {
  const std::string yaml =
      Claim("c") + Claim("d") + Pod("a", "c") + Pod("x", "", "  nodeSelector: {disk: fast}\n");
  const Outcome outcome = Plan(yaml, {"-o", "json"});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.out,
              AllOf(StartsWith("{\n  \"assumptions\": [],\n"), HasSubstr("\"state\": \"Placed\""),
                    HasSubstr("\"node\": \"n1\""), HasSubstr("\"device\": \"gpu-0\""),
                    HasSubstr("\"code\": \"node_affinity\""), HasSubstr("\"pending\": 1"),
                    Not(HasSubstr("explanation")), Not(HasSubstr("ResourceSlice"))));
  const Outcome explained = Plan(yaml, {"-o", "json", "--explain"});
  EXPECT_THAT(explained.out, AllOf(HasSubstr("\"explanation\": {"), HasSubstr("\"cures\": ["),
                                   HasSubstr("remove the pod's node selector")));
  EXPECT_THAT(Plan(yaml, {"-o", "yaml"}).out, HasSubstr("\noutcomes:\n- kind: Pod\n"));
}

TEST(PlanCommand, ANamespaceThatIsNotThereIsAnError) {
  const Outcome outcome = Plan(Pod("a", ""), {"-n", "nosuch"});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("namespace \"nosuch\" not found"), HasSubstr("there is default")));
}

// It would make pods for ever.
TEST(PlanCommand, AWorkloadThatDoesNotSelectItsPodsIsAnError) {
  const Outcome outcome = Plan(
      "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  selector: "
      "{matchLabels: {app: x}}\n  template:\n    metadata: {labels: {app: other}}\n    spec: "
      "{containers: [{name: c, image: x}]}\n");
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("`selector` does not match template `labels`"));
}

TEST(PlanCommand, WhatAQuotaHasNoRoomForIsRefused) {
  const Outcome outcome =
      Plan(Pod("a", "") + Pod("b", "") +
           "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few, namespace: "
           "default}\nspec: {hard: {pods: \"1\"}}\n");
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.out, HasSubstr("pod/b  Refused  <none>  <none>   exceeded quota: few"));
}

TEST(PlanCommand, TheSameInputGivesTheSameText) {
  const std::string yaml = Claim("c") + Pod("a", "c") + Pod("b", "");
  EXPECT_EQ(Plan(yaml, {"-o", "objects"}).out, Plan(yaml, {"-o", "objects"}).out);
}

TEST(PlanCommand, InvalidObjectsAreReportedAsValidateDoes) {
  const Outcome outcome = Plan(Claim("c", "        count: -1\n"));
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("<stdin>:"), HasSubstr("ResourceClaim default/c"),
                                 HasSubstr("spec.devices.requests[0].exactly.count")));
}

TEST(PlanCommand, UnknownFieldsAreErrorsOnlyIfStrict) {
  const std::string yaml = Pod("a", "", "  nodenam: n1\n");
  EXPECT_EQ(Plan(yaml).code, kExitOk);
  EXPECT_THAT(Plan(yaml).err, HasSubstr("warning"));
  EXPECT_EQ(Plan(yaml, {"--strict"}).code, kExitUsage);
}

TEST(PlanCommand, OtherKindsAreNotedInOneLine) {
  const std::string widget = "---\napiVersion: example.com/v1\nkind: Widget\nmetadata: {name: s}\n";
  const Outcome outcome = Plan(Pod("a", "") + widget + widget);
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_THAT(outcome.err,
              HasSubstr("note: skipped 2 objects of a kind that dray does not check: Widget\n"));
}

// The scheduler has something to say of that; validate would call it an error.
TEST(PlanCommand, WhatDoesNotFitTogetherIsForThePlanToTell) {
  const Outcome outcome = Plan(Claim("c", "        selectors: []\n") + Pod("a", "nothing"));
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.out, HasSubstr("pod/a    Refused"));
}

TEST(PlanCommand, AnObjectThatIsThereTwiceIsAnError) {
  const Outcome outcome = Plan(Pod("a", "") + Pod("a", ""));
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("Pod default/a"));
}

TEST(PlanCommand, TakesASchedulersConfiguration) {
  const TempFolder folder;
  const std::string config =
      folder.Write("config.yaml",
                   "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                   "percentageOfNodesToScore: 5\nprofiles:\n- schedulerName: mine\n");
  const std::string pod = Pod("a", "", "  schedulerName: mine\n");
  EXPECT_EQ(Plan(pod).code, kExitFindings);
  const Outcome outcome = Plan(pod, {"--config", config});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_THAT(outcome.err, HasSubstr("percentageOfNodesToScore: does not apply"));
  const Outcome bad = Plan(pod, {"--config", folder.Write("bad.yaml", "kind: Pod\n")});
  EXPECT_EQ(bad.code, kExitUsage);
  EXPECT_THAT(bad.err, HasSubstr("--config"));
  EXPECT_EQ(Plan(pod, {"--config", folder.path() + "/none.yaml"}).code, kExitUsage);
}

TEST(PlanCommand, ColoursAreForTerminals) {
  EXPECT_THAT(Plan(Pod("a", "")).out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(Plan(Pod("a", ""), {}, {.terminal = true}).out, HasSubstr("\x1b[1;32mPlaced"));
  EXPECT_THAT(Plan(Pod("a", ""), {"--color", "always"}).out, HasSubstr("\x1b[1;32mPlaced"));
}

TEST(PlanCommand, WrongFlagsAreNamed) {
  EXPECT_THAT(RunLine({"plan"}).err, HasSubstr("name files with -f"));
  EXPECT_EQ(RunLine({"plan"}).code, kExitUsage);
  EXPECT_THAT(Plan("", {"--policy", "worst-fit"}).err, HasSubstr("worst-fit"));
  EXPECT_THAT(Plan("", {"--feature-gates", "DRANothing=true"}).err, HasSubstr("DRANothing"));
  EXPECT_THAT(Plan("", {"-o", "xml"}).err, HasSubstr("xml"));
  EXPECT_THAT(RunLine({"plan", "pods.yaml"}).err, HasSubstr("as in -f pods.yaml"));
  EXPECT_EQ(RunLine({"plan", "-f", "/nonexistent.yaml"}).code, kExitUsage);
}

}  // namespace
}  // namespace dray::cli
