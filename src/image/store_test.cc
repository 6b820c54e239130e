// SPDX-License-Identifier: Apache-2.0
#include "image/store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "files/files.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"
#include "image/layout.h"
#include "testing/status_matchers.h"

namespace dray::image {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() { Reopen(); }
  void Reopen() {
    auto store = Store::Open({.folder = folder_ / "store", .sources = {folder_ / "images"}});
    EXPECT_THAT(store, IsOk());
    store_ = *std::move(store);
  }
  WrittenImage Build(const std::string& name, const std::string& content) {
    (void)files::RemoveTree(folder_ / "rootfs");
    EXPECT_THAT(files::MakeFolder(folder_ / "rootfs/etc"), IsOk());
    EXPECT_THAT(files::WriteWhole(folder_ / "rootfs/etc/what", content), IsOk());
    auto written = BuildImage({.images = folder_ / "images",
                               .name = name,
                               .rootfs = folder_ / "rootfs",
                               .binary = {},
                               .links = {},
                               .config = {.user = "5", .env = {"A=1"}, .cmd = {"/sh"}}});
    EXPECT_THAT(written, IsOk());
    return *written;
  }
  StatusOr<std::string> WhatOf(const std::string& reference) {
    const auto image = store_->Find(reference);
    if (!image.ok()) return image.status();
    return files::ReadWhole(image->rootfs + "/etc/what");
  }

