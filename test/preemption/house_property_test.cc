// SPDX-License-Identifier: Apache-2.0
//
// Pods and gangs whose claims use every feature of devices, held against trying everything: where they are placed, and
// whom they send away (house.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "model/seeds.h"
#include "preemption/house.h"

namespace dray::preemption {
namespace {

struct Counts {
  int unknown = 0;
  int fits = 0;
  int hopeless = 0;
  int preempted = 0;
  int several = 0;
};

// Empty: as it should be.
std::string Try(std::uint64_t seed, const HouseOptions& options, Counts& counts) {
  House house(seed, options);
  const std::set<std::string> before = house.Pods();
  const bool fits = house.Fits({});
  std::optional<HouseCost> least;
  if (!fits && options.devices) least = house.Least();
  if (!house.known()) {
    ++counts.unknown;
    return "";
  }
  house.Run();
  std::set<std::string> gone;
  std::ranges::set_difference(before, house.Pods(), std::inserter(gone, gone.end()));
  const std::string chosen = fmt::format("{}", fmt::join(gone, ", "));
  if (fits) {
    ++counts.fits;
    // For those beyond minCount others may go.
    const bool all = house.least() == house.comers();
    if (!gone.empty() && all) return chosen + " are sent away although there is room";
    return house.Bound() >= house.least() ? "" : "there is room, and nobody is bound";
  }
  if (!least) {
    ++counts.hopeless;
    if (house.Bound() > 0) return "some are bound where they do not fit";
    return gone.empty() ? "" : chosen + " are sent away in vain";
  }
  ++counts.preempted;
  if (gone.empty()) return "nobody is sent away, though it would help: " + Shown(*least);
  const std::optional<HouseCost> cost = house.CostOf(gone);
  if (!cost) return "somebody goes who must not: " + chosen;
  if (!house.Fits(gone)) return "it does not help: " + chosen;
  const bool all = house.least() == house.comers();
  if (all && *cost != *least) {
    return fmt::format("{} costs {}, and the least is {}", chosen, Shown(*cost), Shown(*least));
  }
  counts.several += gone.size() > 1 ? 1 : 0;
  house.Run();
  const std::set<std::string> left = house.Pods();
  house.GiveBack();
  house.Run();
  if (house.Bound() < house.least()) return "sent away in vain: " + chosen;
  if (!all) return "";
  if (house.Pods() != left) return "a second round of victims, and the first was " + chosen;
  return house.rooms_kept() == 0 ? "" : "something is kept for nobody";
}

Counts TryMany(const HouseOptions& options, std::uint64_t n) {
  const std::uint64_t first = model::FirstSeed();
  Counts counts;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    const std::string wrong = Try(seed, options, counts);
    if (wrong.empty()) continue;
    House house(seed, options);
    house.Run();
    ADD_FAILURE() << wrong << "\nDRAY_SEED=" << seed << " DRAY_INSTANCES=1\n"
                  << house.Told() << model::Keep(house.instance(), seed);
    break;
  }
  fmt::print("{} without an answer, {} fit, {} hopeless, {} preempt, {} of them several pods\n",
             counts.unknown, counts.fits, counts.hopeless, counts.preempted, counts.several);
  return counts;
}

TEST(EveryFeature, AGangIsPlacedWhereItsClaimsCanBeHadTogether) {
  const std::uint64_t n = model::Instances(1'000);
  const Counts counts = TryMany({.gang = true, .devices = false, .holders = false}, n);
  if (n < 1'000) return;
  EXPECT_GT(counts.fits, static_cast<int>(n / 5));
  EXPECT_GT(counts.hopeless, static_cast<int>(n / 10));
}

TEST(EveryFeature, TheVictimsOfAPodAreThoseThatCostLeast) {
  const std::uint64_t n = model::Instances(1'000);
  const Counts counts = TryMany({}, n);
  if (n < 1'000) return;
  EXPECT_GT(counts.fits, static_cast<int>(n / 10));
  EXPECT_GT(counts.hopeless, static_cast<int>(n / 10));
  EXPECT_GT(counts.preempted, static_cast<int>(n / 20));
  EXPECT_GT(counts.several, static_cast<int>(n / 100));
}

TEST(EveryFeature, TheVictimsOfAGangAreThoseThatCostLeast) {
  const std::uint64_t n = model::Instances(500);
  const Counts counts = TryMany({.gang = true}, n);
  if (n < 500) return;
  EXPECT_GT(counts.fits, static_cast<int>(n / 10));
  EXPECT_GT(counts.hopeless, static_cast<int>(n / 10));
  EXPECT_GT(counts.preempted, static_cast<int>(n / 20));
  EXPECT_GT(counts.several, static_cast<int>(n / 100));
}

}  // namespace
}  // namespace dray::preemption
