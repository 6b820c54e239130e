// SPDX-License-Identifier: Apache-2.0
//
// The manifests of examples/, planned and explained: golden files in testdata/plan, one per folder.
// DRAY_UPDATE_GOLDEN=1 rewrites them.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "cli/cli_test_support.h"
#include "cli/example_flags_for_test.h"
#include "fmt/format.h"
#include "gtest/gtest.h"

namespace dray::cli {
namespace {

namespace fs = std::filesystem;

// Below examples/, those that hold a world of their own.
std::vector<std::string> Worlds() {
  std::set<std::string> worlds;
  const fs::path examples = SourceFolder() / "examples";
  if (!fs::exists(examples)) return {};  // not run by CTest
  for (const auto& entry : fs::directory_iterator(examples)) {
    const std::string name = entry.path().filename().string();
    // Broken ones are not read; scenarios are for another command, driver is a program; the states of one object over
    // time have nothing to place; live ones are pods for the other folders.
    if (!entry.is_directory() || name == "broken" || name == "scenarios" || name == "live" ||
        name == "driver" || name == "kep-5004-moving-a-name") {
      continue;
    }
    worlds.insert(name);
  }
  return {worlds.begin(), worlds.end()};
}

class PlanExampleTest : public ::testing::TestWithParam<std::string> {};

TEST_P(PlanExampleTest, SaysWhatItsGoldenFileSays) {
  const fs::path folder = SourceFolder() / "examples" / GetParam();
  std::string text;
  for (const std::string format : {"table", "wide"}) {
    const Outcome outcome =
        RunLine(With({"plan", "-R", "-f", folder.string(), "--explain", "-o", format},
                     ExampleFlags(GetParam(), /*plans=*/true)));
    text += fmt::format("$ dray plan -R -f {} --explain -o {}\n{}{}exit code {}\n\n", GetParam(),
                        format, outcome.out, outcome.err, outcome.code);
  }
  ExpectGolden(SourceFolder() / "src/cli/testdata/plan" / (GetParam() + ".txt"), text);
}

TEST_P(PlanExampleTest, APlanOfThePlanChangesNothing) {
  const fs::path folder = SourceFolder() / "examples" / GetParam();
  const std::vector<std::string> flags = ExampleFlags(GetParam(), /*plans=*/true);
  const Outcome first =
      RunLine(With({"plan", "-R", "-f", folder.string(), "-o", "objects"}, flags));
  ASSERT_NE(first.code, kExitUsage) << first.err;
  const Outcome second =
      RunLine(With({"plan", "-f", "-", "-o", "objects"}, flags), {.in = first.out});
  EXPECT_EQ(second.out, first.out) << second.err;
  EXPECT_EQ(second.code, first.code);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PlanExampleTest);
INSTANTIATE_TEST_SUITE_P(Examples, PlanExampleTest, ::testing::ValuesIn(Worlds()),
                         [](const ::testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace dray::cli
