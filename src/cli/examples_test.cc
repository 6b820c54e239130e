// SPDX-License-Identifier: Apache-2.0
//
// The manifests of examples/: those that are right pass strictly and without a word, those in
// broken/ say exactly what is in their golden files.
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

bool IsManifest(const fs::path& path) { return path.extension() == ".yaml"; }

// Every folder that holds manifests, relative to the project, but broken/; scenarios/ holds none.
std::vector<std::string> GoodFolders() {
  std::set<std::string> folders;
  if (!fs::exists(SourceFolder() / "examples")) return {};  // not run by CTest
  for (const auto& entry : fs::recursive_directory_iterator(SourceFolder() / "examples")) {
    if (!IsManifest(entry.path())) continue;
    const std::string folder =
        fs::relative(entry.path().parent_path(), SourceFolder()).generic_string();
    const bool manifests =
        !folder.starts_with("examples/broken") && !folder.starts_with("examples/scenarios");
    if (manifests) folders.insert(folder);
  }
  return {folders.begin(), folders.end()};
}

std::vector<std::string> BrokenFiles() {
  std::vector<std::string> files;
  if (!fs::exists(SourceFolder() / "examples/broken")) return {};
  const fs::path folder = SourceFolder() / "examples/broken";
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!IsManifest(entry.path())) continue;
    files.push_back(fs::relative(entry.path(), folder).replace_extension().generic_string());
  }
  std::ranges::sort(files);
  return files;
}

std::string TestName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

class GoodExampleTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoodExampleTest, PassesStrictlyWithoutAWord) {
  const Outcome outcome =
      RunLine(With({"validate", "--strict", "-f", (SourceFolder() / GetParam()).string()},
                   ExampleFlags(GetParam(), /*plans=*/false)));
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find(": 0 errors, 0 warnings"), std::string::npos) << outcome.err;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoodExampleTest);
INSTANTIATE_TEST_SUITE_P(Examples, GoodExampleTest, ::testing::ValuesIn(GoodFolders()), TestName);

TEST(Examples, FitTogether) {
  std::vector<std::string> line =
      With({"validate", "--strict"}, ExampleFlags("examples/gangs", /*plans=*/false));
  for (const std::string& folder : GoodFolders()) {
    // Its folders are the states of one object over time.
    if (folder.starts_with("examples/kep-5004-moving-a-name")) continue;
    line.push_back("-f");
    line.push_back((SourceFolder() / folder).string());
  }
  if (GoodFolders().empty()) GTEST_SKIP() << "not run by CTest";
  const Outcome outcome = RunLine(line);
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.out, "");
}

TEST(Examples, OfTwoClassesWithOneNameTheNewerIsNamed) {
  const fs::path folder = SourceFolder() / "examples/kep-5004-moving-a-name";
  if (!fs::exists(folder)) GTEST_SKIP() << "not run by CTest";
  const Outcome outcome = RunLine({"validate", "-f", (folder / "1-the-old-class").string(), "-f",
                                   (folder / "2-create-the-new-class").string()});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_NE(outcome.err.find(": 0 errors, 1 warning"), std::string::npos) << outcome.err;
}

class BrokenExampleTest : public ::testing::TestWithParam<std::string> {};

TEST_P(BrokenExampleTest, SaysWhatItsGoldenFileSays) {
  const fs::path folder = SourceFolder() / "examples/broken";
  const std::string file = (folder / (GetParam() + ".yaml")).string();
  const Outcome outcome = RunLine({"validate", "-f", file});
  std::string actual = outcome.out + outcome.err + fmt::format("exit code {}\n", outcome.code);
  // Shown as from the folder itself, wherever the project lies.
  const std::string prefix = folder.string() + "/";
  for (auto at = actual.find(prefix); at != std::string::npos; at = actual.find(prefix, at)) {
    actual.erase(at, prefix.size());
  }
  EXPECT_NE(outcome.code, kExitOk);
  ExpectGolden(folder / (GetParam() + ".expected.txt"), actual);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BrokenExampleTest);
INSTANTIATE_TEST_SUITE_P(Examples, BrokenExampleTest, ::testing::ValuesIn(BrokenFiles()), TestName);

}  // namespace
}  // namespace dray::cli
