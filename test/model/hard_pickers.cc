// SPDX-License-Identifier: Apache-2.0
//
// Hard instances in which something easy comes before something picky, so that a search which
// learns nothing from its failures tries every way to do the easy part first.
#include "model/hard_makers.h"

namespace dray::model {
namespace {

constexpr const char* kX = "topology.example.com/x";
constexpr const char* kY = "topology.example.com/y";

api::Device InCell(std::string name, int x, int y) {
  api::Device device = Named(std::move(name));
  device.attributes[kX].int_value = x;
  device.attributes[kY].int_value = y;
  return device;
}

std::vector<api::DeviceSelector> Flagged(bool flag) {
  return Selecting(fmt::format("device.attributes['gpu.example.com'].flag == {}", flag));
}

}  // namespace

// Any few devices, then two that agree in both coordinates. Every cell of the grid has one device,
// so there is no such pair, unless one cell was given a second device.
HardInstance GridPair(Dice& dice, HardSize size) {
  const int rows = size.small ? 2 : dice.Range(3, 5) * size.times;
  const int columns = size.small ? dice.Range(2, 3) : dice.Range(4, 6);
  const bool feasible = dice.Chance(0.5);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int x = 0; x < rows; ++x) {
    for (int y = 0; y < columns; ++y) list.push_back(InCell(fmt::format("d{}-{}", x, y), x, y));
  }
  const int cells = rows * columns;
  if (feasible) {
    // First or last, or anywhere: the easy claims take what comes first.
    const int x = dice.Chance(0.5) ? 0 : dice.Range(0, rows - 1);
    const int y = dice.Range(0, columns - 1);
    list.insert(list.begin() + dice.Range(0, cells), InCell("twin", x, y));
  }
  // What is easy never takes so much that the pair could not be left.
  const int easy = std::min(dice.Range(1, std::max(1, cells / 3)), cells - 2);
  std::size_t claim = 0;
  for (int left = easy; left > 0; ++claim) {
    const int here = std::min({left, kPerClaim, dice.Chance(0.5) ? left : 3});
    b.Request("any", "gpu", here, claim);
    left -= here;
  }
  b.Request("pair", "gpu", 2, claim);
  b.Match(kX, claim);
  b.Match(kY, claim);
  return b.Build(feasible);
}

// A claim that contradicts itself behind claims that do not: two devices of one NUMA node that are
// not of one NUMA node. Without the contradiction there is room for all.
HardInstance ContradictionLast(Dice& dice, HardSize size) {
  const int numas = size.Pick(dice, 2, 3, 5);
  const int each = size.small ? 2 : dice.Range(3, 5);
  const bool feasible = dice.Chance(0.4);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int n = 0; n < numas; ++n) {
    for (int i = 0; i < each; ++i) list.push_back(OnNuma(fmt::format("g{}-{}", n, i), n));
  }
  dice.Shuffle(list);
  // A pair of one NUMA node must be left: of n devices on m nodes, whichever m + 1 are left have
  // one. Each easy claim asks for two, or else for one.
  const int easy = size.small ? 1 : std::min((numas * each - numas - 1) / 2, numas + 2);
  std::size_t claim = 0;
  for (; claim < static_cast<std::size_t>(easy); ++claim) {
    auto& request = b.List("easy", claim);
    Builder::Alternative(request, "gpu", 2);
    Builder::Alternative(request, "gpu", 1);
  }
  b.Request("pair", "gpu", 2, claim);
  b.Match(kNuma, claim);
  if (!feasible) b.Distinct(kNuma, {"pair"}, claim);
  return b.Build(feasible);
}

// So many of any kind, then all of one kind: the first must leave those alone, which they can do
// in one way, or not at all.
HardInstance AllAfterSome(Dice& dice, HardSize size) {
  const int flagged = size.small ? 2 : dice.Range(4, 8);
  const int others = size.small ? 3 : dice.Range(8, 14) * size.times;
  const bool feasible = dice.Chance(0.5);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int i = 0; i < flagged + others; ++i) {
    api::Device device = Named(fmt::format("g{}", i));
    device.attributes["flag"].bool_value = i < flagged;
    // Values that differ though nobody asks for them keep devices from being the same.
    if (dice.Chance(0.5)) device.attributes["index"].int_value = i;
    list.push_back(std::move(device));
  }
  if (dice.Chance(0.5)) dice.Shuffle(list);
  std::size_t claim = 0;
  for (int left = others + (feasible ? 0 : 1); left > 0; ++claim) {
    const int here = std::min(left, kPerClaim);
    b.Request("some", "gpu", here, claim);
    left -= here;
  }
  auto& all = b.Request("all", "gpu", 0, claim);
  all.allocation_mode = "All";
  all.selectors = Flagged(true);
  return b.Build(feasible);
}

