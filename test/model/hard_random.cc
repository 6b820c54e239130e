// SPDX-License-Identifier: Apache-2.0
//
// Hard instances without a plan behind them: random ones at the edge between what just fits and
// what just does not, with the answer from an oracle.
#include <algorithm>
#include <array>
#include <functional>

#include "model/hard_makers.h"
#include "model/hard_oracles.h"

namespace dray::model {
namespace {

// From about `start` on, wants more until one more would not fit. Whether what is then wanted fits:
// either the last that did, or the first that did not.
bool FillUp(Dice& dice, const std::vector<std::vector<KindCounts>>& options, int start,
            KindCounts& wanted) {
  const auto any_kind = [&] {
    return static_cast<std::size_t>(dice.Range(0, static_cast<int>(wanted.size()) - 1));
  };
  for (int i = 0; i < start; ++i) ++wanted[any_kind()];
  while (!Packs(options, wanted)) --*std::ranges::max_element(wanted);
  for (;;) {
    const std::size_t kind = any_kind();
    ++wanted[kind];
    if (Packs(options, wanted)) continue;
    if (dice.Chance(0.5)) return false;
    --wanted[kind];
    return true;
  }
}

// All mixes of kinds that fit, each as large as it can be in its last kind.
void Mixes(std::size_t kind, std::size_t kinds, int most, KindCounts& mix,
           const std::function<bool(const KindCounts&)>& fits, std::vector<KindCounts>& all) {
  if (kind == kinds) {
    all.push_back(mix);
    return;
  }
  for (int n = 0; n <= most; ++n) {
    mix[kind] = n;
    if (!fits(mix)) break;
    Mixes(kind + 1, kinds, most, mix, fits, all);
  }
  mix[kind] = 0;
}

std::vector<KindCounts> MixesThatFit(std::size_t kinds, int most,
                                     const std::function<bool(const KindCounts&)>& fits) {
  std::vector<KindCounts> all;
  KindCounts mix(kinds, 0);
  Mixes(0, kinds, most, mix, fits, all);
  // What is less than another one is not needed.
  std::vector<KindCounts> largest;
  for (const KindCounts& a : all) {
    const bool below = std::ranges::any_of(all, [&](const KindCounts& b) {
      return a != b && std::ranges::equal(a, b, std::less_equal());
    });
    if (!below) largest.push_back(a);
  }
  return largest;
}

// The wanted ones one by one, in any order.
std::vector<std::size_t> InAnyOrder(Dice& dice, const KindCounts& wanted) {
  std::vector<std::size_t> order;
  for (std::size_t kind = 0; kind < wanted.size(); ++kind) {
    order.insert(order.end(), static_cast<std::size_t>(wanted[kind]), kind);
  }
  dice.Shuffle(order);
  return order;
}

}  // namespace

// Lists of which so many must not meet: as many as there are at best, or one more.
HardInstance RandomDisjointLists(Dice& dice, HardSize size) {
  const int devices = size.small ? dice.Range(4, 6) : std::min(64, dice.Range(20, 32) * size.times);
  const int longest = size.small ? 2 : dice.Range(2, 12);
  const int values = size.small ? 5 : devices * longest * dice.Range(3, 6) / 8;
  const bool feasible = dice.Chance(0.5);
  const bool one_request = dice.Chance(0.5);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  std::vector<std::vector<std::int64_t>> lists;
  for (int i = 0; i < devices; ++i) {
    auto& lanes = lists.emplace_back();
    for (int k = dice.Range(1, longest); k > 0; --k) lanes.push_back(dice.Range(0, values - 1));
    api::Device device = Named(fmt::format("g{}", i));
    device.attributes[kLanes].MutableLists().int_values = lanes;
    list.push_back(std::move(device));
  }
  const int wanted = std::min(MostDisjoint(lists), 31) + (feasible ? 0 : 1);
  if (MostDisjoint(lists) > 31 && !feasible) return RandomDisjointLists(dice, size);
  if (one_request) {
    b.Request("r", "gpu", wanted);
  } else {
    for (int i = 0; i < wanted; ++i) b.Request(fmt::format("r{}", i), "gpu", 1);
  }
  b.Distinct(kLanes, {});
  return b.Build(feasible);
}

// Shares of a few kinds with three amounts each, on devices of about one size.
HardInstance RandomVectors(Dice& dice, HardSize size) {
  const int devices = size.small ? 2 : dice.Range(4, 7) * std::min(size.times, 2);
  const std::size_t kinds = size.small || size.times > 1 ? 3 : 4;
  constexpr const char* kNames[] = {"memory", "cores", "bandwidth"};
  using Vector = std::array<int, 3>;
  std::vector<Vector> shares;
  for (std::size_t k = 0; k < kinds; ++k) {
    shares.push_back({dice.Range(1, 7), dice.Range(1, 7), dice.Range(2, 5)});
    if (size.small) shares.back()[static_cast<std::size_t>(dice.Range(0, 2))] = 6;
  }
  Builder b(dice);
  auto& list = b.Devices("gpu");
  std::vector<std::vector<KindCounts>> options;
  for (int i = 0; i < devices; ++i) {
    const int about = size.small ? 8 : 13;
    const Vector has{about + dice.Range(-1, 1), about + dice.Range(0, 3), about + dice.Range(0, 3)};
    api::Device device = Named(fmt::format("g{}", i));
    device.allow_multiple_allocations = true;
    for (std::size_t x = 0; x < 3; ++x) device.capacity[kNames[x]].value = Amount(has[x]);
    list.push_back(std::move(device));
    options.push_back(MixesThatFit(kinds, 13, [&](const KindCounts& mix) {
      for (std::size_t x = 0; x < 3; ++x) {
        int sum = 0;
        for (std::size_t k = 0; k < kinds; ++k) sum += mix[k] * shares[k][x];
        if (sum > has[x]) return false;
      }
      return true;
    }));
  }
  KindCounts wanted(kinds, 0);
  const bool feasible = FillUp(dice, options, devices * 2, wanted);
  const auto order = InAnyOrder(dice, wanted);
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto& request = b.Request(fmt::format("r{}", i), "gpu", 1, i / 30);
    request.capacity.emplace();
    for (std::size_t x = 0; x < 3; ++x) {
      request.capacity->requests[kNames[x]] = Amount(shares[order[i]][x]);
    }
  }
  return b.Build(feasible);
}

