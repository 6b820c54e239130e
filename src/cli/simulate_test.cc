// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "api/document.h"
#include "cli/cli_test_support.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dray::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::string_view kScenario = R"(apiVersion: dray/v1alpha1
kind: Scenario
title: two of three
cluster:
  nodeGroups:
  - name: node
    count: 2
    allocatable: {cpu: "4"}
workloads:
- name: w
  count: 3
  template: {spec: {containers: [{resources: {requests: {cpu: "3"}}}]}}
)";

TEST(SimulateCommand, PrintsWhatBecameOfThePods) {
  const TempFolder folder;
  const Outcome outcome = RunLine({"simulate", folder.Write("s.yaml", kScenario)});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("two of three\n2 nodes, 0 devices; "));
  EXPECT_THAT(outcome.out, HasSubstr("CREATED   PLACED   REFUSED"));
  EXPECT_THAT(outcome.out, HasSubstr("Insufficient cpu"));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST(SimulateCommand, ReadsStandardInputAndWritesJson) {
  const Outcome outcome =
      RunLine({"simulate", "-", "-o", "json", "--seed", "9", "--policy", "best-fit"},
              {.in = std::string(kScenario)});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  std::vector<api::Diagnostic> diagnostics;
  const api::DocumentNode document = api::ParseJson(outcome.out, diagnostics);
  ASSERT_TRUE(diagnostics.empty());
  EXPECT_EQ(document.Find("seed")->value.text, "9");
  EXPECT_EQ(document.Find("policy")->value.text, "best-fit");
  EXPECT_EQ(document.Find("pods")->value.Find("placed")->value.text, "2");
}

TEST(SimulateCommand, RunsTracesBesideTheScenario) {
  const TempFolder folder;
  folder.Write("nodes.csv", "id,c,m,g\na,8000,8192,2\n");
  folder.Write("pods.csv", "id,c,m,g,s\np,1000,1024,1,500\n");
  const std::string scenario = folder.Write("s.yaml", R"(apiVersion: dray/v1alpha1
kind: Scenario
policy: fragmentation
trace:
  nodes: {file: nodes.csv, columns: {name: id, milliCPU: c, memoryMiB: m, devices: g}}
  pods: {file: pods.csv, columns: {name: id, milliCPU: c, memoryMiB: m, devices: g, share: s}}
)");
  const std::string page = folder.path() + "/out.html";
  const Outcome outcome = RunLine({"simulate", scenario, "--report", page});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 nodes, 2 devices, seed 1, policy fragmentation"));
  EXPECT_THAT(outcome.out, HasSubstr("5 pods came, 1 were refused"));
  EXPECT_THAT(ReadAll(page), StartsWith("<!doctype html>"));
  EXPECT_EQ(RunLine({"simulate", scenario, "--duration", "1h"}).code, kExitUsage);
  folder.Write("pods.csv", "id,c,m,g,s\np,1000,1024,1,x\n");
  const Outcome broken = RunLine({"simulate", scenario});
  EXPECT_EQ(broken.code, kExitUsage);
  EXPECT_THAT(broken.err,
              HasSubstr("pods.csv:2: column s: \"x\" must be a whole number from 0 to 1000"));
}

TEST(SimulateCommand, WritesThePage) {
  const TempFolder folder;
  const std::string page = folder.path() + "/out.html";
  const Outcome outcome =
      RunLine({"simulate", folder.Write("s.yaml", kScenario), "--report", page});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(ReadAll(page), StartsWith("<!doctype html>"));
  const Outcome nowhere = RunLine(
      {"simulate", folder.Write("s.yaml", kScenario), "--report", folder.path() + "/no/out.html"});
  EXPECT_EQ(nowhere.code, kExitUsage);
  EXPECT_THAT(nowhere.err, HasSubstr("cannot be written"));
}

TEST(SimulateCommand, RefusedPodsAreAFindingOnlyWhenAskedFor) {
  const RunOptions in{.in = std::string(kScenario)};
  EXPECT_EQ(RunLine({"simulate", "-", "--fail-on-refused"}, in).code, kExitFindings);
  EXPECT_EQ(RunLine({"simulate", "-"}, in).code, kExitOk);
}