// Requests that differ in what they tolerate, and in nothing else. `tight` of them tolerate only
// what as many devices have, or one fewer.
HardInstance TolerationsOnly(Dice& dice, HardSize size) {
  const int tight = size.small ? 2 : dice.Range(3, 6) * size.times;
  const int loose = size.small ? 1 : dice.Range(3, 6);
  const bool feasible = dice.Chance(0.5);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  const auto add = [&](const std::string& name, const std::string& key) {
    api::Device device = Named(name);
    device.attributes["kind"].string_value = "a";
    if (!key.empty()) device.taints.push_back({.key = key, .effect = "NoSchedule"});
    list.push_back(std::move(device));
  };
  for (int i = 0; i < tight - (feasible ? 0 : 1); ++i) {
    add(fmt::format("t{}", i), dice.Pick({"sick", "old"}));
  }
  for (int i = 0; i < loose + (feasible ? 0 : 1); ++i) add(fmt::format("l{}", i), "worn");
  dice.Shuffle(list);
  // The loose tolerate everything and come first.
  const auto request = [&](const std::string& name, bool is_loose, std::size_t claim) {
    auto& asked = b.List(name, claim);
    for (const char* kind : {"a", "z"}) {
      auto& sub = Builder::Alternative(asked, "gpu", 1);
      sub.name = kind;
      sub.selectors = SelectingKind(kind);
      sub.tolerations.push_back({.key = is_loose ? "" : "sick", .operator_ = "Exists"});
      if (!is_loose) sub.tolerations.push_back({.key = "old", .operator_ = "Exists"});
    }
  };
  for (int i = 0; i < loose; ++i) {
    request(fmt::format("l{}", i), true, static_cast<std::size_t>(i / kPerClaim));
  }
  for (int i = 0; i < tight; ++i) {
    request(fmt::format("t{}", i), false, static_cast<std::size_t>((loose + i) / kPerClaim));
  }
  return b.Build(feasible);
}

// Requests that would each like several devices and can do with one. As many as fit take several,
// the first ones; the last of them wants one that everybody likes.
HardInstance StarvingAlternatives(Dice& dice, HardSize size) {
  const int requests = size.small ? 3 : dice.Range(6, 10) * size.times;
  const int spare = size.small ? 1 : dice.Range(1, 4);
  const bool feasible = dice.Chance(0.5);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  // All but the last request can do with any one; the last wants two that are flagged.
  const int devices = requests - 1 + 2 + spare - (feasible ? 0 : spare + 1);
  for (int i = 0; i < devices; ++i) {
    api::Device device = OnNuma(fmt::format("g{}", i), i % 3);
    device.attributes["flag"].bool_value = i < 2;
    list.push_back(std::move(device));
  }
  std::size_t claim = 0;
  for (int i = 0; i + 1 < requests; ++i) {
    claim = static_cast<std::size_t>(i / 6);
    auto& request = b.List(fmt::format("r{}", i), claim);
    for (const int count : {3, 2, 1}) Builder::Alternative(request, "gpu", count);
  }
  b.Request("last", "gpu", 2, claim + 1).selectors = Flagged(true);
  return b.Build(feasible);
}

// Each claim's requests would all like so many devices of different NUMA nodes that one of them can
// have its way. Every other one then needs a device that is nobody else's, behind alternatives that
// look as if there were plenty.
HardInstance ScarceBehindAlternatives(Dice& dice, HardSize size) {
  const int claims = size.small ? 1 : dice.Range(2, 3) * size.times;
  const int numas = size.small ? 2 : dice.Range(3, 4);
  const int requests = size.small ? 2 : dice.Range(3, 4);  // with alternatives, per claim
  const bool feasible = dice.Chance(0.5);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int n = 0; n < numas; ++n) {
    for (int i = 0; i < (size.small ? 1 : 2); ++i) {
      api::Device device = OnNuma(fmt::format("plain{}-{}", n, i), n);
      device.attributes["kind"].string_value = "plain";
      device.allow_multiple_allocations = true;
      list.push_back(std::move(device));
    }
  }
  const auto with_cores = [&](std::string name, bool shared) {
    api::Device device = OnNuma(std::move(name), dice.Range(0, numas - 1));
    device.attributes["kind"].string_value = "cores";
    device.capacity["cores"].value = Amount(shared ? 1000 : 4);
    device.allow_multiple_allocations = shared;
    list.push_back(std::move(device));
  };
  for (int i = 0; i < 2; ++i) with_cores(fmt::format("shared{}", i), true);
  // All requests but one of each claim, or one device fewer.
  const int exclusive = claims * (requests - 1) - (feasible ? 0 : 1);
  for (int i = 0; i < exclusive; ++i) with_cores(fmt::format("own{}", i), false);
  dice.Shuffle(list);
  for (int c = 0; c < claims; ++c) {
    const auto claim = static_cast<std::size_t>(c);
    std::vector<std::string> constrained{"first"};
    b.Request("first", "gpu", 1, claim).selectors = SelectingKind("plain");
    for (int r = 0; r < requests; ++r) {
      auto& request = b.List(fmt::format("r{}", r), claim);
      auto& wide = Builder::Alternative(request, "gpu", numas - 1);
      wide.name = "wide";
      wide.selectors = SelectingKind("plain");
      auto& cores = Builder::Alternative(request, "gpu", 3);
      cores.name = "cores";
      cores.selectors = SelectingKind("cores");
      cores.capacity.emplace();
      cores.capacity->requests["cores"] = Amount(1);
      constrained.push_back(request.name + "/wide");
    }
    // Two of them would need more NUMA nodes than there are.
    b.Distinct(kNuma, constrained, claim);
  }
  return b.Build(feasible);
}

}  // namespace dray::model
