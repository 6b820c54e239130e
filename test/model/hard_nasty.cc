// SPDX-License-Identifier: Apache-2.0
//
// Hard instances that were not recorded anywhere: several rules at once, things of different sizes.
#include "model/hard_makers.h"

namespace dray::model {

// `a` and `b` in one row, `b` and `c` in one column, and only one cell, if any, where all agree.
HardInstance MatchCrossing(Dice& dice, HardSize size) {
  const int rows = size.Pick(dice, 2, 4, 6);
  const int columns = size.Pick(dice, 2, 4, 6);
  const int want = size.small ? 1 : 3;
  const bool feasible = dice.Chance(0.5);
  Builder b(dice);
  const auto at = [](std::string name, int row, int column) {
    api::Device device = Named(std::move(name));
    if (row >= 0) device.attributes[kNuma].int_value = row;
    if (column >= 0) device.attributes[kRoot].string_value = fmt::format("pci{}", column);
    return device;
  };
  auto& a = b.Devices("gpu");
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < want + 1; ++i) a.push_back(at(fmt::format("a{}-{}", r, i), r, -1));
  }
  // Two in every row and two in every column, but two in one cell only in the last.
  auto& middle = b.Devices("nic");
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) {
      const bool both = feasible && r + 1 == rows && c + 1 == columns;
      for (int i = 0; i < (both ? 2 : 1); ++i) {
        middle.push_back(at(fmt::format("b{}-{}-{}", r, c, i), r, c));
      }
    }
  }
  auto& last = b.Devices("cpu");
  for (int c = 0; c < columns; ++c) {
    for (int i = 0; i < want + 1; ++i) last.push_back(at(fmt::format("c{}-{}", c, i), -1, c));
  }
  b.Request("a", "gpu", want);
  b.Request("b", "nic", 2);
  b.Request("c", "cpu", want);
  b.Match(kNuma, std::vector<std::string>{"a", "b"});
  b.Match(kRoot, std::vector<std::string>{"b", "c"});
  return b.Build(feasible);
}

// Devices of one NUMA node, each on another root; every NUMA node has devices enough, on too few
// roots. In several claims, each of which could have a NUMA node of its own.
HardInstance MatchAndDistinct(Dice& dice, HardSize size) {
  const int numas = size.Pick(dice, 2, 3, 6);
  const int roots = size.small ? 1 : dice.Range(3, 5);
  const int each = size.small ? 3 : dice.Range(3, 5);
  const int claims = size.small ? 1 : dice.Range(1, numas);
  const int wide = dice.Chance(0.4) ? claims : claims - 1;  // NUMA nodes with a root more
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int n = 0; n < numas; ++n) {
    for (int r = 0; r < roots + (n < wide ? 1 : 0); ++r) {
      for (int i = 0; i < each; ++i) {
        api::Device device = OnNuma(fmt::format("g{}-{}-{}", n, r, i), n);
        device.attributes[kRoot].string_value = fmt::format("pci{}-{}", n, r);
        list.push_back(std::move(device));
      }
    }
  }
  for (int c = 0; c < claims; ++c) {
    b.Request("gpu", "gpu", roots + 1, static_cast<std::size_t>(c));
    b.Match(kNuma, static_cast<std::size_t>(c));
    b.Distinct(kRoot, {"gpu"}, static_cast<std::size_t>(c));
  }
  // A wide NUMA node serves several claims as long as each of its roots has a device for each.
  return b.Build(claims <= wide * each);
}

// Each device has two roots, the second of which is the first of the next: a chain. Of `n` such
// devices every second one can be had if no two may share a root.
HardInstance ListChain(Dice& dice, HardSize size) {
  const int devices = size.small ? dice.Range(3, 6) : std::min(dice.Range(9, 15) * size.times, 60);
  const bool feasible = dice.Chance(0.4);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int i = 0; i < devices; ++i) {
    api::Device device = Named(fmt::format("g{}", i));
    device.attributes[kRoot].MutableLists().string_values =
        std::vector<std::string>{fmt::format("pci{}", i), fmt::format("pci{}", i + 1)};
    list.push_back(std::move(device));
  }
  dice.Shuffle(list);
  b.Request("gpu", "gpu", (devices + 1) / 2 + (feasible ? 0 : 1));
  b.Distinct(kRoot, {"gpu"});
  return b.Build(feasible);
}

// Alternatives of two classes, either of which alone is too small.
HardInstance PrioritizedClasses(Dice& dice, HardSize size) {
  const int of_a = size.Pick(dice, 1, 3, 5);
  const int of_b = size.Pick(dice, 1, 3, 5);
  const bool feasible = dice.Chance(0.5);
  const int need_a = dice.Range(1, 2);
  const int need_b = dice.Range(2, 3);
  const int requests = of_a + of_b + (feasible ? 0 : 1);
  Builder b(dice);
  auto& first = b.Devices("gpu");
  for (int i = 0; i < of_a * need_a + need_a - 1; ++i)
    first.push_back(Named(fmt::format("a{}", i)));
  auto& second = b.Devices("npu");
  for (int i = 0; i < of_b * need_b + need_b - 1; ++i) {
    second.push_back(Named(fmt::format("b{}", i)));
  }
  for (int i = 0; i < requests; ++i) {
    auto& request = b.List(fmt::format("r{}", i), static_cast<std::size_t>(i / 8));
    Builder::Alternative(request, "gpu", need_a);
    Builder::Alternative(request, "npu", need_b);
  }
  return b.Build(feasible);
}

