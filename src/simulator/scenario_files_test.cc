// SPDX-License-Identifier: Apache-2.0
//
// The scenarios of examples/scenarios, run, with what becomes of their pods in a golden file. The
// large ones are only read.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "simulator/cluster_builder.h"
#include "simulator/simulation.h"

namespace dray::simulator {
namespace {

namespace fs = std::filesystem;

fs::path Folder() {
  const char* source = std::getenv("DRAY_SOURCE");
  return fs::path(source == nullptr ? "." : source) / "examples/scenarios";
}

std::string ReadAll(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  if (!fs::exists(Folder())) return names;  // not run by CTest
  for (const auto& entry : fs::directory_iterator(Folder())) {
    if (entry.path().extension() == ".yaml") {
      names.push_back(entry.path().stem().string());
    }
  }
  std::ranges::sort(names);
  return names;
}

std::optional<Scenario> Read(const std::string& name, SimulationOptions& options) {
  std::vector<Fault> faults;
  std::optional<Scenario> scenario = ReadScenario(ReadAll(Folder() / (name + ".yaml")), faults);
  if (scenario) {
    const auto gates = api::FeatureGates::Parse(scenario->feature_gates, api::FeatureGates());
    EXPECT_TRUE(gates.ok());
    options.gates = *gates;
    faults = ClusterBuilder(*scenario).Check(options.gates);
  }
  for (const Fault& fault : faults) ADD_FAILURE() << name << ": " << ToString(fault);
  return scenario;
}

// Or slow: lists of 47 values on 64 devices take the allocator's bounds milliseconds for each node.
bool IsLarge(const std::string& name) { return name.starts_with("large-") || name == "perf-lists"; }

TEST(ScenarioFiles, AreAllRight) {
  for (const std::string& name : Names()) {
    SimulationOptions options;
    EXPECT_TRUE(Read(name, options)) << name;
  }
}

// The guide shows every part of the file once.
TEST(ScenarioFiles, TheOneInTheGuideRuns) {
  const std::string guide = ReadAll(Folder() / "../../docs/simulate.md");
  const std::size_t begin = guide.find("```yaml\n") + 8;
  const std::string text = guide.substr(begin, guide.find("```", begin) - begin);
  std::vector<Fault> faults;
  const std::optional<Scenario> scenario = ReadScenario(text, faults);
  ASSERT_TRUE(scenario) << ToString(faults.front());
  faults = ClusterBuilder(*scenario).Check({});
  ASSERT_TRUE(faults.empty()) << ToString(faults.front());
  const auto result = Simulate(*scenario, {}, {});
  ASSERT_TRUE(result.ok()) << base::Message(result.status());
  EXPECT_GE(result->pods.placed, 20);
}

TEST(ScenarioFiles, PodsFareAsRecorded) {
#ifndef NDEBUG
  GTEST_SKIP() << "takes too long in a build with all checks";
#endif
  std::string actual = "# scenario: created placed refused pending departed lost\n";
  for (const std::string& name : Names()) {
    if (IsLarge(name)) continue;
    SimulationOptions options;
    const std::optional<Scenario> scenario = Read(name, options);
    if (!scenario || !scenario->dump.empty()) continue;
    const auto result = Simulate(*scenario, {}, options);
    ASSERT_TRUE(result.ok()) << name << base::Message(result.status());
    const PodCounts& pods = result->pods;
    actual += fmt::format("{}: {} {} {} {} {} {}\n", name, pods.created, pods.placed, pods.refused,
                          pods.pending, pods.departed, pods.lost);
  }
  const fs::path golden = Folder() / "expected.txt";
  if (std::getenv("DRAY_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(golden, std::ios::binary) << actual;
    return;
  }
  EXPECT_EQ(actual, ReadAll(golden)) << "DRAY_UPDATE_GOLDEN=1 rewrites it";
}

}  // namespace
}  // namespace dray::simulator
