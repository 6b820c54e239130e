// SPDX-License-Identifier: Apache-2.0
//
// The scheduler in a town where everything happens at once and writes fail, for a hundred thousand
// events: nothing is given twice, nothing is lost, and whoever waits is told the truth.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "fmt/format.h"
#include "model/seeds.h"
#include "scheduler/scheduler.h"
#include "soak/late_cluster.h"
#include "soak/onlooker.h"
#include "soak/town.h"
#include "soak/watcher.h"

namespace dray::soak {
namespace {

constexpr int kEventsPerTown = 2'500;
constexpr int kEventsBetweenLooks = 25;

// A scheduler in a town, with the watcher beside it.
class Soak {
 public:
  explicit Soak(std::uint64_t seed)
      : preempts_(seed % 2 == 0),
        town_(seed),
        watcher_(town_, preempts_),
        ids_(town_.cluster()),
        late_(town_.cluster()),
        scheduler_(MakeScheduler()) {}

  void Run() {
    for (int events = 0; events < kEventsPerTown;) {
      const int burst = town_.dice().Range(1, 4);
      for (int i = 0; i < burst; ++i) events += town_.Happen() ? 1 : 0;
      if (town_.dice().Chance(0.5)) Advance(std::chrono::seconds(town_.dice().Range(1, 20)));
      const bool late = town_.dice().Chance(0.3);
      Schedule(town_.dice().Chance(0.5) ? 0.08 : 0.0, late);
      if (events / kEventsBetweenLooks != looks_) {
        looks_ = events / kEventsBetweenLooks;
        // What has failed has its reasons; without failures nobody may have been passed over.
        Schedule(0.0);
        looked_ += watcher_.CheckWaiting(scheduler_, /*all=*/false) ? 1 : 0;
      }
      if (!watcher_.complaints().empty()) return;
    }
    Calm();
  }

  const Watcher& watcher() const { return watcher_; }
  const Town& town() const { return town_; }
  const scheduler::Statistics& statistics() { return scheduler_.statistics(); }
  int looked() const { return looked_; }

  int sent_away() const { return sent_away_; }

 private:
  // Whoever has sent others away when nothing else happened is on a node now, unless somebody more
  // important has come there.
  void CheckNominated() {
    std::int32_t highest = std::numeric_limits<std::int32_t>::min();
    for (const auto& [name, pod] : Running()) {
      highest = std::max(highest, pod.spec.priority.value_or(0));
    }
    for (const api::Pod& pod : town_.All<api::Pod>()) {
      if (pod.spec.node_name.empty() && nominated_.contains(pod.metadata.uid) &&
          !unsettled_.contains(pod.metadata.uid) && pod.spec.priority.value_or(0) >= highest) {
        watcher_.Complain(pod.metadata.name + " has sent others away and has no node");
      }
    }
  }

  scheduler::Scheduler MakeScheduler() {
    scheduler::SchedulerOptions options;
    options.gates = AllDeviceGates();
    options.remembered_shapes = 8;
    options.config.profiles.front().preemption.devices = preempts_;
    return {late_, town_.clock(), ids_, std::move(options)};
  }
  void Advance(std::chrono::nanoseconds by) { town_.clock().Advance(by); }

  std::set<const api::TypeInfo*> SomeKinds() {
    const int kinds = town_.dice().Range(1, 3);
    std::set<const api::TypeInfo*> some;
    if ((kinds & 1) != 0) some.insert(&api::TypeInfoOf<api::ResourceClaim>());
    if ((kinds & 2) != 0) some.insert(&api::TypeInfoOf<api::Pod>());
    return some;
  }

  // Until nothing changes without time going by, as Scheduler::Run does it.
  void Schedule(double failures, bool late = false) {
    watcher_.Learn();
    if (late) late_.HoldBackAfter(town_.cluster().revision(), SomeKinds());
    town_.SchedulerActs(failures);
    while (true) {
      const std::size_t changes = scheduler_.Sync();
      std::size_t tried = 0;
      for (const scheduler::Outcome& outcome : scheduler_.Tick()) {
        watcher_.After(outcome);
        ++tried;
      }
      while (const auto outcome = scheduler_.ScheduleOne()) {
        watcher_.After(*outcome);
        ++tried;
      }
      if (changes == 0 && tried == 0) break;
    }
    town_.SchedulerRests();
    if (late && town_.dice().Chance(0.5)) {
      late_.TellWhatIsLeft();
    } else {
      late_.TellEverything();
    }
  }

