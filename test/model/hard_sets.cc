// SPDX-License-Identifier: Apache-2.0
//
// Hard instances that are packings of sets: lists that may not meet, pairs that have to, counters
// that two devices want at once. Each falls into parts whose best is known, so that the best of the
// whole is their sum.
#include "model/hard_makers.h"
#include "model/hard_oracles.h"

namespace dray::model {
namespace {

api::Device WithLanes(std::string name, std::vector<std::int64_t> lanes) {
  api::Device device = Named(std::move(name));
  device.attributes[kLanes].MutableLists().int_values = std::move(lanes);
  return device;
}

// One request for so many, or so many requests for one.
void AskFor(Builder& b, Dice& dice, int count) {
  if (dice.Chance(0.5)) {
    b.Request("r", "gpu", count);
  } else {
    for (int i = 0; i < count; ++i) b.Request(fmt::format("r{}", i), "gpu", 1);
  }
}

}  // namespace

// Each device has more than half of the values of its block, and some of others': of a block there
// is one at most. With one in each that has values of its block alone, there is one of each.
HardInstance DistinctBlocks(Dice& dice, HardSize size) {
  const int blocks = size.small ? 2 : std::min(dice.Range(6, 12) * size.times, 30);
  const int each = size.small ? 2 : dice.Range(3, 6);
  const int width = size.small ? 3 : dice.Range(8, 30);
  const bool feasible = dice.Chance(0.5);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int block = 0; block < blocks; ++block) {
    for (int i = 0; i < each; ++i) {
      std::vector<std::int64_t> own;
      for (int v = 0; v < width; ++v) own.push_back(block * width + v);
      dice.Shuffle(own);
      own.resize(static_cast<std::size_t>(width / 2 + 1));
      const bool clean = feasible && i == 0;
      for (int k = clean ? 0 : dice.Range(0, 4); k > 0; --k) {
        own.push_back(dice.Range(0, blocks * width - 1));
      }
      list.push_back(WithLanes(fmt::format("g{}-{}", block, i), std::move(own)));
    }
  }
  dice.Shuffle(list);
  AskFor(b, dice, blocks + (feasible ? 0 : 1));
  b.Distinct(kLanes, {});
  return b.Build(feasible);
}

// Random lists, in components that have no value in common. What each can give is known by trying.
HardInstance DistinctComponents(Dice& dice, HardSize size) {
  const int components = size.small ? dice.Range(1, 2) : dice.Range(2, 4) * size.times;
  const int each = size.small ? 3 : dice.Range(7, 11);
  const int longest = dice.Range(2, 4);
  const int values = size.small ? 4 : dice.Range(9, 16);
  const bool feasible = dice.Chance(0.5);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  int most = 0;
  for (int c = 0; c < components; ++c) {
    std::vector<std::vector<std::int64_t>> lists;
    for (int i = 0; i < each; ++i) {
      auto& lanes = lists.emplace_back();
      for (int k = dice.Range(1, longest); k > 0; --k) {
        lanes.push_back(1000 * c + dice.Range(0, values - 1));
      }
      list.push_back(WithLanes(fmt::format("g{}-{}", c, i), lanes));
    }
    const int here = MostDisjoint(lists);
    if (most + here > 31) {  // a claim has 32 devices at most
      list.resize(list.size() - static_cast<std::size_t>(each));
      break;
    }
    most += here;
  }
  dice.Shuffle(list);
  AskFor(b, dice, most + (feasible ? 0 : 1));
  b.Distinct(kLanes, {});
  return b.Build(feasible);
}

