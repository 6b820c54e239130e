// SPDX-License-Identifier: Apache-2.0
//
// Hard instances that are packings of amounts: shares in several dimensions, partitions whose
// groups exclude each other, requests for several shares.
#include <utility>

#include "model/hard_makers.h"

namespace dray::model {
namespace {

api::Device Shared(std::string name) {
  api::Device device = Named(std::move(name));
  device.allow_multiple_allocations = true;
  return device;
}

}  // namespace

// Shares of three amounts. Every one wants more than a quarter of any device's memory, so that a
// device serves three; by sums of memory, cores and bandwidth there would be room for more. The
// feasible ones are cut from the devices.
HardInstance CapacityVectors(Dice& dice, HardSize size) {
  const int devices = size.small ? 2 : dice.Range(4, 7) * size.times;
  const bool feasible = dice.Chance(0.5);
  Builder b(dice);
  struct Share {
    int memory, cores, bandwidth;
  };
  std::vector<Share> shares;
  auto& list = b.Devices("gpu");
  for (int i = 0; i < devices; ++i) {
    Share sum{0, 0, 0};
    for (int k = size.small ? 2 : 3; k > 0; --k) {
      const Share share{dice.Range(3, 4), dice.Range(1, 7), dice.Range(1, 5)};
      sum = {sum.memory + share.memory, sum.cores + share.cores, sum.bandwidth + share.bandwidth};
      shares.push_back(share);
    }
    api::Device device = Shared(fmt::format("g{}", i));
    // What is cut from it fits; whether or not it does, memory is below four times three.
    device.capacity["memory"].value =
        Amount(size.small ? 8 : std::min(11, sum.memory + dice.Range(0, 1)));
    device.capacity["cores"].value = Amount(sum.cores + dice.Range(0, 8));
    device.capacity["bandwidth"].value = Amount(sum.bandwidth + dice.Range(0, 8));
    // Three shares of four each need twelve.
    if (!size.small && sum.memory > 11) shares.back().memory -= sum.memory - 11;
    list.push_back(std::move(device));
  }
  if (!feasible) {
    // One more than three (two) to a device, all as small as they come.
    for (Share& share : shares) share = {3, 1, 1};
    shares.push_back({3, 1, 1});
    if (!size.small) {
      for (auto& share : shares) {
        if (dice.Chance(0.3)) share = {3, dice.Range(1, 2), dice.Range(1, 2)};
      }
    }
  }
  dice.Shuffle(shares);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    auto& request = b.Request(fmt::format("r{}", i), "gpu", 1, i / kPerClaim);
    request.capacity.emplace();
    request.capacity->requests["memory"] = Amount(shares[i].memory);
    request.capacity->requests["cores"] = Amount(shares[i].cores);
    request.capacity->requests["bandwidth"] = Amount(shares[i].bandwidth);
  }
  return b.Build(feasible);
}

// Requests for several shares each, of different devices: of a device that could give many, a
// request takes one. n requests for k get together what is the sum over devices of the smaller of
// what each can give and n.
HardInstance SharesOfDifferentDevices(Dice& dice, HardSize size) {
  const int requests = size.small ? 2 : dice.Range(4, 8) * size.times;
  const int each = size.small ? 2 : dice.Range(2, 3);
  const bool feasible = dice.Chance(0.5);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  const int wanted = requests * each - (feasible ? 0 : 1);
  int served = 0;
  for (int i = 0; served < wanted; ++i) {
    const int shares = std::min(dice.Range(1, requests), wanted - served);
    served += shares;
    api::Device device = Shared(fmt::format("g{}", i));
    // Whoever could give to all may as well give to many more.
    const int more = shares == requests ? dice.Range(0, 5) : 0;
    device.capacity["memory"].value = Amount((shares + more) * 10 + dice.Range(0, 9), "Gi");
    list.push_back(std::move(device));
  }
  // With fewer devices than `each` nobody is served; then the count of candidates says so already.
  if (static_cast<int>(list.size()) < each) return SharesOfDifferentDevices(dice, size);
  dice.Shuffle(list);
  for (int i = 0; i < requests; ++i) {
    auto& request = b.Request(fmt::format("r{}", i), "gpu", each, static_cast<std::size_t>(i / 8));
    request.capacity.emplace();
    request.capacity->requests["memory"] = Amount(10, "Gi");
  }
  return b.Build(feasible);
}

