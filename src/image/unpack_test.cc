// SPDX-License-Identifier: Apache-2.0
//
// Archives that mean harm, and whiteouts.
#include "image/unpack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "files/files.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"
#include "image/digest.h"
#include "image/internal/tar_writer.h"
#include "testing/status_matchers.h"

namespace dray::image {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using internal::TarWriter;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class UnpackTest : public ::testing::Test {
 protected:
  UnpackTest() {
    EXPECT_THAT(files::MakeFolder(folder_ / "root"), IsOk());
    EXPECT_THAT(files::WriteWhole(folder_ / "secret", "host"), IsOk());
  }

  Status Unpack(const std::function<void(TarWriter&)>& fill, Limits limits = {}) {
    const std::string path = folder_ / "layer.tar";
    const auto tar = TarWriter::Create(path);
    EXPECT_THAT(tar, IsOk());
    fill(**tar);
    EXPECT_THAT((*tar)->Finish(), IsOk());
    Budget budget(limits);
    return UnpackLayer({.path = path, .digest = {}, .diff_id = {}}, root(), budget);
  }
  std::string root() const { return folder_ / "root"; }
  StatusOr<std::string> Read(const std::string& name) {
    return files::ReadWhole(root() + "/" + name);
  }
  StatusOr<std::vector<std::string>> Names(const std::string& name = "") {
    return files::NamesIn(root() + "/" + name);
  }
  // Nothing beside the root was touched.
  void ExpectUnharmed() {
    EXPECT_THAT(files::ReadWhole(folder_ / "secret"), IsOkAndHolds("host"));
    EXPECT_THAT(files::NamesIn(folder_.path()),
                IsOkAndHolds(ElementsAre("layer.tar", "root", "secret")));
  }

  files::TemporaryFolder folder_;
};

TEST_F(UnpackTest, FilesFoldersAndLinks) {
  ASSERT_THAT(Unpack([](TarWriter& tar) {
                (void)tar.AddFolder("etc", 0750);
                (void)tar.AddBytes("./etc/a", "one", 04755);
                (void)tar.AddBytes("/deep/er/b", "two", 0600);
                (void)tar.AddLink("etc/link", "/etc/a");
                (void)tar.AddOdd('h', "hard", "etc/a");
                (void)tar.AddBytes("t\xc3\xbcr", "umlaut", 0644);
              }),
              IsOk());
  EXPECT_THAT(Names(), IsOkAndHolds(ElementsAre("deep", "etc", "hard", "t\xc3\xbcr")));
  EXPECT_THAT(Read("hard"), IsOkAndHolds("one"));
  EXPECT_THAT(Read("deep/er/b"), IsOkAndHolds("two"));
  struct stat about {};
  ASSERT_EQ(::stat((root() + "/etc").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0750u);
  ASSERT_EQ(::stat((root() + "/etc/a").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 04755u);
  EXPECT_EQ(std::filesystem::read_symlink(root() + "/etc/link"), "/etc/a");
}

TEST_F(UnpackTest, NamesThatLeadOutAreRefused) {
  for (const char* name : {"../secret", "a/../../secret", "/../secret", ".."}) {
    EXPECT_THAT(Unpack([&](TarWriter& tar) { (void)tar.AddBytes(name, "evil", 0644); }),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("leads out")));
  }
  ExpectUnharmed();
}

TEST_F(UnpackTest, LinksLeadNowhereOutside) {
  // Absolute and relative: both stay inside, as they would in the container.
  for (const std::string& target :
       {folder_.path(), std::string("../"), std::string("../../../..")}) {
    (void)files::RemoveTree(root());
    (void)files::MakeFolder(root());
    (void)Unpack([&](TarWriter& tar) {
      (void)tar.AddLink("out", target);
      (void)tar.AddBytes("out/secret", "evil", 0644);
    });
    ExpectUnharmed();
  }
  // A file through a link to a file is the file's place, not the link's target.
  (void)files::RemoveTree(root());
  (void)files::MakeFolder(root());
  ASSERT_THAT(Unpack([&](TarWriter& tar) {
                (void)tar.AddLink("x", folder_ / "secret");
                (void)tar.AddBytes("x", "mine", 0644);
              }),
              IsOk());
  EXPECT_THAT(Read("x"), IsOkAndHolds("mine"));
  ExpectUnharmed();
}

TEST_F(UnpackTest, FilesUnderALinkedFolderGoWhereItLeadsInside) {
  ASSERT_THAT(Unpack([](TarWriter& tar) {
                (void)tar.AddFolder("usr/bin");
                (void)tar.AddLink("bin", "/usr/bin");
              }),
              IsOk());
  ASSERT_THAT(Unpack([](TarWriter& tar) { (void)tar.AddBytes("bin/sh", "shell", 0755); }), IsOk());
  EXPECT_THAT(Read("usr/bin/sh"), IsOkAndHolds("shell"));
  EXPECT_TRUE(std::filesystem::is_symlink(root() + "/bin"));
}

TEST_F(UnpackTest, HardLinksToTheHostAreRefused) {
  EXPECT_THAT(Unpack([](TarWriter& tar) { (void)tar.AddOdd('h', "a", "../secret"); }),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("leads out")));
  EXPECT_THAT(Unpack([&](TarWriter& tar) { (void)tar.AddOdd('h', "a", folder_ / "secret"); }),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not there")));
  EXPECT_THAT(Unpack([&](TarWriter& tar) {
                (void)tar.AddLink("way", folder_.path());
                (void)tar.AddOdd('h', "a", "way/secret");
              }),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("refused")));
  // To itself: the file stays.
  ASSERT_THAT(Unpack([](TarWriter& tar) {
                (void)tar.AddBytes("b", "kept", 0644);
                (void)tar.AddOdd('h', "b", "b");
              }),
              IsOk());
  EXPECT_THAT(Read("b"), IsOkAndHolds("kept"));
  ExpectUnharmed();
}

TEST_F(UnpackTest, DevicesAreRefused) {
  for (const char kind : {'b', 'c'}) {
    EXPECT_THAT(Unpack([&](TarWriter& tar) { (void)tar.AddOdd(kind, "dev/null", ""); }),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("devices")));
  }
}