  // Pods on nodes, by name.
  std::map<std::string, api::Pod> Running() const {
    std::map<std::string, api::Pod> running;
    for (api::Pod& pod : town_.All<api::Pod>()) {
      if (!pod.spec.node_name.empty()) running.emplace(pod.metadata.name, std::move(pod));
    }
    return running;
  }

  // Nothing happens any more but what was under way, and pods that are sent away come again: in the
  // end everything that can be placed is, and nobody is sent away any more.
  void Calm() {
    // Whoever waits is asked again every five minutes. Only when nobody was placed for longer than
    // that is what they were told last about now.
    int quiet = 0;
    for (int i = 0; i < 600 && quiet < 40; ++i) {
      const auto bound = statistics().bound;
      const std::map<std::string, api::Pod> before = Running();
      town_.Settle();
      // The last to come are like those that run, and more important.
      if (i >= 3 && i < 7 && !before.empty()) {
        auto like = before.begin();
        std::advance(like, town_.dice().Range(0, static_cast<int>(before.size()) - 1));
        town_.ComeAgain(like->second, 9);
      }
      Advance(std::chrono::seconds(11));
      Schedule(0.0);
      for (const auto& [name, pod] : before) {
        if (town_.Find<api::Pod>(name)) continue;
        ++sent_away_;
        town_.ComeAgain(pod);
      }
      // Whoever was nominated before all had settled may have lost what it was promised.
      for (const api::Pod& pod : town_.All<api::Pod>()) {
        if (pod.status.nominated_node_name.empty()) continue;
        (i < 3 ? unsettled_ : nominated_).insert(pod.metadata.uid);
      }
      quiet = statistics().bound == bound ? quiet + 1 : 0;
    }
    if (quiet < 40) watcher_.Complain("pods send each other away for ever");
    CheckNominated();
    if (!watcher_.CheckWaiting(scheduler_, /*all=*/true)) ADD_FAILURE() << "a pod never arrives";
  }

  // Every second town.
  const bool preempts_;
  Town town_;
  Watcher watcher_;
  Onlooker ids_;
  LateCluster late_;
  scheduler::Scheduler scheduler_;
  int looks_ = 0;
  int looked_ = 0;
  int sent_away_ = 0;                // while nothing else happened
  std::set<std::string> nominated_;  // then, by uid
  std::set<std::string> unsettled_;  // before that
};

TEST(SchedulerSoak, NothingIsGivenTwiceOrLostAndWhoeverWaitsIsToldTheTruth) {
  const std::uint64_t first = model::FixedSeed();
  const std::uint64_t n = model::Instances(40);
  std::uint64_t events = 0;
  std::uint64_t bound = 0;
  std::uint64_t allocations = 0;
  std::uint64_t explanations = 0;
  std::uint64_t by_model = 0;
  std::uint64_t failures = 0;
  std::uint64_t lost = 0;
  std::uint64_t unread = 0;
  int sent_away = 0;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    Soak soak(seed);
    soak.Run();
    ASSERT_TRUE(soak.watcher().complaints().empty())
        << "DRAY_SEED=" << seed << " DRAY_INSTANCES=1: " << soak.watcher().complaints().front();
    for (const auto& [what, times] : soak.town().happened()) events += times;
    bound += soak.statistics().bound;
    allocations += soak.watcher().allocations();
    explanations += soak.watcher().explanations();
    by_model += soak.watcher().refusals_of_the_model();
    failures += soak.town().failed_writes();
    lost += soak.town().lost_answers();
    unread += soak.town().failed_reads();
    sent_away += soak.sent_away();
    EXPECT_GT(soak.looked(), 0);
  }
  fmt::print(
      "{} events, {} pods bound, {} allocations, {} writes failed, {} answers lost, {} reads "
      "failed, "
      "{} explanations held against a fresh scheduler, {} against the model, {} pods sent away "
      "while "
      "all was calm\n",
      events, bound, allocations, failures, lost, unread, explanations, by_model, sent_away);
  if (n >= 20) {
    EXPECT_GT(sent_away, 0);
  }
  EXPECT_GE(events, n * kEventsPerTown);
  EXPECT_GT(bound, events / 40);
  EXPECT_GT(allocations, events / 80);
  EXPECT_GT(failures, events / 400);
  EXPECT_GT(lost, events / 400);
  EXPECT_GT(unread, events / 400);
  EXPECT_GT(explanations, events / 100);
  EXPECT_GT(by_model, events / 1'000);
}

}  // namespace
}  // namespace dray::soak