  files::TemporaryFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, FindsByNameDigestAndId) {
  const WrittenImage written = Build("demo:1", "one");
  EXPECT_EQ(written.name, "docker.io/library/demo:1");
  for (const std::string& reference :
       {std::string("demo:1"), written.name, "demo@" + written.digest, written.id}) {
    const auto image = store_->Find(reference);
    ASSERT_THAT(image, IsOk()) << reference;
    EXPECT_EQ(image->id, written.id);
    EXPECT_EQ(image->Ref(), "docker.io/library/demo@" + written.digest);
    EXPECT_EQ(image->config.user, "5");
    EXPECT_THAT(image->config.cmd, ElementsAre("/sh"));
    EXPECT_THAT(files::ReadWhole(image->rootfs + "/etc/what"), IsOkAndHolds("one"));
  }
  struct stat about {};
  ASSERT_EQ(::stat((folder_ / "store").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0700u);
}

TEST_F(StoreTest, AnImageThatIsNotThereIsNamedWithWhatThereIs) {
  (void)Build("demo:1", "one");
  EXPECT_THAT(
      store_->Find("demo"),
      StatusIs(StatusCode::kNotFound, AllOf(HasSubstr("docker.io/library/demo:latest"),
                                            HasSubstr("demo:1"), HasSubstr(folder_ / "images"))));
  EXPECT_THAT(store_->Find("Not A Name"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("Not A")));
}

TEST_F(StoreTest, ANewImageOfANameIsSeenAndTheOldOneKept) {
  const WrittenImage first = Build("demo", "one");
  EXPECT_THAT(WhatOf("demo"), IsOkAndHolds("one"));
  const WrittenImage second = Build("demo", "two, longer");
  EXPECT_NE(first.id, second.id);
  EXPECT_THAT(WhatOf("demo"), IsOkAndHolds("two, longer"));
  EXPECT_THAT(WhatOf(first.id), IsOkAndHolds("one"));
  // The same again is the same.
  EXPECT_EQ(Build("demo", "two, longer").id, second.id);
}

TEST_F(StoreTest, WhatIsUnpackedOutlivesItsSourceAndARestart) {
  (void)Build("demo", "one");
  EXPECT_THAT(WhatOf("demo"), IsOkAndHolds("one"));
  ASSERT_THAT(files::RemoveTree(folder_ / "images"), IsOk());
  ASSERT_THAT(files::MakeFolder(folder_ / "store/scratch/half"), IsOk());
  Reopen();
  EXPECT_THAT(WhatOf("demo"), IsOkAndHolds("one"));
  EXPECT_THAT(files::NamesIn(folder_ / "store/scratch"), IsOkAndHolds(::testing::IsEmpty()));
}

// A disk that is full is not full for ever.
class CollectTest : public StoreTest {
 protected:
  // As if somebody had last used it so long ago.
  void Age(const std::string& id, int minutes) {
    const std::string file = fmt::format("{}/images/{}.json", folder_ / "store", id.substr(7));
    timespec times[2] = {};
    times[0].tv_sec = times[1].tv_sec = kNow - 60 * minutes;
    ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  }
  std::string Unpacked(const std::string& name) {
    const auto image = store_->Find(name);
    EXPECT_THAT(image, IsOk());
    roots_[image->id] = image->rootfs;
    return image->id;
  }
  bool IsThere(const std::string& id) { return ::access(roots_[id].c_str(), F_OK) == 0; }
  // The disk is as full as said, and 10 percent less with each that goes.
  std::vector<std::string> Collect(int percent) {
    EXPECT_THAT(files::WriteWhole(folder_ / "mounts", mounts_), IsOk());
    const auto there = [this] {
      return std::ranges::count_if(
          roots_, [](const auto& root) { return ::access(root.second.c_str(), F_OK) == 0; });
    };
    const auto before = there();
    return store_->Collect(
        {.mounts = folder_ / "mounts",
         .percent_used = [&] { return percent - 10 * static_cast<int>(before - there()); }},
        base::Time::FromUnix(kNow));
  }

  static constexpr std::int64_t kNow = 2'000'000'000;
  std::map<std::string, std::string> roots_;
  std::string mounts_;
};

TEST_F(CollectTest, TheOldestGoWhileTheDiskIsFull) {
  for (const char* name : {"a:1", "b:1", "c:1", "d:1"}) (void)Build(name, name);
  const std::string a = Unpacked("a:1");
  const std::string b = Unpacked("b:1");
  const std::string c = Unpacked("c:1");
  const std::string d = Unpacked("d:1");
  Age(a, 10);
  Age(b, 30);
  Age(c, 20);
  Age(d, 40);
  mounts_ =
      fmt::format("1 2 0:3 / /x rw - overlay overlay rw,lowerdir={},upperdir=/u\n", roots_[d]);
  EXPECT_THAT(Collect(84), ElementsAre());
  EXPECT_TRUE(IsThere(b));
  // 90 is too much: the one that nobody has used for longest goes, but for the one in use.
  EXPECT_THAT(Collect(90), ElementsAre(b));
  EXPECT_FALSE(IsThere(b));
  EXPECT_TRUE(IsThere(a) && IsThere(c) && IsThere(d));
  EXPECT_THAT(Collect(99), ElementsAre(c, a));
  // It is unpacked again for who asks; then it is new.
  EXPECT_THAT(WhatOf("b:1"), IsOkAndHolds("b:1"));
  Age(Unpacked("b:1"), 1);
  EXPECT_THAT(Collect(99), ElementsAre());
  Reopen();
  EXPECT_THAT(WhatOf("d:1"), IsOkAndHolds("d:1"));
}

// The kernel writes blanks in paths as \\040.
TEST_F(CollectTest, WhatIsInUseStaysWhateverItsFolderIsCalled) {
  auto store = Store::Open({.folder = folder_ / "my store", .sources = {folder_ / "images"}});
  ASSERT_THAT(store, IsOk());
  (void)Build("a:1", "a");
  const auto image = (*store)->Find("a:1");
  ASSERT_THAT(image, IsOk());
  std::string lower = image->rootfs;
  lower.replace(lower.find(' '), 1, "\\040");
  ASSERT_THAT(
      files::WriteWhole(folder_ / "mounts",
                        fmt::format("1 2 0:3 / /x rw - overlay overlay rw,lowerdir={}\n", lower)),
      IsOk());
  // Long after anybody has asked for it.
  EXPECT_THAT((*store)->Collect({.mounts = folder_ / "mounts", .percent_used = [] { return 99; }},
                                base::Time::FromUnix(std::int64_t{1} << 33)),
              ElementsAre());
  EXPECT_EQ(::access(image->rootfs.c_str(), F_OK), 0);
}

TEST_F(CollectTest, WhoAsksForAnImageHasUsedIt) {
  (void)Build("a:1", "a");
  const std::string a = Unpacked("a:1");
  Age(a, 60);
  // By the clock of the machine, which is before that of the test: but not 60 minutes.
  EXPECT_THAT(store_->Find(a), IsOk());
  struct stat about {};
  const std::string file = fmt::format("{}/images/{}.json", folder_ / "store", a.substr(7));
  ASSERT_EQ(::stat(file.c_str(), &about), 0);
  EXPECT_NE(about.st_mtim.tv_sec, kNow - 3600);
}

TEST_F(CollectTest, LayersThatAnotherImageHasStay) {
  (void)Build("a:1", "same");
  ASSERT_THAT(BuildImage({.images = folder_ / "images",
                          .name = "b:1",
                          .rootfs = folder_ / "rootfs",
                          .binary = {},
                          .links = {},
                          .config = {.cmd = {"/other"}}}),
              IsOk());
  const std::string a = Unpacked("a:1");
  const std::string b = Unpacked("b:1");
  ASSERT_EQ(roots_[a], roots_[b]);
  Age(a, 10);
  Age(b, 0);
  EXPECT_THAT(Collect(90), ElementsAre(a));
  EXPECT_TRUE(IsThere(b));
  // Nobody knows what is in use: nothing goes.
  Age(b, 10);
  EXPECT_THAT(store_->Collect({.mounts = folder_ / "none", .percent_used = [] { return 99; }},
                              base::Time::FromUnix(kNow)),
              ElementsAre());
  EXPECT_THAT(Collect(90), ElementsAre(b));
  EXPECT_FALSE(IsThere(b));
}

TEST_F(StoreTest, WhatGoesWrongHereIsTriedAgain) {
  const WrittenImage written = Build("demo", "one");
  ASSERT_EQ(::system(fmt::format("tar -C {0} -cf {1}/demo.tar . && rm -r {0}", written.folder,
                                 folder_ / "images")
                         .c_str()),
            0);
  // Nothing can be made where archives are looked into.
  ASSERT_THAT(files::RemoveTree(folder_ / "store/scratch"), IsOk());
  ASSERT_THAT(files::WriteWhole(folder_ / "store/scratch", ""), IsOk());
  EXPECT_THAT(WhatOf("demo"), StatusIs(StatusCode::kNotFound, HasSubstr("cannot be used")));
  ASSERT_THAT(files::RemoveTree(folder_ / "store/scratch"), IsOk());
  EXPECT_THAT(WhatOf("demo"), IsOkAndHolds("one"));
}

TEST_F(StoreTest, ABrokenSourceIsToldAndDoesNotSpoilOthers) {
  const WrittenImage good = Build("good", "one");
  const WrittenImage bad = Build("bad", "two");
  // A byte of a layer is another.
  const auto blobs = files::NamesIn(bad.folder + "/blobs/sha256");
  for (const std::string& name : *blobs) {
    const std::string path = bad.folder + "/blobs/sha256/" + name;
    std::string bytes = *files::ReadWhole(path);
    if (bytes.starts_with("{")) continue;
    bytes[bytes.find("two")] = 'T';
    ASSERT_THAT(files::WriteWhole(path, bytes), IsOk());
  }
  EXPECT_THAT(WhatOf("good"), IsOkAndHolds("one"));
  EXPECT_THAT(WhatOf("bad"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("digest")));
  ASSERT_THAT(files::MakeFolder(folder_ / "images/junk"), IsOk());
  ASSERT_THAT(files::WriteWhole(folder_ / "images/junk/index.json", "{"), IsOk());
  EXPECT_THAT(WhatOf("none"),
              StatusIs(StatusCode::kNotFound, HasSubstr("images/junk cannot be used")));
  EXPECT_THAT(store_->List(),
              ElementsAre(AllOf(Field(&ListedImage::path, HasSubstr("junk")),
                                Field(&ListedImage::fault, ::testing::Not(::testing::IsEmpty()))),
                          Field(&ListedImage::name, "docker.io/library/bad:latest"),
                          Field(&ListedImage::name, "docker.io/library/good:latest")));
}

}  // namespace
}  // namespace dray::image
