// SPDX-License-Identifier: Apache-2.0
#include "audit/rotating_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "testing/status_matchers.h"

namespace dray::audit {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RotatingFileTest : public ::testing::Test {
 protected:
  RotatingFileTest() {
    std::string name = fs::temp_directory_path() / "dray-audit-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ + "/audit.log";
  }
  ~RotatingFileTest() override { fs::remove_all(folder_); }

  std::unique_ptr<logs::Output> Open(std::uint64_t max_bytes, std::size_t max_backups = 0) {
    auto file = OpenRotatingFile(
        {.path = path_, .max_bytes = max_bytes, .max_backups = max_backups}, clock_);
    EXPECT_THAT(file, testing::IsOk());
    return file.ok() ? *std::move(file) : nullptr;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
  std::string Text(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string folder_;
  std::string path_;
  base::ManualClock clock_{base::Time::FromUnix(1'800'000'000)};
};

TEST_F(RotatingFileTest, GoesOnWithWhatIsThereAndIsItsOwnersAlone) {
  ASSERT_TRUE(Open(0)->Write("a\n").ok());
  ASSERT_TRUE(Open(0)->Write("b\n").ok());
  EXPECT_EQ(Text("audit.log"), "a\nb\n");
  struct stat found {};
  ASSERT_EQ(::stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

TEST_F(RotatingFileTest, IsPutAsideWhenItIsFullAndOldOnesGo) {
  const auto file = Open(8, 2);
  for (const char* line : {"one1\n", "two2\n", "three\n", "four\n"}) {
    ASSERT_TRUE(file->Write(line).ok());
    clock_.Advance(std::chrono::seconds(1));
  }
  EXPECT_THAT(Names(), ElementsAre("audit-2027-01-15T08-00-02.000.log",
                                   "audit-2027-01-15T08-00-03.000.log", "audit.log"));
  EXPECT_EQ(Text("audit-2027-01-15T08-00-02.000.log"), "two2\n");
  EXPECT_EQ(Text("audit.log"), "four\n");
}

TEST_F(RotatingFileTest, LinesStayWholeAndNoneIsLost) {
  const auto file = Open(10);
  // In one moment: the names of the files differ all the same. A line that no file has room for has
  // one of its own.
  ASSERT_TRUE(file->Write("1\n2\n3\n4\n5\n6\n7\nlonger than all\n8\n").ok());
  std::vector<std::string> names = Names();
  ASSERT_EQ(names.size(), 4u);
  EXPECT_EQ(Text("audit-2027-01-15T08-00-00.000.log"), "1\n2\n3\n4\n5\n");
  EXPECT_EQ(Text("audit-2027-01-15T08-00-00.000-1.log"), "6\n7\n");
  EXPECT_EQ(Text("audit-2027-01-15T08-00-00.000-2.log"), "longer than all\n");
  EXPECT_EQ(Text("audit.log"), "8\n");
}

TEST_F(RotatingFileTest, OnlyItsOwnOldFilesGo) {
  std::ofstream(folder_ + "/audit-notes.log") << "mine";
  std::ofstream(folder_ + "/audit-2020-01-01T00-00-00.000.txt") << "mine";
  const auto file = Open(1, 1);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(file->Write("x\n").ok());
  EXPECT_THAT(Names(), ::testing::Contains("audit-notes.log"));
  EXPECT_THAT(Names(), ::testing::Contains("audit-2020-01-01T00-00-00.000.txt"));
  EXPECT_EQ(Names().size(), 4u);
}

TEST_F(RotatingFileTest, WhoMovesItAwayFindsANewOne) {
  const auto file = Open(0);
  ASSERT_TRUE(file->Write("a\n").ok());
  fs::rename(path_, folder_ + "/moved");
  ASSERT_TRUE(file->Write("b\n").ok());
  EXPECT_EQ(Text("moved"), "a\n");
  EXPECT_EQ(Text("audit.log"), "b\n");
}

TEST_F(RotatingFileTest, AFolderThatIsNotThereIsAnError) {
  path_ = folder_ + "/none/audit.log";
  const auto file = OpenRotatingFile({.path = path_}, clock_);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(std::string(base::Message(file.status())),
            path_ + ": it cannot be opened: No such file or directory");
}

// /dev/full takes nothing, as a full disk.
TEST_F(RotatingFileTest, AFullDiskIsAnErrorOfTheWrite) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  path_ = "/dev/full";
  const auto file = Open(0);
  ASSERT_NE(file, nullptr);
  const Status status = file->Write("a\n");
  EXPECT_EQ(std::string(base::Message(status)),
            "/dev/full: it cannot be written to: No space left on device");
}

}  // namespace
}  // namespace dray::audit
