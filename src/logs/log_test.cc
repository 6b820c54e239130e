// SPDX-License-Identifier: Apache-2.0
#include "logs/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "logs/output_for_test.h"

namespace dray::logs {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

class LogTest : public ::testing::Test {
 protected:
  void Open(LogOptions options) {
    log_ = std::make_unique<Log>(std::move(options), clock_, std::make_unique<StringOutput>(text_));
  }
  // What was logged; the log is over.
  std::string Text() {
    log_ = nullptr;
    return text_;
  }

  base::ManualClock clock_{base::Time::FromUnix(1'794'798'765)};
  std::string text_;
  std::unique_ptr<Log> log_;
};

TEST_F(LogTest, TellsUpToTheVerbosity) {
  Open({.verbosity = 2, .pid = 7});
  const Logger log = log_->For("scheduler");
  log.Info(0, "a");
  log.Info(2, "b", {{"pods", 3}});
  log.Info(3, "c");
  log.Warning("d");
  EXPECT_TRUE(log.Enabled(2));
  EXPECT_FALSE(log.Enabled(3));
  EXPECT_EQ(Text(),
            "I1116 03:12:45.000000       7 scheduler] \"a\"\n"
            "I1116 03:12:45.000000       7 scheduler] \"b\" pods=3\n"
            "W1116 03:12:45.000000       7 scheduler] \"d\"\n");
}

TEST_F(LogTest, OneWithoutALogSaysNothing) {
  const Logger none;
  EXPECT_FALSE(none.Enabled(0));
  none.Info(0, "a");
  none.Trace("b");
  none.Warning("c");
  none.Error("d", {{"err", "x"}});
}

TEST_F(LogTest, WhatRepeatsItselfIsToldNowAndThen) {
  Open({.limits = {.burst = 2, .every = seconds(1)}});
  const Logger log = log_->For("plane");
  for (int i = 0; i < 100; ++i) log.Warning("Same", {{"i", i}});
  for (int i = 0; i < 3; ++i) log.Info(0, "Asked for");
  log.Warning("Other");
  log_->For("client").Warning("Same");
  clock_.Advance(seconds(1));
  log.Warning("Same", {{"i", 100}});
  const LogCounts counts = log_->counts();
  EXPECT_EQ(counts.suppressed, 98u);
  EXPECT_EQ(counts.records[static_cast<std::size_t>(Level::kWarning)], 5u);
  EXPECT_EQ(counts.records[static_cast<std::size_t>(Level::kInfo)], 3u);
  EXPECT_THAT(Text(),
              HasSubstr("I1116 03:12:45.000000       0 plane] \"Asked for\"\n"
                        "I1116 03:12:45.000000       0 plane] \"Asked for\"\n"
                        "W1116 03:12:45.000000       0 plane] \"Other\"\n"
                        "W1116 03:12:45.000000       0 client] \"Same\"\n"
                        "W1116 03:12:46.000000       0 plane] \"Same\" i=100 suppressed=98\n"));
}

TEST_F(LogTest, ManyThreadsLogAtOnce) {
  Open({.format = Format::kJson, .verbosity = 1, .limits = {.burst = 50}});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      const Logger log = log_->For("a");
      for (int i = 0; i < 200; ++i) {
        log.Info(1, "Info", {{"i", i}});
        log.Warning("Warning");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const LogCounts counts = log_->counts();
  EXPECT_EQ(counts.records[0], 800u);
  EXPECT_EQ(counts.records[1] + counts.suppressed, 800u);
  EXPECT_EQ(counts.records[1], 50u);
  const std::string text = Text();
  EXPECT_EQ(std::ranges::count(text, '\n'), 850);
}

// What was dropped is told by a record of its own, once there is room.
TEST_F(LogTest, SaysThatRecordsWereDropped) {
  Open({.verbosity = 1, .writer = {.max_bytes = 60}});
  const Logger log = log_->For("a");
  for (int i = 0; i < 200; ++i) log.Info(1, "Too long for the room that there is, so to speak");
  EXPECT_EQ(log_->counts().dropped, 200u);
  log.Info(1, "short");
  EXPECT_THAT(Text(), HasSubstr("logs] \"Log records were dropped because nobody read them in "
                                "time\" count=200\n"));
}

}  // namespace
}  // namespace dray::logs
