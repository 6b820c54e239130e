// SPDX-License-Identifier: Apache-2.0
//
// Whom the scheduler sends away for a device, held against trying everybody.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <tuple>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "model/seeds.h"
#include "preemption/crowd.h"

namespace dray::preemption {
namespace {

std::string Shown(const Cost& cost) {
  return fmt::format("{} violations, highest {}, sum {}, {} pods, start {}", std::get<0>(cost),
                     std::get<1>(cost), std::get<2>(cost), std::get<3>(cost), -std::get<4>(cost));
}

struct Counts {
  int fits = 0;
  int hopeless = 0;
  int preempted = 0;
  int several = 0;
  int violating = 0;
  int elsewhere = 0;
};

// Empty: as it should be.
std::string Try(std::uint64_t seed, Counts& counts) {
  Crowd crowd(seed);
  crowd.Fill();
  const std::string pod = crowd.AddPreemptor();
  const std::set<std::string> before = crowd.Pods();
  const bool fits = std::ranges::any_of(crowd.All<api::Node>(), [&](const api::Node& node) {
    return crowd.Fits(pod, node.metadata.name, {});
  });
  const std::optional<Cost> least = fits ? std::nullopt : crowd.Least(pod);
  // Costs are asked for while everybody is there.
  const Crowd& judge = crowd;
  scheduler::Scheduler& scheduler = crowd.Start(true);

  // What is chosen is seen in what is gone; whoever comes after is the same pod, that waits.
  Crowd twin(seed);
  twin.Fill();
  twin.AddPreemptor();
  scheduler.Sync();
  scheduler.ScheduleOne();
  std::set<std::string> gone;
  std::ranges::set_difference(before, judge.Pods(), std::inserter(gone, gone.end()));
  const auto now = crowd.Find(pod);
  if (fits) {
    ++counts.fits;
    if (!gone.empty()) return "somebody is sent away although the pod fits";
    return now->spec.node_name.empty() ? "it fits and is not bound" : "";
  }
  if (!least) {
    ++counts.hopeless;
    return gone.empty() ? "" : fmt::format("{} are sent away in vain", fmt::join(gone, ", "));
  }
  ++counts.preempted;
  if (gone.empty()) return "nobody is sent away, though it would help: " + Shown(*least);
  const Choice choice{.node = now->status.nominated_node_name, .victims = gone};
  const std::optional<Cost> cost = twin.CostOf(pod, choice);
  const std::string chosen = fmt::format("on {}: {}", choice.node, fmt::join(choice.victims, ", "));
  if (!cost) return "somebody goes who must not: " + chosen;
  if (!twin.Fits(pod, choice.node, gone)) return "it does not help: " + chosen;
  if (*cost != *least) {
    return fmt::format("{} costs {}, and the least is {}", chosen, Shown(*cost), Shown(*least));
  }
  counts.several += gone.size() > 1 ? 1 : 0;
  counts.violating += std::get<0>(*cost) > 0 ? 1 : 0;
  counts.elsewhere += std::ranges::any_of(gone, [&](const std::string& name) {
    return twin.Find(name)->spec.node_name != choice.node;
  });

  // While claims are being given back nothing happens; then the pod is bound, by nobody else's leave.
  const std::set<std::string> left = crowd.Pods();
  for (int i = 0; i < 2; ++i) {
    crowd.clock().Advance(std::chrono::seconds(11));
    scheduler.Tick();
    scheduler.Run();
  }
  if (crowd.Pods() != left) return "a second round of victims after " + chosen;
  crowd.GiveBack();
  for (int i = 0; i < 2; ++i) {
    crowd.clock().Advance(std::chrono::seconds(11));
    scheduler.Tick();
    scheduler.Run();
  }
  if (crowd.Pods() != left) return "a second round of victims, and the first was " + chosen;
  if (crowd.Find(pod)->spec.node_name.empty()) return "sent away in vain: " + chosen;
  return scheduler.rooms_kept() == 0 ? "" : "something is kept for nobody";
}

TEST(DevicePreemption, TheVictimsAreThoseThatCostLeast) {
  const std::uint64_t first = model::FirstSeed();
  const std::uint64_t n = model::Instances(2'000);
  Counts counts;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    const std::string wrong = Try(seed, counts);
    ASSERT_EQ(wrong, "") << "DRAY_SEED=" << seed << " DRAY_INSTANCES=1";
  }
  fmt::print(
      "{} fit, {} hopeless, {} preempt: {} several pods, {} against a budget, {} on other nodes\n",
      counts.fits, counts.hopeless, counts.preempted, counts.several, counts.violating,
      counts.elsewhere);
  if (n < 1'000) return;
  EXPECT_GT(counts.hopeless, static_cast<int>(n / 100));
  EXPECT_GT(counts.preempted, static_cast<int>(n / 10));
  EXPECT_GT(counts.several, static_cast<int>(n / 100));
  EXPECT_GT(counts.violating, static_cast<int>(n / 200));
  EXPECT_GT(counts.elsewhere, static_cast<int>(n / 200));
}

}  // namespace
}  // namespace dray::preemption
