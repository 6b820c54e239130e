// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "container/internal/log_writer.h"
#include "container/log_format.h"
#include "container/log_reader.h"
#include "files/files.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"
#include "testing/status_matchers.h"

namespace dray::container {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using internal::LogWriter;
using ::testing::ElementsAre;
using ::testing::SizeIs;

const base::Time kTime = base::Time::FromUnix(1'700'000'000, 5);

TEST(LogEncoder, WritesTheLinesOfCri) {
  LogEncoder out(LogStream::kOut);
  LogEncoder err(LogStream::kErr);
  std::string text;
  out.Add("one\ntw", kTime, text);
  err.Add("\n", kTime, text);
  out.Add("o\nlast", kTime, text);
  out.Finish(kTime, text);
  err.Finish(kTime, text);
  EXPECT_EQ(text,
            "2023-11-14T22:13:20.000000005Z stdout F one\n"
            "2023-11-14T22:13:20.000000005Z stderr F \n"
            "2023-11-14T22:13:20.000000005Z stdout F two\n"
            "2023-11-14T22:13:20.000000005Z stdout F last\n");
}

// However the bytes come, the same text comes out of the log as went into it.
TEST(LogEncoder, LosesNothingWhateverThePieces) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::string written;
    for (int i = 0; i < 20; ++i) {
      // Around the bound, too.
      const std::size_t size =
          random() % 3 == 0 ? kLongestLogText - 2 + random() % 5 : random() % 40;
      written += std::string(size, static_cast<char>('a' + i)) + "\n";
    }
    LogEncoder encoder(LogStream::kOut);
    std::string log;
    for (std::size_t at = 0; at < written.size();) {
      const std::size_t n = std::min<std::size_t>(1 + random() % 20'000, written.size() - at);
      encoder.Add(std::string_view(written).substr(at, n), kTime, log);
      at += n;
    }
    encoder.Finish(kTime, log);
    LogSelector selector({});
    std::string shown;
    for (std::size_t at = 0; at < log.size();) {
      const std::size_t end = log.find('\n', at);
      ASSERT_LE(end - at, kLongestLogText + 60);
      const auto line = ParseLogLine(std::string_view(log).substr(at, end - at));
      ASSERT_THAT(line, IsOk());
      selector.Add(*line, shown);
      at = end + 1;
    }
    ASSERT_EQ(shown, written);
  }
}

TEST(ParseLogLine, WhatIsNoLineIsRefused) {
  for (const char* text : {"", "x", "2023-11-14T22:13:20Z", "2023-11-14T22:13:20Z stdout",
                           "2023-11-14T22:13:20Z stdout F", "2023-11-14T22:13:20Z other F x",
                           "2023-11-14T22:13:20Z stdout X x", "yesterday stdout F x"}) {
    EXPECT_FALSE(ParseLogLine(text).ok()) << text;
  }
  const auto line = ParseLogLine("2016-10-06T00:17:09.669794202Z stderr P:tag two words");
  ASSERT_THAT(line, IsOk());
  EXPECT_EQ(line->text, "two words");
  EXPECT_TRUE(line->partial);
  EXPECT_EQ(line->stream, LogStream::kErr);
  EXPECT_EQ(line->time.nanos(), 669794202);
}

class LogFilesTest : public ::testing::Test {
 protected:
  std::string path() const { return folder_ / "main/0.log"; }
  // A line per number, a second apart.
  void Write(LogWriter& writer, int first, int last) {
    for (int i = first; i <= last; ++i) {
      std::string text;
      LogEncoder encoder(i % 2 == 0 ? LogStream::kOut : LogStream::kErr);
      clock_.SetNow(kTime + std::chrono::seconds(i));
      encoder.Add(fmt::format("line {}\n", i), clock_.Now(), text);
      writer.Write(text);
    }
  }
  static std::string Lines(int first, int last) {
    std::string text;
    for (int i = first; i <= last; ++i) text += fmt::format("line {}\n", i);
    return text;
  }
  base::ManualClock clock_{kTime};
  files::TemporaryFolder folder_;
};

TEST_F(LogFilesTest, IsPutAsideBySizeAndReadAsOne) {
  LogWriter writer({.path = path(), .max_bytes = 500, .max_files = 3}, clock_);
  ASSERT_THAT(writer.Open(), IsOk());
  Write(writer, 1, 25);
  EXPECT_THAT(LogFilesOf(path()), SizeIs(3));
  EXPECT_THAT(ReadLog(path(), {}), IsOkAndHolds(Lines(1, 25)));
  // The oldest go.
  Write(writer, 26, 100);
  EXPECT_THAT(LogFilesOf(path()), SizeIs(3));
  const auto all = ReadLog(path(), {});
  ASSERT_THAT(all, IsOk());
  EXPECT_TRUE(all->ends_with(Lines(90, 100)));
  EXPECT_EQ(*all, Lines(101 - static_cast<int>(std::ranges::count(*all, '\n')), 100));
}

TEST_F(LogFilesTest, ASecondAtATimeIsEnoughForManyFiles) {
  LogWriter writer({.path = path(), .max_bytes = 60, .max_files = 50}, clock_);
  ASSERT_THAT(writer.Open(), IsOk());
  std::string want;
  for (int i = 0; i < 20; ++i) {
    std::string text;
    LogEncoder(LogStream::kOut).Add(fmt::format("{}\n", i), kTime, text);
    writer.Write(text);  // the clock stands still
    want += fmt::format("{}\n", i);
  }
  EXPECT_THAT(LogFilesOf(path()), SizeIs(20));
  EXPECT_THAT(ReadLog(path(), {}), IsOkAndHolds(want));
}

TEST_F(LogFilesTest, ShowsWhatIsAskedFor) {
  LogWriter writer({.path = path(), .max_bytes = 500, .max_files = 9}, clock_);
  ASSERT_THAT(writer.Open(), IsOk());
  Write(writer, 1, 30);
  for (const int n : {1, 7, 8, 9, 10, 11, 29, 30}) {
    EXPECT_THAT(ReadLog(path(), {.tail_lines = n}), IsOkAndHolds(Lines(31 - n, 30))) << n;
  }
  EXPECT_THAT(ReadLog(path(), {.tail_lines = 0}), IsOkAndHolds(""));
  EXPECT_THAT(ReadLog(path(), {.tail_lines = 1000}), IsOkAndHolds(Lines(1, 30)));
  EXPECT_THAT(ReadLog(path(), {.since = kTime + std::chrono::seconds(28)}),
              IsOkAndHolds(Lines(28, 30)));
  EXPECT_THAT(ReadLog(path(), {.tail_lines = 2, .since = kTime + std::chrono::seconds(5)}),
              IsOkAndHolds(Lines(29, 30)));
  EXPECT_THAT(ReadLog(path(), {.limit_bytes = 10}), IsOkAndHolds("line 1\nlin"));
  EXPECT_THAT(ReadLog(path(), {.limit_bytes = 0}), IsOkAndHolds(""));
  EXPECT_THAT(ReadLog(path(), {.tail_lines = 1, .timestamps = true}),
              IsOkAndHolds("2023-11-14T22:13:50.000000005Z line 30\n"));
  EXPECT_THAT(ReadLog(path(), {.tail_lines = 3, .stream = LogStream::kErr}),
              IsOkAndHolds("line 29\n"));
  EXPECT_THAT(ReadLog(folder_ / "none/0.log", {}), IsOkAndHolds(""));
}

TEST_F(LogFilesTest, FollowsFromFileToFile) {
  LogReader reader(path(), {});
  std::string shown;
  EXPECT_THAT(reader.Read(shown), IsOkAndHolds(false));  // nobody has written yet
  LogWriter writer({.path = path(), .max_bytes = 500, .max_files = 50}, clock_);
  ASSERT_THAT(writer.Open(), IsOk());
  std::mt19937 random(3);
  for (int next = 1; next <= 200;) {
    const int last = std::min<int>(200, next + static_cast<int>(random() % 30));
    Write(writer, next, last);
    next = last + 1;
    while (true) {
      const auto more = reader.Read(shown, 1 + random() % 100);
      ASSERT_THAT(more, IsOk());
      if (!*more) break;
    }
    ASSERT_EQ(shown, Lines(1, last));
  }
}

TEST_F(LogFilesTest, AFollowerThatSleptGoesOnWithTheOldestThatIsLeft) {
  LogWriter writer({.path = path(), .max_bytes = 200, .max_files = 2}, clock_);
  ASSERT_THAT(writer.Open(), IsOk());
  Write(writer, 1, 2);
  LogReader reader(path(), {});
  std::string shown;
  ASSERT_THAT(reader.Read(shown), IsOkAndHolds(false));
  Write(writer, 3, 60);
  const std::string left = *ReadLog(path(), {});
  ASSERT_THAT(reader.Read(shown, 1 << 20), IsOkAndHolds(false));
  // What it held open, and what is there now.
  EXPECT_TRUE(shown.starts_with(Lines(1, 2)));
  EXPECT_TRUE(shown.ends_with(left)) << shown;
}

TEST_F(LogFilesTest, ATornLineIsPassedOver) {
  ASSERT_THAT(files::MakeFolder(folder_ / "main"), IsOk());
  ASSERT_THAT(files::WriteWhole(path(),
                                "2023-11-14T22:13:20Z stdout F one\n2023-11-14T22:1\n"
                                "2023-11-14T22:13:21Z stdout F two\n2023-11"),
              IsOk());
  EXPECT_THAT(ReadLog(path(), {}), IsOkAndHolds("one\ntwo\n"));
}

}  // namespace
}  // namespace dray::container