// A GPU of 70 takes a part of 40 and one of 20 and one of 10, or many small ones: with a part of 40
// on each there is room for one of 20 each, though the sum would do for more.
HardInstance PartitionsMixed(Dice& dice, HardSize size) {
  const int gpus = size.Pick(dice, 2, 4, 8);
  const bool groups = dice.Chance(0.5);
  const bool feasible = dice.Chance(0.4);
  Builder b(dice);
  auto& counters = b.Counters("gpu");
  for (int g = 0; g < gpus; ++g) {
    counters.push_back(WithMemory(fmt::format("gpu{}", g), 70 + dice.Range(0, 9)));
  }
  auto& list = b.Devices("gpu");
  const auto add = [&](int g, const std::string& kind, int parts, int memory) {
    for (int i = 0; i < parts; ++i) {
      api::Device device =
          PartOf(fmt::format("gpu{}", g), fmt::format("gpu{}-{}-{}", g, kind, i), kind, memory);
      if (groups) device.consumes_counters[0].compatibility_groups = {"mig", kind};
      list.push_back(std::move(device));
    }
  };
  for (int g = 0; g < gpus; ++g) {
    add(g, "small", size.small ? 2 : 7, 10);
    add(g, "medium", size.small ? 2 : 3, 20);
    add(g, "large", size.small ? 1 : 2, 40);
  }
  std::vector<std::pair<std::string, int>> wanted{{"large", gpus},
                                                  {"medium", gpus + (feasible ? 0 : 1)}};
  if (dice.Chance(0.5)) wanted.emplace_back("small", dice.Range(1, gpus));
  dice.Shuffle(wanted);
  for (const auto& [kind, count] : wanted) {
    const int total = count;
    for (int done = 0, claim = 0; done < total; ++claim) {
      const int here = std::min(total - done, 8);
      b.Request(kind, "gpu", here, static_cast<std::size_t>(claim)).selectors = SelectingKind(kind);
      done += here;
    }
  }
  return b.Build(feasible);
}

// Claims for a GPU and a NIC, and claims for two GPUs and a CPU: a NUMA node has what one of them
// needs. Neither kind alone is too many, and neither are the devices.
HardInstance ClaimsOfTwoShapes(Dice& dice, HardSize size) {
  const int numas = size.Pick(dice, 2, 5, 9);
  const bool feasible = dice.Chance(0.4);
  const int ones = dice.Range(1, numas - 1) + (feasible ? 0 : 1);
  const int twos = numas - ones + (feasible ? 0 : 1);
  Builder b(dice);
  auto& gpu = b.Devices("gpu");
  for (int n = 0; n < numas; ++n) {
    for (int i = 0; i < 2; ++i) gpu.push_back(OnNuma(fmt::format("gpu{}-{}", n, i), n));
  }
  auto& nic = b.Devices("nic");
  for (int n = 0; n < numas; ++n) nic.push_back(OnNuma(fmt::format("nic{}", n), n));
  auto& cpu = b.Devices("cpu");
  for (int n = 0; n < numas; ++n) cpu.push_back(OnNuma(fmt::format("cpu{}", n), n));
  std::vector<int> order(static_cast<std::size_t>(ones), 1);
  order.resize(static_cast<std::size_t>(ones + twos), 2);
  dice.Shuffle(order);
  for (std::size_t c = 0; c < order.size(); ++c) {
    b.Request("gpu", "gpu", order[c], c);
    b.Request("other", order[c] == 1 ? "nic" : "cpu", 1, c);
    b.Match(kNuma, c);
  }
  return b.Build(feasible);
}

// Two kinds of share: one wants memory, the other cores; a device has room for one of each.
HardInstance CapacityDimensions(Dice& dice, HardSize size) {
  const int devices = size.Pick(dice, 2, 4, 8);
  const bool feasible = dice.Chance(0.4);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int i = 0; i < devices; ++i) {
    api::Device device = Named(fmt::format("g{}", i));
    device.allow_multiple_allocations = true;
    device.capacity["memory"].value = Amount(100 + dice.Range(0, 9), "Gi");
    device.capacity["cores"].value = Amount(100 + dice.Range(0, 9));
    list.push_back(std::move(device));
  }
  std::vector<int> kinds;
  for (int i = 0; i < devices + (feasible ? 0 : 1); ++i) kinds.push_back(0);
  for (int i = 0; i < devices; ++i) kinds.push_back(1);
  dice.Shuffle(kinds);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    auto& request = b.Request(fmt::format("r{}", i), "gpu", 1, i / kPerClaim);
    request.capacity.emplace();
    request.capacity->requests["memory"] = Amount(kinds[i] == 0 ? 70 : 25, "Gi");
    request.capacity->requests["cores"] = Amount(kinds[i] == 0 ? 25 : 70);
  }
  return b.Build(feasible);
}

// Shares of two sizes on devices of different sizes: the large ones fit one to a device, and what
// is then left is too little for the small ones by one.
HardInstance CapacitySizes(Dice& dice, HardSize size) {
  const int devices = size.Pick(dice, 2, 4, 7);
  const bool feasible = dice.Chance(0.4);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  int small_ones = 0;
  for (int i = 0; i < devices; ++i) {
    const int beside = dice.Range(0, 2);
    small_ones += beside;
    api::Device device = Named(fmt::format("g{}", i));
    device.allow_multiple_allocations = true;
    device.capacity["memory"].value = Amount(60 + beside * 20 + dice.Range(0, 19) / 2, "Gi");
    list.push_back(std::move(device));
  }
  std::vector<int> wanted(static_cast<std::size_t>(devices), 60);
  wanted.resize(wanted.size() + static_cast<std::size_t>(small_ones + (feasible ? 0 : 1)), 20);
  dice.Shuffle(wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto& request = b.Request(fmt::format("r{}", i), "gpu", 1, i / kPerClaim);
    request.capacity.emplace();
    request.capacity->requests["memory"] = Amount(wanted[i], "Gi");
  }
  return b.Build(feasible);
}

}  // namespace dray::model