// Partitions of a few profiles with groups of any kind, or none, on GPUs of one size.
HardInstance RandomProfiles(Dice& dice, HardSize size) {
  const int gpus = size.small ? 2 : dice.Range(3, 7) * std::min(size.times, 2);
  const int memory = size.small ? 3 : 7;
  constexpr std::size_t kProfiles = 3;
  std::vector<int> needs;
  std::vector<std::vector<std::string>> groups;
  for (std::size_t p = 0; p < kProfiles; ++p) {
    needs.push_back(dice.Range(1, size.small ? 2 : 3));
    const std::vector<std::vector<std::string>> some = {{}, {"a"}, {"b"}, {"a", "b"}, {"b", "c"}};
    groups.push_back(dice.Pick(some));
  }
  Builder b(dice);
  auto& counters = b.Counters("gpu");
  for (int g = 0; g < gpus; ++g) counters.push_back(WithMemory(fmt::format("gpu{}", g), memory));
  auto& list = b.Devices("gpu");
  for (int g = 0; g < gpus; ++g) {
    for (std::size_t p = 0; p < kProfiles; ++p) {
      for (int i = 0; i < memory / needs[p]; ++i) {
        api::Device device = PartOf(fmt::format("gpu{}", g), fmt::format("gpu{}-p{}-{}", g, p, i),
                                    fmt::format("p{}", p), needs[p]);
        device.consumes_counters[0].compatibility_groups = groups[p];
        list.push_back(std::move(device));
      }
    }
  }
  if (dice.Chance(0.7)) dice.Shuffle(list);
  // On a GPU are either those without groups, or those that all have a group in common.
  const std::vector<KindCounts> mixes = MixesThatFit(kProfiles, memory, [&](const KindCounts& mix) {
    int sum = 0;
    bool without = false;
    bool with = false;
    std::vector<std::string> common = {"a", "b", "c"};
    for (std::size_t p = 0; p < kProfiles; ++p) {
      if (mix[p] == 0) continue;
      sum += mix[p] * needs[p];
      (groups[p].empty() ? without : with) = true;
      std::erase_if(common, [&](const std::string& group) {
        return std::ranges::find(groups[p], group) == groups[p].end();
      });
    }
    return sum <= memory && (!with || (!without && !common.empty()));
  });
  KindCounts wanted(kProfiles, 0);
  const std::vector<std::vector<KindCounts>> options(static_cast<std::size_t>(gpus), mixes);
  const bool feasible = FillUp(dice, options, gpus * 2, wanted);
  const auto order = InAnyOrder(dice, wanted);
  for (std::size_t i = 0; i < order.size(); ++i) {
    b.Request(fmt::format("r{}", i), "gpu", 1, i / 30).selectors =
        SelectingKind(fmt::format("p{}", order[i]));
  }
  return b.Build(feasible);
}

}  // namespace dray::model
