// SPDX-License-Identifier: Apache-2.0
#include "image/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "api/json.h"
#include "files/files.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"
#include "image/digest.h"
#include "image/internal/tar_writer.h"
#include "image/source.h"
#include "image/store.h"
#include "testing/status_matchers.h"

namespace dray::image {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kBusybox[] = "/bin/busybox";

class LayoutTest : public ::testing::Test {
 protected:
  std::string images() const { return folder_ / "images"; }
  StatusOr<StoredImage> Find(const std::string& name) {
    const auto store = Store::Open({.folder = folder_ / "store", .sources = {images()}});
    if (!store.ok()) return store.status();
    return (*store)->Find(name);
  }
  files::TemporaryFolder folder_;
};

TEST_F(LayoutTest, AStaticProgramBecomesAnImageWithLinks) {
  if (::access(kBusybox, X_OK) != 0) GTEST_SKIP() << "busybox-static is not installed";
  const auto written =
      BuildImage({.images = images(),
                  .name = "tools",
                  .rootfs = {},
                  .binary = kBusybox,
                  .links = {{"/bin/sh", "busybox"}, {"/usr/bin/env", "/bin/busybox"}},
                  .config = {.env = {"PATH=/bin:/usr/bin"}}});
  ASSERT_THAT(written, IsOk());
  EXPECT_EQ(written->folder, images() + "/tools_latest");
  const auto image = Find("tools");
  ASSERT_THAT(image, IsOk());
  EXPECT_THAT(image->config.entrypoint, ElementsAre("/bin/busybox"));
  EXPECT_EQ(*DigestOfFile(image->rootfs + "/bin/busybox"), *DigestOfFile(kBusybox));
  EXPECT_EQ(std::filesystem::read_symlink(image->rootfs + "/usr/bin/env"), "/bin/busybox");
}

TEST_F(LayoutTest, ADynamicProgramIsRefused) {
  EXPECT_THAT(BuildImage({.images = images(), .name = "x", .rootfs = {}, .binary = "/usr/bin/env"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("static")));
  EXPECT_THAT(BuildImage({.images = images(), .name = "x", .rootfs = {}, .binary = "/etc/passwd"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("ELF")));
  EXPECT_THAT(BuildImage({.images = images(), .name = "x"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("either")));
  // Nothing half done is left.
  EXPECT_THAT(files::NamesIn(images()), IsOkAndHolds(::testing::IsEmpty()));
}

TEST_F(LayoutTest, AnArchiveOfALayoutIsImported) {
  ASSERT_THAT(files::MakeFolder(folder_ / "rootfs"), IsOk());
  ASSERT_THAT(files::WriteWhole(folder_ / "rootfs/a", "x"), IsOk());
  const auto built = BuildImage(
      {.images = folder_ / "other", .name = "r.io/demo:2", .rootfs = folder_ / "rootfs"});
  ASSERT_THAT(built, IsOk());
  const std::string archive = folder_ / "demo.tar.gz";
  ASSERT_EQ(::system(fmt::format("tar -C {} -czf {} .", built->folder, archive).c_str()), 0);
  const auto imported = ImportImages(archive, images());
  ASSERT_THAT(imported, IsOk());
  ASSERT_THAT(*imported, SizeIs(1));
  EXPECT_EQ(imported->front().name, "r.io/demo:2");
  EXPECT_EQ(imported->front().digest, built->digest);
  EXPECT_EQ(imported->front().id, built->id);
  EXPECT_THAT(Find("r.io/demo:2"), IsOk());
  // Under another name, from the layout.
  ASSERT_THAT(ImportImages(built->folder, images(), "mine"), IsOk());
  EXPECT_THAT(Find("mine"), IsOk());
  EXPECT_THAT(files::NamesIn(images()), IsOkAndHolds(ElementsAre("mine_latest", "r.io_demo_2")));
}

TEST_F(LayoutTest, WhatDockerSavesIsImported) {
  const std::string layer = folder_ / "layer.tar";
  {
    const auto tar = internal::TarWriter::Create(layer);
    ASSERT_THAT(tar, IsOk());
    ASSERT_THAT((*tar)->AddBytes("hello", "docker", 0644), IsOk());
    ASSERT_THAT((*tar)->Finish(), IsOk());
  }
  const std::string config = fmt::format(
      R"({{"architecture":"{}","os":"linux","config":{{"Cmd":["/hello"],"Entrypoint":null}},"rootfs":{{"type":"layers","diff_ids":["{}"]}}}})",
      Architecture(), *DigestOfFile(layer));
  const std::string archive = folder_ / "saved.tar";
  {
    const auto tar = internal::TarWriter::Create(archive);
    ASSERT_THAT(tar, IsOk());
    ASSERT_THAT((*tar)->AddFile("abc/layer.tar", layer, 0644), IsOk());
    ASSERT_THAT((*tar)->AddBytes("config.json", config, 0644), IsOk());
    ASSERT_THAT(
        (*tar)->AddBytes(
            "manifest.json",
            R"([{"Config":"config.json","RepoTags":["hello:1"],"Layers":["abc/layer.tar"]}])",
            0644),
        IsOk());
    ASSERT_THAT((*tar)->Finish(), IsOk());
  }
  ASSERT_THAT(ImportImages(archive, images()), IsOk());
  const auto image = Find("hello:1");
  ASSERT_THAT(image, IsOk());
  EXPECT_THAT(files::ReadWhole(image->rootfs + "/hello"), IsOkAndHolds("docker"));
  EXPECT_THAT(image->config.cmd, ElementsAre("/hello"));
  // As it is, in the folder of images.
  ASSERT_THAT(files::RemoveTree(images()), IsOk());
  ASSERT_THAT(files::MakeFolder(images()), IsOk());
  std::filesystem::copy_file(archive, images() + "/saved.tar");
  EXPECT_THAT(Find("hello:1"), IsOk());
}

TEST_F(LayoutTest, WhatCannotBeUnpackedIsNotImported) {
  const std::string layer = folder_ / "layer.tar";
  {
    const auto tar = internal::TarWriter::Create(layer);
    ASSERT_THAT(tar, IsOk());
    ASSERT_THAT((*tar)->AddBytes("../evil", "x", 0644), IsOk());
    ASSERT_THAT((*tar)->Finish(), IsOk());
  }
  const std::string config =
      fmt::format(R"({{"os":"linux","rootfs":{{"diff_ids":["{}"]}}}})", *DigestOfFile(layer));
  const std::string archive = folder_ / "evil.tar";
  {
    const auto tar = internal::TarWriter::Create(archive);
    ASSERT_THAT(tar, IsOk());
    ASSERT_THAT((*tar)->AddFile("l", layer, 0644), IsOk());
    ASSERT_THAT((*tar)->AddBytes("c", config, 0644), IsOk());
    ASSERT_THAT((*tar)->AddBytes("manifest.json", R"([{"Config":"c","Layers":["l"]}])", 0644),
                IsOk());
    ASSERT_THAT((*tar)->Finish(), IsOk());
  }
  EXPECT_THAT(ImportImages(archive, images()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("leads out")));
  EXPECT_THAT(files::NamesIn(images()), IsOkAndHolds(::testing::IsEmpty()));
}

// The last of equal names counts, as with tar, and no other file is mistaken for it.
TEST_F(LayoutTest, AnArchiveMayHaveANameTwice) {
  const std::string layer = folder_ / "layer.tar";
  {
    const auto tar = internal::TarWriter::Create(layer);
    ASSERT_THAT(tar, IsOk());
    ASSERT_THAT((*tar)->AddBytes("hello", "twice", 0644), IsOk());
    ASSERT_THAT((*tar)->Finish(), IsOk());
  }
  const std::string config =
      fmt::format(R"({{"os":"linux","rootfs":{{"diff_ids":["{}"]}}}})", *DigestOfFile(layer));
  const std::string archive = folder_ / "twice.tar";
  {
    const auto tar = internal::TarWriter::Create(archive);
    ASSERT_THAT(tar, IsOk());
    ASSERT_THAT((*tar)->AddBytes("manifest.json", "[]", 0644), IsOk());
    ASSERT_THAT((*tar)->AddBytes("manifest.json",
                                 R"([{"Config":"c","RepoTags":["hello:2"],"Layers":["l"]}])", 0644),
                IsOk());
    ASSERT_THAT((*tar)->AddBytes("c", config, 0644), IsOk());
    ASSERT_THAT((*tar)->AddFile("l", layer, 0644), IsOk());
    ASSERT_THAT((*tar)->Finish(), IsOk());
  }
  ASSERT_THAT(ImportImages(archive, images()), IsOk());
  const auto image = Find("hello:2");
  ASSERT_THAT(image, IsOk());
  EXPECT_THAT(files::ReadWhole(image->rootfs + "/hello"), IsOkAndHolds("twice"));
}

// An index of a few bytes names a manifest as often as it likes, and another index names that one.
TEST_F(LayoutTest, DocumentsTogetherHaveBounds) {
  ASSERT_THAT(files::MakeFolder(folder_ / "l/blobs/sha256"), IsOk());
  const auto add = [&](const std::string& text) {
    const std::string digest = DigestOf(text);
    EXPECT_THAT(files::WriteWhole(folder_ / ("l/blobs/sha256/" + std::string(HexOf(digest))), text),
                IsOk());
    return digest;
  };
  const auto index_of = [](const std::string& digest, std::string_view type) {
    std::string text = R"({"manifests":[)";
    for (int i = 0; i < 100; ++i) {
      text += fmt::format(R"({}{{"mediaType":"{}","digest":"{}","size":1}})", i == 0 ? "" : ",",
                          type, digest);
    }
    return text + "]}";
  };
  const std::string config = add(R"({"os":"linux","rootfs":{"diff_ids":[]}})");
  const std::string manifest =
      add(fmt::format(R"({{"config":{{"digest":"{}","size":1}},"layers":[]}})", config));
  const std::string inner = add(index_of(manifest, "application/vnd.oci.image.manifest.v1+json"));
  ASSERT_THAT(files::WriteWhole(folder_ / "l/index.json",
                                index_of(inner, "application/vnd.oci.image.index.v1+json")),
              IsOk());
  EXPECT_THAT(
      ImageSource::Open(folder_ / "l", folder_ / "scratch", {.all_document_bytes = 1 << 20}),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("more manifests")));
}

TEST_F(LayoutTest, ImagesForOtherMachinesArePassedOver) {
  ASSERT_THAT(files::MakeFolder(folder_ / "l"), IsOk());
  ASSERT_THAT(
      files::WriteWhole(
          folder_ / "l/index.json",
          fmt::format(
              R"({{"manifests":[{{"digest":"sha256:{}","size":1,"platform":{{"os":"linux","architecture":"s390x"}}}}]}})",
              std::string(64, 'a'))),
      IsOk());
  EXPECT_THAT(ImageSource::Open(folder_ / "l", folder_ / "scratch"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no image for linux/")));
}

}  // namespace
}  // namespace dray::image
