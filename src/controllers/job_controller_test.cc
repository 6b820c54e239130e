// SPDX-License-Identifier: Apache-2.0
#include "controllers/job_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <set>

#include "controllers/job_indexes.h"
#include "controllers/workloads_for_test.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using namespace std::chrono_literals;

class JobTest : public ::testing::Test {
 protected:
  void Start() { controller_ = std::make_unique<JobController>(scene_.cluster(), scene_.clock()); }
  void SetUp() override { Start(); }
  api::JobStatus Now() { return scene_.Get<api::Job>("job").status; }
  std::vector<std::string> Active() {
    std::vector<std::string> names;
    for (const auto& pod : scene_.All<api::Pod>()) {
      if (pod.status.phase == api::kPodPending || pod.status.phase == api::kPodRunning) {
        names.push_back(pod.metadata.name);
      }
    }
    return names;
  }
  void End(const std::string& pod, std::string_view phase) {
    scene_.SetPhase(pod, phase);
    controller_->Sync();
  }
  bool Is(std::string_view condition) { return FindTrue(Now(), condition) != nullptr; }
  // With counts that a server would have set by default.
  api::Job Wanted(std::int32_t completions, std::int32_t parallelism = 1) {
    api::Job job = JobNamed("job");
    job.spec.completions = completions;
    job.spec.parallelism = parallelism;
    return job;
  }
  Scene scene_;
  std::unique_ptr<JobController> controller_;
};

TEST_F(JobTest, RunsPodsUntilEnoughHaveSucceeded) {
  scene_.Add(Wanted(3, 2));
  controller_->Sync();
  ASSERT_THAT(Active(), SizeIs(2));
  EXPECT_EQ(Now().active, 2);
  EXPECT_TRUE(Now().start_time.has_value());
  const auto pod = scene_.Get<api::Pod>(Active()[0]);
  EXPECT_THAT(pod.metadata.name, StartsWith("job-"));
  EXPECT_EQ(*pod.metadata.labels.Find("batch.kubernetes.io/job-name"), "job");
  EXPECT_THAT(pod.metadata.finalizers, ElementsAre(kJobFinalizer));
  for (int left = 3; left > 0; --left) {
    EXPECT_FALSE(Is(api::kJobComplete));
    EXPECT_THAT(Active(), SizeIs(std::min(left, 2)));
    End(Active()[0], api::kPodSucceeded);
  }
  EXPECT_TRUE(Is(api::kJobComplete));
  EXPECT_EQ(Now().succeeded, 3);
  EXPECT_EQ(Now().active, 0);
  EXPECT_TRUE(Now().completion_time.has_value());
  for (const auto& ended : scene_.All<api::Pod>()) {
    EXPECT_THAT(ended.metadata.finalizers, IsEmpty());
  }
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_EQ(controller_->NextDue(), std::nullopt);
}

TEST_F(JobTest, WithoutCompletionsOneSuccessEndsTheBeginning) {
  api::Job job = JobNamed("job");
  job.spec.parallelism = 2;
  scene_.Add(job);
  controller_->Sync();
  const auto pods = Active();
  ASSERT_THAT(pods, SizeIs(2));
  End(pods[0], api::kPodSucceeded);
  EXPECT_FALSE(Is(api::kJobComplete));
  EXPECT_THAT(Active(), SizeIs(1));
  End(pods[1], api::kPodSucceeded);
  EXPECT_TRUE(Is(api::kJobComplete));
  EXPECT_EQ(Now().succeeded, 2);
}

TEST_F(JobTest, FailuresAreReplacedLaterAndLater) {
  scene_.Add(Wanted(1));
  controller_->Sync();
  for (const auto wait : {10s, 20s, 40s}) {
    End(Active()[0], api::kPodFailed);
    EXPECT_THAT(Active(), IsEmpty());
    // The pod counts from when it was made, since it does not say when it ended.
    scene_.clock().Advance(wait - 1s);
    controller_->Sync();
    EXPECT_THAT(Active(), IsEmpty());
    scene_.clock().Advance(1s);
    controller_->Sync();
    EXPECT_THAT(Active(), SizeIs(1));
  }
  EXPECT_EQ(Now().failed, 3);
}