// Three profiles of partitions. Those of `a` and of `b` exclude each other on a GPU, `both` goes
// with either. GPUs for `a` take three, for `b` two; together they are one GPU too many, though the
// memory would do.
HardInstance ThreeProfiles(Dice& dice, HardSize size) {
  const int gpus = size.small ? 2 : dice.Range(4, 7) * size.times;
  const bool feasible = dice.Chance(0.5);
  const int for_a = size.small ? 1 : dice.Range(1, gpus - 1);
  const int for_b = gpus - for_a + (feasible ? 0 : 1);
  // One more than fills all GPUs but the last of its kind.
  const int want_a = (for_a - 1) * 3 + dice.Range(1, 3);
  const int want_b = (for_b - 1) * 2 + (feasible ? dice.Range(1, 2) : 1);
  const int want_both = feasible ? dice.Range(0, gpus) : dice.Range(0, 2);
  Builder b(dice);
  auto& counters = b.Counters("gpu");
  for (int g = 0; g < gpus; ++g) counters.push_back(WithMemory(fmt::format("gpu{}", g), 7));
  auto& list = b.Devices("gpu");
  for (int g = 0; g < gpus; ++g) {
    const auto add = [&](const std::string& kind, int parts, int memory,
                         std::vector<std::string> groups) {
      for (int i = 0; i < parts; ++i) {
        api::Device device =
            PartOf(fmt::format("gpu{}", g), fmt::format("gpu{}-{}{}", g, kind, i), kind, memory);
        device.consumes_counters[0].compatibility_groups = groups;
        list.push_back(std::move(device));
      }
    };
    add("a", 3, 2, {"a"});
    add("b", 2, 3, {"b"});
    add("both", size.small ? 1 : 7, 1, {"a", "b"});
  }
  if (dice.Chance(0.5)) dice.Shuffle(list);
  std::vector<std::string> wanted(static_cast<std::size_t>(want_a), "a");
  wanted.resize(wanted.size() + static_cast<std::size_t>(want_b), "b");
  wanted.resize(wanted.size() + static_cast<std::size_t>(want_both), "both");
  if (dice.Chance(0.6)) dice.Shuffle(wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    b.Request(fmt::format("r{}", i), "gpu", 1, i / 28).selectors = SelectingKind(wanted[i]);
  }
  return b.Build(feasible);
}

// Partitions of which each two have a group in common, but not all three. A GPU has one of each
// kind and memory for all, and serves two.
HardInstance GroupsWithoutACommonOne(Dice& dice, HardSize size) {
  const int gpus = size.small ? 2 : dice.Range(3, 6) * size.times;
  const bool feasible = dice.Chance(0.5);
  Builder b(dice);
  auto& counters = b.Counters("gpu");
  for (int g = 0; g < gpus; ++g) counters.push_back(WithMemory(fmt::format("gpu{}", g), 30));
  auto& list = b.Devices("gpu");
  const std::pair<const char*, std::vector<std::string>> kinds[] = {
      {"ab", {"a", "b"}}, {"bc", {"b", "c"}}, {"ca", {"c", "a"}}};
  for (int g = 0; g < gpus; ++g) {
    for (const auto& [kind, groups] : kinds) {
      api::Device device =
          PartOf(fmt::format("gpu{}", g), fmt::format("gpu{}-{}", g, kind), kind, 10);
      device.consumes_counters[0].compatibility_groups = groups;
      list.push_back(std::move(device));
    }
  }
  dice.Shuffle(list);
  // Any two of a GPU go together, so that any 2n of which no kind is more than n can be had: put
  // them around the GPUs kind by kind.
  std::vector<std::string> wanted;
  for (const auto& [kind, groups] : kinds) {
    for (int i = 0; i < gpus && static_cast<int>(wanted.size()) < 2 * gpus; ++i) {
      if (kinds[2].first == kind || dice.Chance(0.7)) wanted.emplace_back(kind);
    }
  }
  if (!feasible) {
    wanted.clear();
    for (int i = 0; i < 2 * gpus + 1; ++i) {
      wanted.emplace_back(kinds[static_cast<std::size_t>(i) % 3].first);
    }
  }
  dice.Shuffle(wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    b.Request(fmt::format("r{}", i), "gpu", 1, i / kPerClaim).selectors = SelectingKind(wanted[i]);
  }
  return b.Build(feasible);
}

}  // namespace dray::model
