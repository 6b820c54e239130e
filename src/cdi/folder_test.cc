// SPDX-License-Identifier: Apache-2.0
#include "cdi/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/files.h"
#include "files/temporary_folder.h"
#include "testing/status_matchers.h"

namespace dray::cdi {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Spec OneDevice(const std::string& name) {
  return {.kind = "v.com/c", .devices = {{.name = name, .container_edits = {.env = {"A=1"}}}}};
}

TEST(Folders, WhatIsSavedIsFoundUntilItIsRemoved) {
  const files::TemporaryFolder folder;
  const std::vector<std::string> folders = {folder / "etc", folder / "run"};
  EXPECT_THAT(Load(folders).Devices(), IsEmpty());
  ASSERT_THAT(SaveSpec(folders[1], "claim-1.json", OneDevice("one")), IsOk());
  ASSERT_THAT(SaveSpec(folders[1], "claim-1.json", OneDevice("uno")), IsOk());
  ASSERT_THAT(SaveSpec(folders[0], "static.yaml", OneDevice("two")), IsOk());
  EXPECT_THAT(Load(folders).Devices(), ElementsAre("v.com/c=two", "v.com/c=uno"));
  EXPECT_THAT(files::NamesIn(folders[1]), IsOkAndHolds(ElementsAre("claim-1.json")));

  struct stat about {};
  ASSERT_EQ(::stat((folders[1] + "/claim-1.json").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0644u);
  ASSERT_EQ(::stat(folders[1].c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0755u);

  EXPECT_THAT(RemoveSpec(folders[1], "claim-1.json"), IsOk());
  EXPECT_THAT(RemoveSpec(folders[1], "claim-1.json"), IsOk());
  EXPECT_THAT(Load(folders).Devices(), ElementsAre("v.com/c=two"));
}

TEST(Folders, OnlySpecFilesDirectlyInThemCount) {
  const files::TemporaryFolder folder;
  const std::string text = *WriteSpec(OneDevice("a"));
  ASSERT_THAT(files::MakeFolder(folder / "below.json"), IsOk());
  ASSERT_THAT(files::WriteWhole(folder / "below.json/x.json", text), IsOk());
  ASSERT_THAT(files::WriteWhole(folder / "a.txt", text), IsOk());
  ASSERT_THAT(files::WriteWhole(folder / ".a.json.1-2.tmp", text), IsOk());
  const std::vector<std::string> folders = {folder.path()};
  EXPECT_THAT(Load(folders).Devices(), IsEmpty());
  EXPECT_THAT(Load(folders).problems(), IsEmpty());
  // A link to a file is a file; one to nowhere is nothing; a pipe is not waited for.
  ASSERT_EQ(::symlink((folder / "a.txt").c_str(), (folder / "link.json").c_str()), 0);
  ASSERT_EQ(::symlink("/nowhere", (folder / "dangling.json").c_str()), 0);
  ASSERT_EQ(::mkfifo((folder / "pipe.json").c_str(), 0600), 0);
  EXPECT_THAT(Load(folders).Devices(), ElementsAre("v.com/c=a"));
  EXPECT_THAT(Load(folders).problems(),
              ElementsAre(::testing::Field(&FileProblem::path, folder / "pipe.json")));
}

TEST(Folders, SavingChecksTheSpecAndTheName) {
  const files::TemporaryFolder folder;
  EXPECT_THAT(SaveSpec(folder.path(), "a.json", {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("kind")));
  EXPECT_THAT(SaveSpec(folder.path(), "a.txt", OneDevice("a")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("a.txt")));
  EXPECT_THAT(SaveSpec(folder.path(), "../a.json", OneDevice("a")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("file name")));
  EXPECT_THAT(files::NamesIn(folder.path()), IsOkAndHolds(IsEmpty()));
}

}  // namespace
}  // namespace dray::cdi
