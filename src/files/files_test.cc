// SPDX-License-Identifier: Apache-2.0
#include "files/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "files/temporary_folder.h"
#include "testing/status_matchers.h"

namespace dray::files {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

unsigned ModeOf(const std::string& path) {
  struct stat about {};
  EXPECT_EQ(::stat(path.c_str(), &about), 0);
  return about.st_mode & 07777;
}

TEST(WriteWhole, IsReadAgainAndLeavesNothingBeside) {
  const TemporaryFolder folder;
  ASSERT_THAT(WriteWhole(folder / "a", "one", 0600), IsOk());
  ASSERT_THAT(WriteWhole(folder / "a", std::string("t\0wo", 4), 0644), IsOk());
  EXPECT_THAT(ReadWhole(folder / "a"), IsOkAndHolds(std::string("t\0wo", 4)));
  EXPECT_EQ(ModeOf(folder / "a"), 0644u);
  EXPECT_THAT(NamesIn(folder.path()), IsOkAndHolds(ElementsAre("a")));
}

TEST(WriteWhole, AFailureLeavesTheOldOneAndNothingBeside) {
  const TemporaryFolder folder;
  ASSERT_THAT(MakeFolder(folder / "a"), IsOk());
  EXPECT_THAT(WriteWhole(folder / "a", "x"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("directory")));
  EXPECT_THAT(NamesIn(folder.path()), IsOkAndHolds(ElementsAre("a")));
  EXPECT_THAT(WriteWhole(folder / "none/b", "x"), StatusIs(StatusCode::kNotFound, HasSubstr("b")));
}

TEST(ReadWhole, SaysWhyNot) {
  const TemporaryFolder folder;
  EXPECT_THAT(ReadWhole(folder / "a"), StatusIs(StatusCode::kNotFound, HasSubstr("cannot read")));
  ASSERT_THAT(WriteWhole(folder / "a", "12345"), IsOk());
  EXPECT_THAT(ReadWhole(folder / "a", 5), IsOkAndHolds("12345"));
  EXPECT_THAT(ReadWhole(folder / "a", 4),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("longer than 4 bytes")));
  // Nobody writes to it: a reader that waits would wait for ever.
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(ReadWhole(folder / "pipe"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not an ordinary file")));
}

TEST(ReadWholeBelow, LinksLeadNowhereElse) {
  const TemporaryFolder folder;
  ASSERT_THAT(MakeFolder(folder / "root/etc"), IsOk());
  ASSERT_THAT(WriteWhole(folder / "secret", "host"), IsOk());
  ASSERT_THAT(WriteWhole(folder / "root/etc/a", "inside"), IsOk());
  ASSERT_EQ(::symlink("/etc/a", (folder / "root/b").c_str()), 0);
  ASSERT_EQ(::symlink((folder / "secret").c_str(), (folder / "root/c").c_str()), 0);
  ASSERT_EQ(::symlink("../../secret", (folder / "root/d").c_str()), 0);
  EXPECT_THAT(ReadWholeBelow(folder / "root", "b"), IsOkAndHolds("inside"));
  for (const char* name : {"c", "d", "../secret"}) {
    EXPECT_FALSE(ReadWholeBelow(folder / "root", name).ok()) << name;
  }
}

TEST(RemoveTree, DoesNotFollowLinks) {
  const TemporaryFolder folder;
  ASSERT_THAT(MakeFolder(folder / "tree/below"), IsOk());
  ASSERT_THAT(MakeFolder(folder / "other"), IsOk());
  ASSERT_THAT(WriteWhole(folder / "other/kept", "x"), IsOk());
  ASSERT_THAT(WriteWhole(folder / "tree/below/file", "x"), IsOk());
  ASSERT_EQ(::symlink((folder / "other").c_str(), (folder / "tree/link").c_str()), 0);
  EXPECT_THAT(RemoveTree(folder / "tree"), IsOk());
  EXPECT_THAT(RemoveTree(folder / "tree"), IsOk());
  EXPECT_THAT(NamesIn(folder.path()), IsOkAndHolds(ElementsAre("other")));
  EXPECT_THAT(ReadWhole(folder / "other/kept"), IsOkAndHolds("x"));
}

// Whoever fills a folder decides how deep it is: our descriptors must not run out.
TEST(RemoveTree, OfAnyDepth) {
  const TemporaryFolder folder;
  ASSERT_THAT(MakeFolder(folder / "tree"), IsOk());
  Fd deep(::open((folder / "tree").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(::mkdirat(deep.get(), "d", 0755), 0);
    if (i % 50 == 0) {
      ASSERT_EQ(::mkdirat(deep.get(), "e", 0755), 0);
      ASSERT_TRUE(Fd(::openat(deep.get(), "f", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)).valid());
    }
    Fd next(::openat(deep.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(next.valid());
    deep = std::move(next);
  }
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 64, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const Status removed = RemoveTree(folder / "tree");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(removed, IsOk());
  EXPECT_THAT(NamesIn(folder.path()), IsOkAndHolds(IsEmpty()));
}

TEST(NamesIn, AFolderThatIsNotThereHasNone) {
  const TemporaryFolder folder;
  EXPECT_THAT(NamesIn(folder / "none"), IsOkAndHolds(IsEmpty()));
}

TEST(MakeFolder, WithItsParentsAndModeWhateverTheMaskIs) {
  const TemporaryFolder folder;
  const mode_t mask = ::umask(077);
  const Status made = MakeFolder(folder / "a/b", 0755);
  ::umask(mask);
  EXPECT_THAT(made, IsOk());
  EXPECT_EQ(ModeOf(folder / "a/b"), 0755u);
  EXPECT_THAT(MakeFolder(folder / "a/b"), IsOk());
  ASSERT_THAT(WriteWhole(folder / "f", "x"), IsOk());
  EXPECT_FALSE(MakeFolder(folder / "f").ok());
}

}  // namespace
}  // namespace dray::files