TEST_F(JobTest, TooManyFailuresEndIt) {
  auto job = Wanted(4, 2);
  job.spec.backoff_limit = 0;
  scene_.Add(job);
  controller_->Sync();
  End(Active()[0], api::kPodFailed);
  controller_->Sync();
  EXPECT_TRUE(Is(api::kJobFailed));
  EXPECT_EQ(FindTrue(Now(), api::kJobFailed)->reason, "BackoffLimitExceeded");
  EXPECT_THAT(Active(), IsEmpty());
  EXPECT_EQ(Now().failed, 2);  // the other one was ended with it
  EXPECT_THAT(scene_.Events(),
              Contains("BackoffLimitExceeded: Job has reached the specified backoff limit"));
  EXPECT_EQ(controller_->Sync(), 0u);
}

TEST_F(JobTest, ADeadlineEndsIt) {
  auto job = Wanted(1);
  job.spec.active_deadline_seconds = 60;
  scene_.Add(job);
  controller_->Sync();
  EXPECT_EQ(*controller_->NextDue() - scene_.clock().Monotonic(), 60s);
  scene_.clock().Advance(60s);
  controller_->Sync();
  EXPECT_EQ(FindTrue(Now(), api::kJobFailed)->reason, "DeadlineExceeded");
  EXPECT_THAT(scene_.All<api::Pod>(), IsEmpty());
}

