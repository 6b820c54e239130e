// SPDX-License-Identifier: Apache-2.0
#include "controllers/cron_job_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "controllers/workloads_for_test.h"

namespace dray::controllers {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CronJobTest : public ::testing::Test {
 protected:
  CronJobTest() {
    // To the beginning of a minute.
    scene_.clock().Advance(seconds(60 - scene_.clock().Now().seconds() % 60));
  }
  api::CronJob CronNamed(std::string_view name, std::string_view schedule) {
    api::CronJob cron;
    cron.metadata.namespace_ = "ns";
    cron.metadata.name = name;
    cron.spec.schedule = schedule;
    cron.spec.job_template.metadata.labels["a"] = "b";
    cron.spec.job_template.spec = JobNamed("x").spec;
    return cron;
  }
  void Settle() { scene_.Settle(controller_); }
  void Pass(std::chrono::nanoseconds time) {
    scene_.clock().Advance(time);
    Settle();
  }
  void End(const std::string& job, std::string_view how) {
    api::Job ended = scene_.Get<api::Job>(job);
    ended.status.conditions.push_back({.type = std::string(how), .status = "True"});
    ended.status.start_time = scene_.clock().Now();
    ended.status.completion_time = scene_.clock().Now();
    scene_.PutStatus(ended);
    Settle();
  }
  std::vector<std::string> Jobs() {
    std::vector<std::string> names;
    for (const api::Job& job : scene_.All<api::Job>()) names.push_back(job.metadata.name);
    return names;
  }

  Scene scene_;
  CronJobController controller_{scene_.cluster(), scene_.clock(), UtcOnly()};
};

TEST_F(CronJobTest, AJobIsMadeWhenItIsDueAndOnlyOnce) {
  scene_.Add(CronNamed("c", "*/2 * * * *"));
  Settle();
  EXPECT_THAT(Jobs(), IsEmpty());
  ASSERT_TRUE(controller_.NextDue().has_value());
  Pass(minutes(2));
  ASSERT_THAT(Jobs(), SizeIs(1));
  const api::Job job = scene_.All<api::Job>().at(0);
  EXPECT_EQ(*job.metadata.labels.Find("a"), "b");
  EXPECT_TRUE(job.metadata.name.starts_with("c-"));
  EXPECT_EQ(api::FindController(job.metadata)->kind, "CronJob");
  EXPECT_EQ(scene_.Settle(controller_), 0u);
  Pass(seconds(30));
  EXPECT_THAT(Jobs(), SizeIs(1));
  const auto status = scene_.Get<api::CronJob>("c").status;
  EXPECT_THAT(status.active, SizeIs(1));
  EXPECT_TRUE(status.last_schedule_time.has_value());
  Pass(minutes(2));
  EXPECT_THAT(Jobs(), SizeIs(2));
}

TEST_F(CronJobTest, ARestartMakesNoSecondJob) {
  scene_.Add(CronNamed("c", "* * * * *"));
  Settle();
  Pass(minutes(1));
  ASSERT_THAT(Jobs(), SizeIs(1));
  CronJobController other(scene_.cluster(), scene_.clock(), UtcOnly());
  EXPECT_EQ(scene_.Settle(other), 0u);
}

TEST_F(CronJobTest, OfMissedTimesTheLastOneIsMadeUpFor) {
  scene_.Add(CronNamed("c", "* * * * *"));
  Settle();
  Pass(minutes(10));
  EXPECT_THAT(Jobs(), SizeIs(1));
  EXPECT_EQ(scene_.Get<api::CronJob>("c").status.last_schedule_time->seconds() / 60,
            scene_.clock().Now().seconds() / 60);
}

TEST_F(CronJobTest, ManyMissedTimesAreTold) {
  scene_.Add(CronNamed("c", "* * * * *"));
  Settle();
  Pass(minutes(500));
  EXPECT_THAT(Jobs(), SizeIs(1));
  EXPECT_THAT(scene_.Events(), ::testing::Contains(HasSubstr("TooManyMissedTimes")));
}

TEST_F(CronJobTest, WhatIsTooLateIsNotMadeUpFor) {
  api::CronJob cron = CronNamed("c", "0 * * * *");
  cron.spec.starting_deadline_seconds = 30;
  scene_.Add(cron);
  Settle();
  const std::int64_t past = scene_.clock().Now().seconds() % 3600;
  Pass(seconds(3600 - past + 40));
  EXPECT_THAT(Jobs(), IsEmpty());
  Pass(seconds(3600 - 20));
  EXPECT_THAT(Jobs(), SizeIs(1));
}

// As nanoseconds, so many seconds are a time in the future.
TEST_F(CronJobTest, ADeadlineLongerThanAnybodyWaitsIsNone) {
  api::CronJob cron = CronNamed("c", "* * * * *");
  cron.spec.starting_deadline_seconds = std::numeric_limits<std::int64_t>::max();
  scene_.Add(cron);
  cron.metadata.name = "d";
  cron.spec.starting_deadline_seconds = 13'000'000'000;
  scene_.Add(cron);
  Settle();
  Pass(minutes(1));
  EXPECT_THAT(Jobs(), SizeIs(2));
}

TEST_F(CronJobTest, WhileTheLastOneRuns) {
  api::CronJob forbid = CronNamed("forbid", "* * * * *");
  forbid.spec.concurrency_policy = "Forbid";
  scene_.Add(forbid);
  Settle();
  Pass(minutes(1));
  const std::string first = Jobs().at(0);
  Pass(minutes(1));
  EXPECT_THAT(Jobs(), ElementsAre(first));
  End(first, "Complete");
  EXPECT_THAT(Jobs(), SizeIs(2));
  scene_.Delete<api::CronJob>("forbid");
  for (const std::string& job : Jobs()) scene_.Delete<api::Job>(job);

  api::CronJob replace = CronNamed("replace", "* * * * *");
  replace.spec.concurrency_policy = "Replace";
  scene_.Add(replace);
  Settle();
  Pass(minutes(1));
  const std::string before = Jobs().at(0);
  Pass(minutes(1));
  ASSERT_THAT(Jobs(), SizeIs(1));
  EXPECT_NE(Jobs().at(0), before);
}

TEST_F(CronJobTest, SuspendedMakesNone) {
  api::CronJob cron = CronNamed("c", "* * * * *");
  cron.spec.suspend = true;
  scene_.Add(cron);
  Settle();
  Pass(minutes(5));
  EXPECT_THAT(Jobs(), IsEmpty());
}

TEST_F(CronJobTest, OnlySomeThatEndedAreKept) {
  api::CronJob cron = CronNamed("c", "* * * * *");
  cron.spec.successful_jobs_history_limit = 2;
  cron.spec.failed_jobs_history_limit = 0;
  scene_.Add(cron);
  Settle();
  for (int i = 0; i < 5; ++i) {
    Pass(minutes(1));
    End(Jobs().back(), i == 2 ? "Failed" : "Complete");
  }
  EXPECT_THAT(Jobs(), SizeIs(2));
  EXPECT_TRUE(scene_.Get<api::CronJob>("c").status.last_successful_time.has_value());
}

TEST_F(CronJobTest, AZoneThatNobodyKnowsIsTold) {
  api::CronJob cron = CronNamed("c", "* * * * *");
  cron.spec.time_zone = "Europe/Berlin";  // one that this machine does not have
  scene_.Add(cron);
  Settle();
  Pass(minutes(2));
  EXPECT_THAT(Jobs(), IsEmpty());
  EXPECT_THAT(scene_.Events(), ::testing::Contains(HasSubstr("UnknownTimeZone")));
}

}  // namespace
}  // namespace dray::controllers
