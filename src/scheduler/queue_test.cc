// SPDX-License-Identifier: Apache-2.0
#include "scheduler/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace dray::scheduler {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct PodOptions {
  std::int32_t priority = 0;
  std::string uid = "1";
  std::string label;
  std::string image;
  std::string claim;
  std::string condition;
  std::string namespace_ = "ns";
};

std::shared_ptr<const PodInfo> Named(const std::string& name, const PodOptions& options = {}) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.namespace_ = options.namespace_;
  pod->metadata.name = name;
  pod->metadata.uid = options.uid;
  if (!options.label.empty()) pod->metadata.labels["label"] = options.label;
  pod->spec.containers.push_back({.name = "main", .image = options.image});
  if (!options.claim.empty()) {
    pod->status.resource_claim_statuses.emplace().push_back(
        {.name = "claim", .resource_claim_name = options.claim});
  }
  if (!options.condition.empty()) pod->status.conditions.push_back({.type = options.condition});
  auto info = std::make_shared<PodInfo>();
  info->pod = std::move(pod);
  info->key = options.namespace_ + "/" + name;
  info->priority = options.priority;
  return info;
}

class QueueTest : public ::testing::Test {
 protected:
  void Put(const std::string& name, const PodOptions& options = {}) {
    queue_.Put(Named(name, options), false);
  }
  // The keys that come out now, all refused by "Fit".
  std::vector<std::string> TryAll() {
    std::vector<std::string> keys;
    while (auto pod = queue_.Pop()) {
      keys.push_back(pod->pod->key);
      queue_.Back(*std::move(pod), {"Fit"}, false);
    }
    return keys;
  }
  std::size_t WakeAll() {
    return queue_.WakeIf([](const QueuedPod&) { return true; });
  }
  void Advance(std::chrono::nanoseconds by) {
    clock_.Advance(by);
    queue_.Tick();
  }

  base::ManualClock clock_;
  Queue queue_{clock_, {}};
};

TEST_F(QueueTest, HighestPriorityFirstThenFirstCome) {
  Put("a");
  Put("b", {.priority = 5});
  Put("c");
  Put("d", {.priority = 5});
  Put("e", {.priority = -1});
  EXPECT_THAT(TryAll(), ElementsAre("ns/b", "ns/d", "ns/a", "ns/c", "ns/e"));
}

// Somebody's burst is not in the way of somebody else's one pod.
TEST_F(QueueTest, NamespacesTakeTurnsWithinAPriority) {
  for (const std::string name : {"1", "2", "3", "4"}) Put(name, {.namespace_ = "burst"});
  Put("5", {.namespace_ = "one"});
  Put("6", {.namespace_ = "two"});
  Put("7", {.namespace_ = "two"});
  Put("8", {.priority = 1, .namespace_ = "burst"});
  EXPECT_THAT(TryAll(), ElementsAre("burst/8", "burst/1", "one/5", "two/6", "burst/2", "two/7",
                                    "burst/3", "burst/4"));
}

TEST_F(QueueTest, AChangeDoesNotCostThePlaceInTheNamespace) {
  Put("1", {.namespace_ = "a"});
  Put("2", {.namespace_ = "a"});
  Put("3", {.namespace_ = "b"});
  Put("1", {.label = "new", .namespace_ = "a"});
  queue_.Remove("b/3");
  Put("4", {.namespace_ = "b"});
  EXPECT_THAT(TryAll(), ElementsAre("a/1", "b/4", "a/2"));
}

TEST_F(QueueTest, APriorityThatChangesCounts) {
  Put("a");
  Put("b");
  Put("b", {.priority = 1, .image = "other"});
  EXPECT_THAT(TryAll(), ElementsAre("ns/b", "ns/a"));
}

TEST_F(QueueTest, ARefusedPodIsNotTriedUntilSomethingHelps) {
  Put("a");
  EXPECT_THAT(TryAll(), ElementsAre("ns/a"));
  Advance(seconds(60));
  EXPECT_THAT(TryAll(), IsEmpty());
  EXPECT_EQ(queue_.Where("ns/a"), QueueName::kUnschedulable);
  EXPECT_EQ(queue_.WakeIf([](const QueuedPod&) { return false; }), 0U);
  EXPECT_THAT(TryAll(), IsEmpty());
  EXPECT_EQ(WakeAll(), 1U);
  EXPECT_THAT(TryAll(), ElementsAre("ns/a"));
}

