// SPDX-License-Identifier: Apache-2.0
#include "cli/source_files.h"

#include <sstream>
#include <string>
#include <vector>

#include "cli/cli_test_support.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dray::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Sources Load(const std::vector<std::string>& names, const SourceOptions& options = {},
             const std::string& in = "") {
  std::istringstream stream(in);
  return LoadSources(names, stream, options);
}

std::vector<std::string> Paths(const Sources& sources) {
  std::vector<std::string> paths;
  for (const SourceFile& file : sources.files) paths.push_back(file.path);
  return paths;
}

TEST(SourceFiles, AFolderGivesItsManifestsInTheOrderOfTheirNames) {
  const TempFolder folder;
  const std::string b = folder.Write("b.yml", "b");
  const std::string a = folder.Write("a.yaml", "a");
  const std::string c = folder.Write("c.json", "c");
  folder.Write("notes.txt", "not read");
  folder.Write("below/d.yaml", "not read");
  EXPECT_THAT(Paths(Load({folder.path()})), ElementsAre(a, b, c));
}

TEST(SourceFiles, SubfoldersAreReadWhenRecursive) {
  const TempFolder folder;
  const std::string deep = folder.Write("below/far/d.yaml", "d");
  const std::string top = folder.Write("z.yaml", "z");
  EXPECT_THAT(Paths(Load({folder.path()}, {.recursive = true})), ElementsAre(deep, top));
}

TEST(SourceFiles, AFolderWithoutManifestsIsAnError) {
  const TempFolder folder;
  folder.Write("below/d.yaml", "d");
  const Sources sources = Load({folder.path()});
  ASSERT_THAT(sources.errors, SizeIs(1));
  EXPECT_THAT(sources.errors[0].message, HasSubstr("no *.yaml"));
  EXPECT_EQ(sources.errors[0].hint, "use -R to read its subfolders as well");
}

TEST(SourceFiles, ANamedFileMayHaveAnyName) {
  const TempFolder folder;
  const std::string file = folder.Write("manifest.txt", "text");
  const Sources sources = Load({file});
  ASSERT_THAT(sources.files, SizeIs(1));
  EXPECT_EQ(sources.files[0].text, "text");
}

TEST(SourceFiles, AMissingFileDoesNotKeepTheOthersFromBeingRead) {
  const TempFolder folder;
  const std::string file = folder.Write("a.yaml", "a");
  const Sources sources = Load({folder.path() + "/none.yaml", file});
  EXPECT_THAT(Paths(sources), ElementsAre(file));
  ASSERT_THAT(sources.errors, SizeIs(1));
  EXPECT_EQ(sources.errors[0].message, "No such file or directory");
}

TEST(SourceFiles, AFileNamedTwiceIsReadOnce) {
  const TempFolder folder;
  const std::string file = folder.Write("a.yaml", "a");
  EXPECT_THAT(Paths(Load({folder.path(), file, file})), ElementsAre(file));
}

TEST(SourceFiles, ADashIsStandardInput) {
  const Sources sources = Load({"-", "-"}, {}, "from a pipe");
  ASSERT_THAT(sources.files, SizeIs(1));
  EXPECT_EQ(sources.files[0].path, "<stdin>");
  EXPECT_EQ(sources.files[0].text, "from a pipe");
}

TEST(SourceFiles, AByteOrderMarkIsNotPartOfTheText) {
  EXPECT_EQ(Load({"-"}, {}, "\xEF\xBB\xBFkind: Pod").files.at(0).text, "kind: Pod");
}

TEST(SourceFiles, ATooLargeFileIsAnErrorWithItsBound) {
  const TempFolder folder;
  const std::string file = folder.Write("a.yaml", std::string(11, 'a'));
  EXPECT_THAT(Load({file}, {.max_bytes = 11}).errors, IsEmpty());
  const Sources sources = Load({file}, {.max_bytes = 10});
  EXPECT_THAT(sources.files, IsEmpty());
  ASSERT_THAT(sources.errors, SizeIs(1));
  EXPECT_EQ(sources.errors[0].message, "is larger than 10 bytes");
}

TEST(SourceFiles, ALinkInACircleEnds) {
  const TempFolder folder;
  const std::string file = folder.Write("a.yaml", "a");
  std::filesystem::create_directory_symlink(folder.path(), folder.path() + "/again");
  EXPECT_THAT(Paths(Load({folder.path()}, {.recursive = true})), ElementsAre(file));
}

}  // namespace
}  // namespace dray::cli