TEST_F(JobTest, ADeadlineLongerThanAnybodyWaitsIsNone) {
  for (const std::int64_t seconds :
       {std::numeric_limits<std::int64_t>::max(), std::int64_t{13'000'000'000}}) {
    auto job = Wanted(1);
    job.metadata.name = fmt::format("j{}", seconds);
    job.spec.active_deadline_seconds = seconds;
    scene_.Add(job);
    controller_->Sync();
    scene_.clock().Advance(24h);
    controller_->Sync();
    const auto now = scene_.Get<api::Job>(job.metadata.name);
    EXPECT_EQ(FindTrue(now.status, api::kJobFailed), nullptr) << seconds;
    EXPECT_EQ(now.status.active, 1) << seconds;
  }
}

// Somebody else's pod waits meanwhile: controllers share a thread.
TEST_F(JobTest, ManyPodsComeAndGoInSeveralSteps) {
  scene_.Add(Wanted(120, 120));
  controller_->LetOthersInAfter(1);
  std::size_t before = 0;
  const auto step = [&] {
    controller_->Sync();
    const std::size_t now = Active().size();
    EXPECT_LE(std::max(now, before) - std::min(now, before), 50u);
    before = now;
  };
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(before, 120u);
  for (const std::string& pod : Active()) scene_.SetPhase(pod, api::kPodSucceeded);
  const auto held = [&] {
    return std::ranges::count_if(scene_.All<api::Pod>(),
                                 [](const api::Pod& pod) { return HasJobFinalizer(pod.metadata); });
  };
  for (auto left = held(); left > 0; left = held()) {
    controller_->Sync();
    ASSERT_LT(held(), left);
    EXPECT_LE(left - held(), 50);
  }
  for (int i = 0; i < 3; ++i) controller_->Sync();
  EXPECT_EQ(Now().succeeded, 120);
  EXPECT_TRUE(Is(api::kJobComplete));
}

TEST_F(JobTest, ManyPodsAreSuspendedInSeveralSteps) {
  scene_.Add(Wanted(120, 120));
  controller_->LetOthersInAfter(1);
  for (int i = 0; i < 10; ++i) controller_->Sync();
  auto job = scene_.Get<api::Job>("job");
  job.spec.suspend = true;
  scene_.Put(job);
  for (std::size_t left = Active().size(); left > 0; left = Active().size()) {
    controller_->Sync();
    ASSERT_LT(Active().size(), left);
    EXPECT_LE(left - Active().size(), 50u);
  }
}

TEST_F(JobTest, APodThatIsDeletedHasFailed) {
  scene_.Add(Wanted(1));
  controller_->Sync();
  scene_.Delete<api::Pod>(Active()[0]);
  controller_->Sync();
  EXPECT_EQ(Now().failed, 1);
  EXPECT_THAT(Active(), SizeIs(1));
}

TEST_F(JobTest, SuspendingTakesThePodsAwayWithoutFailures) {
  scene_.Add(Wanted(2, 2));
  controller_->Sync();
  const auto suspend = [&](bool suspended) {
    auto job = scene_.Get<api::Job>("job");
    job.spec.suspend = suspended;
    scene_.Put(job);
    controller_->Sync();
  };
  suspend(true);
  EXPECT_THAT(scene_.All<api::Pod>(), IsEmpty());
  EXPECT_TRUE(Is(api::kJobSuspended));
  EXPECT_EQ(Now().failed, 0);
  EXPECT_FALSE(Now().start_time.has_value());
  suspend(false);
  EXPECT_THAT(Active(), SizeIs(2));
  EXPECT_FALSE(Is(api::kJobSuspended));
}

TEST_F(JobTest, FewerAtATimeMeansFewerPods) {
  scene_.Add(Wanted(5, 4));
  controller_->Sync();
  auto job = scene_.Get<api::Job>("job");
  job.spec.parallelism = 1;
  scene_.Put(job);
  controller_->Sync();
  EXPECT_THAT(Active(), SizeIs(1));
  EXPECT_EQ(Now().failed, 0);
}

TEST_F(JobTest, EachIndexSucceedsOnce) {
  auto job = Wanted(3, 2);
  job.spec.completion_mode = api::kCompletionModeIndexed;
  scene_.Add(job);
  controller_->Sync();
  ASSERT_THAT(Active(), SizeIs(2));
  const auto first = scene_.Get<api::Pod>(Active()[0]);
  EXPECT_THAT(first.metadata.name, StartsWith("job-0-"));
  EXPECT_EQ(first.spec.hostname, "job-0");
  EXPECT_EQ(*first.metadata.annotations.Find(kCompletionIndex), "0");
  EXPECT_EQ(first.spec.containers[0].env[0].name, "JOB_COMPLETION_INDEX");
  End(Active()[1], api::kPodSucceeded);
  EXPECT_EQ(Now().completed_indexes, "1");
  ASSERT_THAT(Active(), SizeIs(2));
  EXPECT_THAT(Active()[1], StartsWith("job-2-"));
  End(Active()[0], api::kPodSucceeded);
  End(Active()[0], api::kPodSucceeded);
  EXPECT_EQ(Now().completed_indexes, "0-2");
  EXPECT_EQ(Now().succeeded, 3);
  EXPECT_TRUE(Is(api::kJobComplete));
}

TEST_F(JobTest, IsRemovedSomeTimeAfterItsEnd) {
  auto job = Wanted(1);
  job.spec.ttl_seconds_after_finished = 30;
  scene_.Add(job);
  controller_->Sync();
  End(Active()[0], api::kPodSucceeded);
  EXPECT_TRUE(Is(api::kJobComplete));
  EXPECT_EQ(*controller_->NextDue() - scene_.clock().Monotonic(), 30s);
  scene_.clock().Advance(30s);
  controller_->Sync();
  EXPECT_FALSE(scene_.Has<api::Job>("job"));
}

TEST_F(JobTest, PodsOfAJobThatIsGoneAreNotHeld) {
  scene_.Add(Wanted(2, 2));
  controller_->Sync();
  scene_.Delete<api::Job>("job");
  controller_->Sync();
  for (const auto& pod : scene_.All<api::Pod>()) EXPECT_THAT(pod.metadata.finalizers, IsEmpty());
}

TEST_F(JobTest, APolicyThatIsNotKnownIsRefused) {
  auto job = Wanted(1);
  job.spec.backoff_limit_per_index = 1;
  scene_.Add(job);
  controller_->Sync();
  EXPECT_THAT(scene_.All<api::Pod>(), IsEmpty());
  EXPECT_THAT(scene_.Events(),
              ElementsAre("UnsupportedField: spec.backoffLimitPerIndex is not supported: the job "
                          "does not run"));
}

TEST_F(JobTest, SomebodyElsesJobIsLeftAlone) {
  auto job = Wanted(1);
  job.spec.managed_by = "example.com/queue";
  scene_.Add(job);
  EXPECT_EQ(controller_->Sync(), 0u);
}

// Every write fails once, and the controller is new after each failure: ends are counted once all
// the same.
TEST_F(JobTest, NoEndIsCountedTwiceOrLost) {
  scene_.Add(Wanted(4, 2));
  int left_until_failure = 0;
  int step = 0;
  scene_.cluster().SetWriteHook([&](api::Verb, const api::Object&) -> Status {
    if (left_until_failure-- > 0) return {};
    left_until_failure = 1'000'000;
    return base::Unavailable("down");
  });
  for (; step < 200 && !Is(api::kJobComplete); ++step) {
    left_until_failure = step % 4;
    Start();
    controller_->Sync();
    left_until_failure = 1'000'000;
    Start();
    controller_->Sync();
    if (!Active().empty()) scene_.SetPhase(Active()[0], api::kPodSucceeded);
  }
  EXPECT_TRUE(Is(api::kJobComplete));
  EXPECT_EQ(Now().succeeded, 4);
  EXPECT_EQ(Now().failed, 0);
}

TEST(JobIndexes, AreWrittenAsRanges) {
  const std::pair<JobIndexes, std::string> cases[] = {
      {{}, ""}, {{3}, "3"}, {{1, 2}, "1,2"}, {{0, 1, 2}, "0-2"}, {{1, 3, 4, 5, 7}, "1,3-5,7"},
  };
  for (const auto& [indexes, text] : cases) {
    EXPECT_EQ(ToText(indexes), text);
    EXPECT_EQ(ParseIndexes(text, 10), indexes);
  }
  EXPECT_EQ(ParseIndexes("1,x,3-,4-5,99", 5), (JobIndexes{1, 4}));
}

// Whoever may write the status of a job could have had the server count up to there, one by one.
TEST(JobIndexes, ARangeCostsTheSameHoweverLongItIs) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  const JobIndexes all = ParseIndexes("0-2147483646,2147483640-2147483647", kMost);
  EXPECT_EQ(all.size(), kMost);
  EXPECT_EQ(ToText(all), "0-2147483646");
  EXPECT_EQ(all.NextMissing(0), kMost);
  EXPECT_EQ(ToText(ParseIndexes("5-2", kMost)), "");
  EXPECT_EQ(ToText(ParseIndexes("0-5", 0)), "");
}

TEST(JobIndexes, AreThoseOfASet) {
  base::SeededRandomSource random(7);
  for (int round = 0; round < 200; ++round) {
    JobIndexes ranges;
    std::set<std::int32_t> set;
    for (int i = 0; i < 20; ++i) {
      const auto first = static_cast<std::int32_t>(random.Next() % 40);
      const auto last = first + static_cast<std::int32_t>(random.Next() % 4);
      ranges.Insert(first, last);
      for (std::int32_t k = first; k <= last; ++k) set.insert(k);
      ASSERT_EQ(ranges.size(), std::ssize(set));
      for (std::int32_t k = 0; k < 45; ++k) {
        ASSERT_EQ(ranges.contains(k), set.contains(k)) << ToText(ranges) << " " << k;
        std::int32_t missing = k;
        while (set.contains(missing)) ++missing;
        ASSERT_EQ(ranges.NextMissing(k), missing) << ToText(ranges) << " " << k;
      }
      ASSERT_EQ(ParseIndexes(ToText(ranges), 100), ranges);
    }
  }
}

TEST_F(JobTest, WhatIsSaidOfItsCountsIsCountedOn) {
  auto job = Wanted(3, 1);
  job.spec.completion_mode = api::kCompletionModeIndexed;
  job.spec.completions = std::numeric_limits<std::int32_t>::max();
  scene_.Add(job);
  auto said = scene_.Get<api::Job>("job");
  said.status.completed_indexes = "0-2147483600";
  said.status.failed = std::numeric_limits<std::int32_t>::max();
  scene_.PutStatus(said);
  controller_->Sync();
  EXPECT_EQ(Now().completed_indexes, "0-2147483600");
  EXPECT_EQ(Now().failed, std::numeric_limits<std::int32_t>::max());
}

}  // namespace
}  // namespace dray::controllers