TEST(SimulateCommand, ShowsProgressOnATerminalOnly) {
  std::string text(kScenario);
  text.replace(text.find("count: 3"), 8, "count: 900");
  EXPECT_THAT(RunLine({"simulate", "-"}, {.in = text, .terminal = true}).err,
              HasSubstr("] 900 pods, "));
  EXPECT_THAT(RunLine({"simulate", "-"}, {.in = text}).err, IsEmpty());
}

TEST(SimulateCommand, FaultsHaveTheirPlaceInTheFile) {
  const TempFolder folder;
  std::string text(kScenario);
  text.replace(text.find("count: 2"), 8, "count: -2");
  const std::string file = folder.Write("s.yaml", text);
  const Outcome outcome = RunLine({"simulate", file});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr(file + ":7:5: error: "));
  EXPECT_THAT(outcome.err, HasSubstr("cluster.nodeGroups[0].count: -2: must be from 0 to 1000000"));
}

TEST(SimulateCommand, ObjectsMustFollowTheApisRules) {
  std::string text(kScenario);
  text.insert(text.find("workloads:"),
              "  objects:\n  - template:\n      apiVersion: resource.k8s.io/v1\n"
              "      kind: DeviceClass\n      metadata: {name: gpu}\n"
              "      spec: {selectors: [{cel: {expression: device.drver}}]}\n");
  const Outcome outcome = RunLine({"simulate", "-"}, {.in = text});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err,
              HasSubstr("<stdin>:11:7: error: cluster.objects[0].template: DeviceClass "
                        "gpu: spec.selectors[0].cel.expression: Invalid value"));
}

TEST(SimulateCommand, ADumpIsFoundBesideTheScenario) {
  const TempFolder folder;
  folder.Write("dump.yaml",
               "apiVersion: v1\nkind: Node\nmetadata: {name: one}\n"
               "status: {allocatable: {cpu: \"8\", memory: 8Gi, pods: \"110\"}}\n");
  std::string text(kScenario);
  const std::size_t from = text.find("  nodeGroups:");
  text.replace(from, text.find("workloads:") - from, "  from: dump.yaml\n");
  const Outcome outcome = RunLine({"simulate", folder.Write("s.yaml", text)});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 nodes, 0 devices"));
  EXPECT_THAT(outcome.out, HasSubstr("3         2        1"));
  const TempFolder other;
  EXPECT_EQ(RunLine({"simulate", other.Write("s.yaml", text)}).code, kExitUsage);
}

TEST(SimulateCommand, ADumpIsNotAScenario) {
  const Outcome outcome =
      RunLine({"simulate", "-"}, {.in = "apiVersion: v1\nkind: List\nitems: []\n"});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("<stdin> contains a List, not a Scenario"));
  EXPECT_THAT(outcome.err, HasSubstr("cluster.from"));
}

TEST(SimulateCommand, SaysHowADurationIsWritten) {
  const RunOptions in{.in = std::string(kScenario)};
  EXPECT_THAT(RunLine({"simulate", "-", "--duration", "1d"}, in).err, HasSubstr("24h"));
}

// Not after a run that took an hour.
TEST(SimulateCommand, AReportThatCannotBeWrittenIsSaidAtOnce) {
  const Outcome outcome =
      RunLine({"simulate", "-", "--report", "/no/such/folder/r.html"}, {.in = "not: a scenario\n"});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("--report"));
}

TEST(SimulateCommand, WrongFlagsAreUsageErrors) {
  const RunOptions in{.in = std::string(kScenario)};
  EXPECT_EQ(RunLine({"simulate"}).code, kExitUsage);
  EXPECT_EQ(RunLine({"simulate", "/no/such/file.yaml"}).code, kExitUsage);
  EXPECT_EQ(RunLine({"simulate", "-", "--duration", "soon"}, in).code, kExitUsage);
  EXPECT_EQ(RunLine({"simulate", "-", "--policy", "worst-fit"}, in).code, kExitUsage);
  EXPECT_EQ(RunLine({"simulate", "-", "--feature-gates", "NoSuchGate=true"}, in).code, kExitUsage);
  EXPECT_EQ(RunLine({"simulate", "-", "--config", "/no/such/config.yaml"}, in).code, kExitUsage);
}

}  // namespace
}  // namespace dray::cli