TEST_F(UnpackTest, ThereAreBounds) {
  EXPECT_THAT(Unpack([](TarWriter& tar) { (void)tar.AddBytes("a", std::string(1000, 'x'), 0644); },
                     {.bytes = 999}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("too large")));
  EXPECT_THAT(Unpack(
                  [](TarWriter& tar) {
                    for (int i = 0; i < 5; ++i) (void)tar.AddFolder(std::to_string(i));
                  },
                  {.entries = 4}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("too many")));
}

// Folders cost the disk as much when only the names of others speak of them.
TEST_F(UnpackTest, FoldersThatNoEntrySpeaksOfCount) {
  std::string deep;
  for (int i = 0; i < 20; ++i) deep += "d/";
  EXPECT_THAT(
      Unpack([&](TarWriter& tar) { (void)tar.AddBytes(deep + "f", "x", 0644); }, {.entries = 10}),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("too many")));
}

// So does what is in no file.
TEST_F(UnpackTest, WhatComesBehindTheEndHasBounds) {
  ASSERT_THAT(Unpack([](TarWriter& tar) { (void)tar.AddBytes("a", "x", 0644); }), IsOk());
  const std::string path = folder_ / "layer.tar";
  // 64 MiB of zeros become some 64 kB.
  ASSERT_EQ(::system(fmt::format("head -c 67108864 /dev/zero >> {0} && gzip {0}", path).c_str()),
            0);
  Budget budget({.bytes = 1 << 20, .entries = 100});
  EXPECT_THAT(
      UnpackLayer({.path = path + ".gz", .digest = {}, .diff_id = {}}, root(), budget),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("too large when it is decompressed")));
}