TEST_F(QueueTest, HintsSeeWhoRefusedThePod) {
  Put("a");
  Put("b");
  queue_.Back(*queue_.Pop(), {"Fit", "Taints"}, false);
  queue_.Back(*queue_.Pop(), {"Taints"}, false);
  const auto by_fit = [](const QueuedPod& pod) {
    return std::ranges::find(pod.refused_by, "Fit") != pod.refused_by.end();
  };
  EXPECT_EQ(queue_.WakeIf(by_fit), 1U);
  EXPECT_EQ(queue_.Where("ns/a"), QueueName::kBackoff);
  EXPECT_EQ(queue_.Where("ns/b"), QueueName::kUnschedulable);
}

TEST_F(QueueTest, APodThatNothingWakesIsTriedAfterTheTimeout) {
  Put("a");
  TryAll();
  EXPECT_EQ(queue_.NextDue(), std::chrono::minutes(5));
  Advance(std::chrono::minutes(5) - seconds(1));
  EXPECT_THAT(TryAll(), IsEmpty());
  Advance(seconds(1));
  EXPECT_THAT(TryAll(), ElementsAre("ns/a"));
}

TEST_F(QueueTest, BackoffDoublesUpToItsMaximum) {
  Put("a");
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 6; ++i) {
    TryAll();
    WakeAll();
    EXPECT_EQ(queue_.Where("ns/a"), QueueName::kBackoff);
    const auto wait = *queue_.NextDue() - clock_.Monotonic();
    waits.push_back(std::chrono::duration_cast<seconds>(wait).count());
    Advance(wait - std::chrono::nanoseconds(1));
    EXPECT_EQ(queue_.size(QueueName::kActive), 0U);
    Advance(std::chrono::nanoseconds(1));
    EXPECT_EQ(queue_.size(QueueName::kActive), 1U);
  }
  EXPECT_THAT(waits, ElementsAre(1, 2, 4, 8, 10, 10));
}

TEST_F(QueueTest, BackoffRunsWhileThePodWaits) {
  Put("a");
  TryAll();
  Advance(seconds(1));
  WakeAll();
  EXPECT_EQ(queue_.Where("ns/a"), QueueName::kActive);
}

TEST_F(QueueTest, AnErrorBacksOffWithoutWaitingForAChange) {
  Put("a");
  Put("b");
  queue_.Back(*queue_.Pop(), {}, false);
  queue_.Back(*queue_.Pop(), {"Fit"}, true);
  EXPECT_EQ(queue_.size(QueueName::kBackoff), 2U);
  Advance(seconds(1));
  EXPECT_THAT(TryAll(), ElementsAre("ns/a", "ns/b"));
}

TEST_F(QueueTest, ARefusedPodGoesBehindItsEquals) {
  Put("a");
  TryAll();
  Put("b");
  Advance(seconds(1));
  auto b = *queue_.Pop();
  WakeAll();
  queue_.Back(std::move(b), {"Fit"}, false);
  Put("c");
  Advance(seconds(1));
  EXPECT_THAT(TryAll(), ElementsAre("ns/a", "ns/b", "ns/c"));
}

TEST_F(QueueTest, AChangeDuringACycleCountsForThePodInIt) {
  Put("a");
  auto pod = *queue_.Pop();
  EXPECT_EQ(WakeAll(), 0U);
  queue_.Back(std::move(pod), {"Fit"}, false);
  EXPECT_EQ(queue_.Where("ns/a"), QueueName::kBackoff);
  // Only once.
  Advance(seconds(1));
  TryAll();
  EXPECT_EQ(queue_.Where("ns/a"), QueueName::kUnschedulable);
}

TEST_F(QueueTest, APodInACycleIsInNoQueueAndNotHandedOutTwice) {
  Put("a");
  auto pod = *queue_.Pop();
  Put("a", {.image = "other"});
  EXPECT_FALSE(queue_.Pop().has_value());
  EXPECT_EQ(queue_.Where("ns/a"), std::nullopt);
  ASSERT_NE(queue_.Find("ns/a"), nullptr);
  queue_.Back(std::move(pod), {"Fit"}, false);
  // It changed in the cycle, and comes back as it is now.
  EXPECT_EQ(queue_.Where("ns/a"), QueueName::kBackoff);
  EXPECT_EQ(queue_.Find("ns/a")->pod->pod->spec.containers[0].image, "other");
}

TEST_F(QueueTest, OnlyAChangeThatMayHelpWakesARefusedPod) {
  struct Case {
    PodOptions changed;
    bool wakes;
  };
  const std::vector<Case> cases = {{{.condition = "PodScheduled"}, false},
                                   {{.label = "x"}, true},
                                   {{.image = "x"}, true},
                                   {{.claim = "x"}, true}};
  for (const Case& c : cases) {
    Put("a");
    TryAll();
    const auto timeout = queue_.NextDue();
    Advance(seconds(1));
    Put("a", c.changed);
    EXPECT_EQ(queue_.size(QueueName::kActive), c.wakes ? 1U : 0U);
    if (!c.wakes) {
      EXPECT_EQ(queue_.NextDue(), timeout);
    }
    queue_.Remove("ns/a");
    EXPECT_EQ(queue_.Find("ns/a"), nullptr);
  }
}

