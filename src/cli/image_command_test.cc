// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/cli_test_support.h"

namespace dray::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class ImageCommandTest : public ::testing::Test {
 protected:
  ImageCommandTest() {
    std::filesystem::create_directories(Path("rootfs/etc"));
    std::ofstream(Path("rootfs/etc/motd")) << "hello";
  }
  std::string Path(const std::string& name) { return folder_.path() + "/" + name; }
  Outcome Image(std::vector<std::string> args) {
    args.insert(args.begin(), "image");
    args.insert(args.end(), {"--images", Path("images")});
    return RunLine(args);
  }
  TempFolder folder_;
};

TEST_F(ImageCommandTest, BuildsImportsAndLists) {
  const Outcome built = Image(
      {"build", "--name", "demo:1", "--rootfs", Path("rootfs"), "--cmd", "sh", "--cmd", "-c"});
  EXPECT_EQ(built.code, 0) << built.err;
  EXPECT_THAT(built.out,
              AllOf(StartsWith("docker.io/library/demo:1  sha256:"), HasSubstr("demo_1")));
  const Outcome imported = Image({"import", Path("images/demo_1"), "--name", "copy"});
  EXPECT_EQ(imported.code, 0) << imported.err;
  const Outcome listed = Image({"list"});
  EXPECT_EQ(listed.code, 0);
  EXPECT_THAT(listed.out, AllOf(HasSubstr("docker.io/library/copy:latest"),
                                HasSubstr("docker.io/library/demo:1")));
}

TEST_F(ImageCommandTest, SaysWhatIsWrong) {
  EXPECT_THAT(Image({"build", "--rootfs", Path("rootfs")}).err, HasSubstr("needs a name"));
  EXPECT_THAT(Image({"build", "--name", "x"}).err,
              HasSubstr("either a folder (--rootfs) or a static program"));
  EXPECT_THAT(Image({"build", "--name", "X", "--rootfs", Path("rootfs")}).err, HasSubstr("\"X\""));
  EXPECT_THAT(Image({"build", "--name", "x", "--rootfs", Path("rootfs"), "--link", "a"}).err,
              HasSubstr("PATH=TARGET"));
  EXPECT_THAT(Image({"import"}).err, HasSubstr("archive or a layout"));
  EXPECT_THAT(Image({"import", Path("rootfs")}).err, HasSubstr("holds no image"));
  EXPECT_THAT(Image({"list", "x"}).err, HasSubstr("unexpected argument \"x\""));
  EXPECT_EQ(Image({"build"}).code, kExitUsage);
  const Outcome none = Image({"list"});
  EXPECT_EQ(none.code, 0);
  EXPECT_THAT(none.out, IsEmpty());
}

TEST_F(ImageCommandTest, AnImageThatCannotBeUsedIsTold) {
  std::filesystem::create_directories(Path("images/bad"));
  std::ofstream(Path("images/bad/index.json")) << "{";
  const Outcome listed = Image({"list"});
  EXPECT_EQ(listed.code, 1);
  EXPECT_THAT(listed.err, HasSubstr("images/bad cannot be used"));
}

}  // namespace
}  // namespace dray::cli