// Claims for two devices that have a root in common. The devices come in threes around a root, so
// that each three serves one claim, and a third of all devices is of no use.
HardInstance PairsOfThrees(Dice& dice, HardSize size) {
  const int threes = size.small ? 2 : dice.Range(3, 6) * size.times;
  const bool feasible = dice.Chance(0.5);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int t = 0; t < threes; ++t) {
    // In a circle: each two have a root of their own.
    for (int i = 0; i < 3; ++i) {
      api::Device device = Named(fmt::format("g{}-{}", t, i));
      device.attributes[kRoot].MutableLists().string_values = std::vector<std::string>{
          fmt::format("pci{}-{}", t, i), fmt::format("pci{}-{}", t, (i + 1) % 3)};
      list.push_back(std::move(device));
    }
  }
  dice.Shuffle(list);
  const int claims = threes + (feasible ? 0 : 1);
  for (int c = 0; c < claims; ++c) {
    const auto claim = static_cast<std::size_t>(c);
    if (dice.Chance(0.5)) {
      b.Request("pair", "gpu", 2, claim);
    } else {
      b.Request("a", "gpu", 1, claim);
      b.Request("b", "gpu", 1, claim);
    }
    b.Match(kRoot, claim);
  }
  return b.Build(feasible);
}

// Devices in different rows and different columns. The rows of one part have all their devices in
// fewer columns than they are rows, although there are columns enough.
HardInstance Rooks(Dice& dice, HardSize size) {
  const int rows = size.small ? 3 : std::min(dice.Range(6, 9) * size.times, 30);
  const int narrow = size.small ? 2 : dice.Range(3, rows - 1);
  const bool feasible = dice.Chance(0.5);
  const int their_columns = narrow - (feasible ? 0 : 1);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < rows + 1; ++c) {
      // The diagonal is kept, which is the witness of a feasible one.
      const bool allowed = r >= narrow || c < their_columns;
      const bool kept = c == r || size.small || dice.Chance(0.6);
      if (!allowed || !kept) continue;
      api::Device device = OnNuma(fmt::format("g{}-{}", r, c), r);
      device.attributes[kRoot].string_value = fmt::format("pci{}", c);
      list.push_back(std::move(device));
    }
  }
  dice.Shuffle(list);
  AskFor(b, dice, rows);
  b.Distinct(kNuma, {});
  b.Distinct(kRoot, {});
  return b.Build(feasible);
}

// Every device draws on two counter sets, each of which has room for one: a matching. In circles of
// odd length one set is always left over.
HardInstance CountersInCircles(Dice& dice, HardSize size) {
  const int circles = size.small ? dice.Range(1, 2) : dice.Range(2, 4) * size.times;
  const bool feasible = dice.Chance(0.5);
  Builder b(dice);
  std::vector<int> lengths;
  int most = 0;
  for (int c = 0; c < circles; ++c) {
    lengths.push_back(size.small ? 3 : dice.Range(1, 3) * 2 + 1);
    most += lengths.back() / 2;
  }
  auto& counters = b.Counters("gpu");
  for (int c = 0; c < circles; ++c) {
    for (int i = 0; i < lengths[static_cast<std::size_t>(c)]; ++i) {
      counters.push_back(WithMemory(fmt::format("s{}-{}", c, i), 10 + dice.Range(0, 9)));
    }
  }
  auto& list = b.Devices("gpu");
  for (int c = 0; c < circles; ++c) {
    const int length = lengths[static_cast<std::size_t>(c)];
    for (int i = 0; i < length; ++i) {
      api::Device device =
          PartOf(fmt::format("s{}-{}", c, i), fmt::format("g{}-{}", c, i), "part", 10);
      api::DeviceCounterConsumption other{.counter_set =
                                              fmt::format("s{}-{}", c, (i + 1) % length)};
      other.counters["memory"].value = Amount(10);
      device.consumes_counters.push_back(std::move(other));
      list.push_back(std::move(device));
    }
  }
  dice.Shuffle(list);
  const int wanted = most + (feasible ? 0 : 1);
  if (wanted <= kPerClaim) {
    AskFor(b, dice, wanted);
  } else {
    b.Spread("r", "gpu", wanted, [](auto&) {});
  }
  return b.Build(feasible);
}

}  // namespace dray::model