TEST_F(QueueTest, AGatedPodIsNotTriedUntilItIsPutWithoutGates) {
  queue_.Put(Named("a"), true);
  Put("b");
  EXPECT_EQ(WakeAll(), 0U);
  Advance(std::chrono::hours(1));
  EXPECT_THAT(TryAll(), ElementsAre("ns/b"));
  ASSERT_THAT(queue_.Gated(), ::testing::SizeIs(1));
  EXPECT_EQ(queue_.Gated()[0]->key, "ns/a");
  queue_.Put(Named("a"), false);
  EXPECT_EQ(queue_.size(QueueName::kGated), 0U);
  EXPECT_THAT(TryAll(), ElementsAre("ns/a"));
}

TEST_F(QueueTest, APodMayBecomeGatedAnywhere) {
  Put("active");
  queue_.Put(Named("active"), true);
  EXPECT_THAT(TryAll(), IsEmpty());
  Put("cycle");
  auto pod = *queue_.Pop();
  queue_.Put(Named("cycle"), true);
  queue_.Back(std::move(pod), {"Fit"}, false);
  Put("refused");
  TryAll();
  queue_.Put(Named("refused"), true);
  EXPECT_EQ(queue_.size(QueueName::kGated), 3U);
  EXPECT_EQ(queue_.NextDue(), std::nullopt);
}

TEST_F(QueueTest, APodThatIsDoneIsForgotten) {
  Put("a");
  const auto pod = *queue_.Pop();
  queue_.Done("ns/a");
  EXPECT_EQ(queue_.Find("ns/a"), nullptr);
  queue_.Back(pod, {"Fit"}, false);
  EXPECT_EQ(queue_.Find("ns/a"), nullptr);
}

TEST_F(QueueTest, ANewPodOfTheSameNameIsAnotherPod) {
  Put("a");
  const auto old = *queue_.Pop();
  Put("a", {.uid = "2"});
  // What becomes of the old one does not concern it.
  queue_.Back(old, {"Fit"}, false);
  EXPECT_EQ(queue_.Where("ns/a"), QueueName::kActive);
  queue_.Done("ns/a");
  const auto pod = queue_.Pop();
  ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(pod->pod->pod->metadata.uid, "2");
  EXPECT_EQ(pod->attempts, 1U);
  queue_.Back(old, {"Fit"}, false);
  EXPECT_EQ(queue_.Where("ns/a"), std::nullopt);
}

class AlikeTest : public QueueTest {
 protected:
  // All refused by "Fit", with their numbers.
  void Refuse(const std::vector<std::pair<std::string, std::uint64_t>>& pods) {
    for (const auto& [name, alike] : pods) {
      Put(name);
      auto pod = queue_.Pop();
      pod->alike = alike;
      queue_.Back(*std::move(pod), {"Fit"}, false);
    }
  }
  // Of which pods it was asked, and they are woken.
  std::vector<std::string> Asked(const std::vector<std::string>& concerned, bool wakes) {
    std::vector<std::string> asked;
    woken_ = queue_.WakeIf(
        [&](const QueuedPod& pod) {
          asked.push_back(pod.pod->key);
          return wakes;
        },
        concerned);
    return asked;
  }
  std::size_t woken_ = 0;
};

TEST_F(AlikeTest, OneIsAskedAboutForAll) {
  Refuse({{"a", 1}, {"b", 1}, {"c", 2}, {"d", 0}, {"e", 0}});
  EXPECT_THAT(Asked({}, false), ::testing::UnorderedElementsAre("ns/a", "ns/c", "ns/d", "ns/e"));
  EXPECT_EQ(woken_, 0u);
  Asked({}, true);
  EXPECT_EQ(woken_, 5u);
}

TEST_F(AlikeTest, APodThatIsConcernedIsLikeNoOtherFromThenOn) {
  Refuse({{"a", 1}, {"b", 1}, {"c", 1}});
  EXPECT_THAT(Asked({"ns/a", "ns/gone"}, false), ::testing::UnorderedElementsAre("ns/a", "ns/b"));
  EXPECT_THAT(Asked({}, false), ::testing::UnorderedElementsAre("ns/a", "ns/b"));
  EXPECT_EQ(queue_.size(QueueName::kUnschedulable), 3u);
}

}  // namespace
}  // namespace dray::scheduler