TEST_F(UnpackTest, WhiteoutsRemoveWhatIsBelowAndNothingElse) {
  ASSERT_THAT(Unpack([](TarWriter& tar) {
                (void)tar.AddBytes("gone", "x", 0644);
                (void)tar.AddBytes("kept", "x", 0644);
                (void)tar.AddBytes("folder/gone/deep", "x", 0644);
                (void)tar.AddBytes("opaque/old", "x", 0644);
                (void)tar.AddBytes("opaque/both/old", "x", 0644);
              }),
              IsOk());
  ASSERT_THAT(Unpack([](TarWriter& tar) {
                (void)tar.AddBytes(".wh.gone", "", 0644);
                (void)tar.AddBytes(".wh.never", "", 0644);
                (void)tar.AddBytes("folder/.wh.gone", "", 0644);
                // New ones stay, whether the marker comes before or after them.
                (void)tar.AddBytes("opaque/both/new", "y", 0644);
                (void)tar.AddBytes("opaque/.wh..wh..opq", "", 0644);
                (void)tar.AddBytes("opaque/later", "y", 0644);
                (void)tar.AddBytes("again", "y", 0644);
                (void)tar.AddBytes(".wh.again", "", 0644);
                (void)tar.AddBytes(".wh..wh.aufs", "", 0644);
              }),
              IsOk());
  EXPECT_THAT(Names(), IsOkAndHolds(ElementsAre("again", "folder", "kept", "opaque")));
  EXPECT_THAT(Names("folder"), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(Names("opaque"), IsOkAndHolds(ElementsAre("both", "later")));
  EXPECT_THAT(Names("opaque/both"), IsOkAndHolds(ElementsAre("new")));
}

TEST_F(UnpackTest, AWhiteoutDoesNotRemoveOutside) {
  for (const char* name : {".wh...", ".wh..", "../.wh.secret"}) {
    EXPECT_FALSE(Unpack([&](TarWriter& tar) { (void)tar.AddBytes(name, "", 0644); }).ok()) << name;
  }
  (void)Unpack([&](TarWriter& tar) {
    (void)tar.AddLink("out", "..");
    (void)tar.AddBytes("out/.wh.secret", "", 0644);
    (void)tar.AddBytes("out/.wh..wh..opq", "", 0644);
  });
  ExpectUnharmed();
}

TEST_F(UnpackTest, AnotherKindTakesThePlaceOfTheOld) {
  ASSERT_THAT(Unpack([](TarWriter& tar) {
                (void)tar.AddBytes("a/file", "x", 0644);
                (void)tar.AddBytes("b", "x", 0644);
              }),
              IsOk());
  ASSERT_THAT(Unpack([](TarWriter& tar) {
                (void)tar.AddBytes("a", "file now", 0644);
                (void)tar.AddFolder("b");
              }),
              IsOk());
  EXPECT_THAT(Read("a"), IsOkAndHolds("file now"));
  EXPECT_TRUE(std::filesystem::is_directory(root() + "/b"));
}

TEST_F(UnpackTest, DigestsAreChecked) {
  ASSERT_THAT(Unpack([](TarWriter& tar) { (void)tar.AddBytes("a", "x", 0644); }), IsOk());
  const std::string path = folder_ / "layer.tar";
  const std::string digest = *DigestOfFile(path);
  const std::string other = "sha256:" + std::string(64, '0');
  Budget budget({});
  EXPECT_THAT(UnpackLayer({.path = path, .digest = digest, .diff_id = digest}, root(), budget),
              IsOk());
  EXPECT_THAT(UnpackLayer({.path = path, .digest = other, .diff_id = digest}, root(), budget),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("digest")));
  EXPECT_THAT(UnpackLayer({.path = path, .digest = digest, .diff_id = other}, root(), budget),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("unpacked")));
  ASSERT_EQ(::system(("gzip -k " + path).c_str()), 0);
  EXPECT_THAT(
      UnpackLayer({.path = path + ".gz", .digest = *DigestOfFile(path + ".gz"), .diff_id = digest},
                  root(), budget),
      IsOk());
}

TEST_F(UnpackTest, WhatIsNoArchiveIsAnError) {
  ASSERT_THAT(
      files::WriteWhole(folder_ / "junk", "not a tar, but long enough" + std::string(2000, 'x')),
      IsOk());
  Budget budget({});
  EXPECT_FALSE(
      UnpackLayer({.path = folder_ / "junk", .digest = {}, .diff_id = {}}, root(), budget).ok());
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(
      UnpackLayer({.path = folder_ / "pipe", .digest = {}, .diff_id = {}}, root(), budget).ok());
}

}  // namespace
}  // namespace dray::image
