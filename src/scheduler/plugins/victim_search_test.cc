// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/victim_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "scheduler/objects_for_test.h"

namespace dray::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Pods that give back amounts of several things, and somebody who needs so much of each.
class Amounts final : public VictimTrial {
 public:
  using Vector = std::vector<int>;
  Amounts(Vector missing) : missing_(std::move(missing)) {}

  std::shared_ptr<const PodInfo> Add(const std::string& name, std::int32_t priority, Vector gives,
                                     std::optional<int> started = {}) {
    api::Pod pod = MakePod({.name = name, .priority = priority});
    if (started) pod.status.start_time = base::Time::FromUnix(*started);
    auto info = std::make_shared<PodInfo>();
    info->pod = std::make_shared<const api::Pod>(std::move(pod));
    info->key = "ns/" + name;
    info->priority = priority;
    gives_[info.get()] = std::move(gives);
    return info;
  }
  void Take(const std::shared_ptr<const PodInfo>& victim) override { Change(*victim, -1); }
  void PutBack(const std::shared_ptr<const PodInfo>& victim) override {
    if (gone_[victim.get()]) Change(*victim, 1);
  }
  bool Fits() override {
    ++asked;
    return std::ranges::all_of(missing_, [](int amount) { return amount <= 0; });
  }
  bool AllThere() const {
    return std::ranges::none_of(gone_, [](const auto& entry) { return entry.second; });
  }

  std::size_t asked = 0;

 private:
  void Change(const PodInfo& pod, int sign) {
    gone_[&pod] = sign < 0;
    for (std::size_t i = 0; i < missing_.size(); ++i) missing_[i] += sign * gives_[&pod][i];
  }
  Vector missing_;
  std::map<const PodInfo*, Vector> gives_;
  std::map<const PodInfo*, bool> gone_;
};

std::vector<std::string> Names(const std::optional<Victims>& victims) {
  std::vector<std::string> names;
  if (!victims) return {"nobody"};
  for (const PossibleVictim& victim : victims->pods) {
    names.push_back(victim.pod->pod->metadata.name);
  }
  return names;
}

std::optional<Victims> Fewest(Amounts& trial, const std::vector<PossibleVictim>& in_order,
                              std::size_t questions = 1000, const VictimCost* below = nullptr) {
  bool fits = false;
  return FewestVictims(trial, in_order, {.below = below, .questions = &questions}, fits);
}

TEST(VictimSearch, OneBigPodGoesRatherThanTwoSmallOnesOfItsPriority) {
  Amounts trial({4});
  const std::vector<PossibleVictim> pods = {{trial.Add("big", 5, {4}, 1)},
                                            {trial.Add("small-1", 5, {2}, 2)},
                                            {trial.Add("small-2", 5, {2}, 3)}};
  EXPECT_THAT(Names(Reprieve(trial, pods)), ElementsAre("small-1", "small-2"));
  EXPECT_TRUE(trial.AllThere());
  EXPECT_THAT(Names(Fewest(trial, pods)), ElementsAre("big"));
  EXPECT_TRUE(trial.AllThere());
  // Who may not ask gets what Kubernetes finds.
  EXPECT_THAT(Names(Fewest(trial, pods, 0)), ElementsAre("small-1", "small-2"));
}

TEST(VictimSearch, TwoUnimportantPodsGoRatherThanOneImportant) {
  Amounts trial({4});
  const std::vector<PossibleVictim> pods = {
      {trial.Add("big", 6, {4})}, {trial.Add("small-1", 5, {2})}, {trial.Add("small-2", 5, {2})}};
  EXPECT_THAT(Names(Fewest(trial, pods)), ElementsAre("small-1", "small-2"));
}

TEST(VictimSearch, OneViolationIsLessThanTwo) {
  Amounts trial({4});
  const std::vector<PossibleVictim> pods = {{trial.Add("big", 6, {4}), true},
                                            {trial.Add("small-1", 5, {2}), true},
                                            {trial.Add("small-2", 5, {2}), true}};
  EXPECT_THAT(Names(Fewest(trial, pods)), ElementsAre("big"));
}

TEST(VictimSearch, WhoHelpsNobodyIsLeftAlone) {
  Amounts trial({5});
  const std::vector<PossibleVictim> pods = {{trial.Add("a", 1, {2})}, {trial.Add("b", 1, {2})}};
  EXPECT_THAT(Names(Fewest(trial, pods)), ElementsAre("nobody"));
  EXPECT_TRUE(trial.AllThere());
}

TEST(VictimSearch, OnlyWhatCostsLessIsWanted) {
  Amounts trial({2});
  const std::vector<PossibleVictim> pods = {{trial.Add("a", 1, {2})}};
  const VictimCost same = VictimCost().With(pods[0]);
  EXPECT_THAT(Names(Fewest(trial, pods, 1000, &same)), ElementsAre("nobody"));
}

// Where the least important pod will do, nobody asks about the hundred others.
TEST(VictimSearch, ManyPodsCostFewQuestions) {
  Amounts trial({2});
  std::vector<PossibleVictim> pods;
  for (int i = 0; i < 100; ++i) {
    pods.push_back({trial.Add("p" + std::to_string(i), 1000 - i, {1})});
  }
  EXPECT_THAT(Names(Fewest(trial, pods)), ElementsAre("p98", "p99"));
  EXPECT_LE(trial.asked, 10u);
}

TEST(VictimSearchProperty, FindsWhatEnumerationFinds) {
  const char* wanted = std::getenv("DRAY_INSTANCES");
  const int instances = wanted != nullptr ? std::atoi(wanted) : 1000;
  for (int seed = 1; seed <= instances; ++seed) {
    std::mt19937 dice(static_cast<unsigned>(seed));
    const auto roll = [&](int sides) { return static_cast<int>(dice() % sides); };
    const std::size_t kinds = 1 + static_cast<std::size_t>(roll(2));
    Amounts trial(kinds == 1 ? std::vector<int>{1 + roll(6)}
                             : std::vector<int>{1 + roll(5), 1 + roll(5)});
    std::vector<PossibleVictim> pods;
    const int count = 1 + roll(9);
    for (int i = 0; i < count; ++i) {
      std::vector<int> gives;
      for (std::size_t k = 0; k < kinds; ++k) gives.push_back(roll(4));
      pods.push_back(
          {trial.Add("p" + std::to_string(i), roll(4) - 1, gives, roll(5)), roll(4) == 0});
    }
    std::ranges::stable_sort(pods, [](const auto& a, const auto& b) {
      if (a.kept != b.kept) return a.kept;
      return MoreImportant(*a.pod, *b.pod);
    });
    std::optional<VictimCost> least;
    for (std::uint32_t set = 1; set < (1u << count); ++set) {
      VictimCost cost;
      for (int i = 0; i < count; ++i) {
        if ((set >> i & 1u) == 0) continue;
        cost = cost.With(pods[static_cast<std::size_t>(i)]);
        trial.Take(pods[static_cast<std::size_t>(i)].pod);
      }
      if (trial.Fits() && (!least || cost < *least)) least = cost;
      for (const PossibleVictim& pod : pods) trial.PutBack(pod.pod);
    }
    const std::optional<Victims> found = Fewest(trial, pods, 100'000);
    ASSERT_TRUE(trial.AllThere()) << "seed " << seed;
    ASSERT_EQ(found.has_value(), least.has_value()) << "seed " << seed;
    if (!least) continue;
    EXPECT_FALSE(*least < found->cost) << "seed " << seed;
    EXPECT_FALSE(found->cost < *least) << "seed " << seed;
  }
}

}  // namespace
}  // namespace dray::scheduler
