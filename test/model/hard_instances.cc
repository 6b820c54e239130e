// SPDX-License-Identifier: Apache-2.0
#include "model/hard_instances.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "model/hard_builder.h"

namespace dray::model {
namespace {

constexpr const char* kNuma = "topology.example.com/numa";

base::Quantity Amount(int amount, const char* unit = "") {
  return *base::Quantity::Parse(fmt::format("{}{}", amount, unit));
}

api::Device Named(std::string name) {
  api::Device device;
  device.name = std::move(name);
  return device;
}

api::Device OnNuma(std::string name, int numa) {
  api::Device device = Named(std::move(name));
  device.attributes[kNuma].int_value = numa;
  return device;
}

std::vector<api::DeviceSelector> Selecting(const std::string& expression) {
  return {{.cel = api::CELDeviceSelector{.expression = expression}}};
}

HardInstance CapacityOneShort(Dice& dice, bool small) {
  const int devices = small ? dice.Range(1, 2) : dice.Range(3, 6);
  const int fit = dice.Range(2, small ? 2 : 4);
  const int share = 30;
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int i = 0; i < devices; ++i) {
    api::Device device = Named(fmt::format("g{}", i));
    device.allow_multiple_allocations = true;
    device.capacity["memory"].value = Amount(share * fit + dice.Range(0, share - 1), "Gi");
    list.push_back(std::move(device));
  }
  const int requests = std::min(devices * fit + 1, 32);
  for (int i = 0; i < requests; ++i) {
    auto& request = b.Request(fmt::format("r{}", i), "gpu", 1);
    request.capacity.emplace();
    request.capacity->requests["memory"] = Amount(share, "Gi");
  }
  return b.Build(requests <= devices * fit);
}

HardInstance DistinctPigeonhole(Dice& dice, bool small) {
  const int values = small ? dice.Range(2, 3) : dice.Range(6, 12);
  const int each = dice.Range(2, small ? 3 : 9);
  const bool feasible = dice.Chance(0.2);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int v = 0; v < values; ++v) {
    for (int i = 0; i < each; ++i) list.push_back(OnNuma(fmt::format("g{}-{}", v, i), v));
  }
  b.Request("gpu", "gpu", values + (feasible ? 0 : 1));
  api::DeviceConstraint constraint;
  constraint.requests = {"gpu"};
  constraint.distinct_attribute = kNuma;
  b.claim().constraints.push_back(std::move(constraint));
  return b.Build(feasible);
}

// Each GPU is either cut into `mig` parts or into `vgpu` parts.
HardInstance GroupsExclusive(Dice& dice, bool small, bool feasible) {
  const int gpus = small ? 2 : dice.Range(4, 8);
  const int mig = small ? 2 : 4;
  const int vgpu = 2;
  const int for_mig = dice.Range(1, gpus - 1);
  Builder b(dice);
  auto& counters = b.Counters("gpu");
  for (int g = 0; g < gpus; ++g) {
    api::CounterSet set{.name = fmt::format("gpu{}", g)};
    set.counters["memory"].value = Amount(100);
    counters.push_back(std::move(set));
  }
  auto& list = b.Devices("gpu");
  const auto add = [&](int g, const std::string& kind, int parts, int memory) {
    for (int i = 0; i < parts; ++i) {
      api::Device device = Named(fmt::format("gpu{}-{}{}", g, kind, i));
      device.attributes["kind"].string_value = kind;
      api::DeviceCounterConsumption use{.counter_set = fmt::format("gpu{}", g)};
      use.counters["memory"].value = Amount(memory);
      use.compatibility_groups = {kind};
      device.consumes_counters.push_back(std::move(use));
      list.push_back(std::move(device));
    }
  };
  for (int g = 0; g < gpus; ++g) {
    add(g, "mig", mig, 20);
    add(g, "vgpu", vgpu, 50);
  }
  int want_mig = for_mig * mig;
  int want_vgpu = (gpus - for_mig) * vgpu;
  if (!feasible) ++(dice.Chance(0.5) ? want_mig : want_vgpu);
  const auto request = [&](const std::string& kind, int count) {
    b.Request(kind, "gpu", count).selectors =
        Selecting(fmt::format("device.attributes['gpu.example.com'].kind == '{}'", kind));
  };
  if (dice.Chance(0.5)) {
    request("vgpu", want_vgpu);
    request("mig", want_mig);
  } else {
    request("mig", want_mig);
    request("vgpu", want_vgpu);
  }
  return b.Build(feasible);
}

HardInstance ListIntersection(Dice& dice, bool small) {
  const int roots = small ? 4 : dice.Range(12, 24);
  const int cpus = small ? 3 : dice.Range(12, 20);
  Builder b(dice);
  auto& cpu = b.Devices("cpu");
  for (int i = 0; i < cpus; ++i) {
    std::vector<std::string> list;
    for (int k = 0; k < 4; ++k) list.push_back(fmt::format("pci{:02}", dice.Range(0, roots - 1)));
    api::Device device = Named(fmt::format("cpu{}", i));
    device.attributes["resource.kubernetes.io/pcieRoot"].MutableLists().string_values = list;
    cpu.push_back(std::move(device));
  }
  auto& nic = b.Devices("nic");
  for (int i = 0; i < roots; ++i) {
    api::Device device = Named(fmt::format("nic{}", i));
    device.attributes["resource.kubernetes.io/pcieRoot"].string_value = fmt::format("pci{:02}", i);
    nic.push_back(std::move(device));
  }
  b.Request("cpu", "cpu", dice.Range(2, 3));
  b.Request("nic", "nic", 2);  // no root has two
  b.Match("resource.kubernetes.io/pcieRoot");
  return b.Build(false);
}

HardInstance ManyClaims(Dice& dice, bool small) {
  const int claims = small ? 2 : dice.Range(5, 10);
  Builder b(dice);
  auto& gpu = b.Devices("gpu");
  for (int n = 0; n < claims; ++n) {
    for (int i = 0; i < 2; ++i) gpu.push_back(OnNuma(fmt::format("gpu{}-{}", n, i), n));
  }
  auto& nic = b.Devices("nic");
  for (int n = 0; n + 1 < claims; ++n) nic.push_back(OnNuma(fmt::format("nic{}-0", n), n));
  for (int c = 0; c < claims; ++c) {
    b.Request("gpu", "gpu", 1, static_cast<std::size_t>(c));
    b.Request("nic", "nic", 1, static_cast<std::size_t>(c));
    b.Match(kNuma, static_cast<std::size_t>(c));
  }
  return b.Build(false);
}

HardInstance MatchThreeKinds(Dice& dice, bool small, bool feasible) {
  const int numas = small ? 2 : dice.Range(4, 10);
  const int want = small ? 2 : dice.Range(3, 4);
  const int each = small ? 3 : dice.Range(6, 8);
  const int nics = 2;
  Builder b(dice);
  auto& gpu = b.Devices("gpu");
  for (int n = 0; n < numas; ++n) {
    for (int i = 0; i < each; ++i) gpu.push_back(OnNuma(fmt::format("gpu{}-{}", n, i), n));
  }
  auto& cpu = b.Devices("cpu");
  for (int n = 0; n < numas; ++n) {
    for (int i = 0; i < each; ++i) cpu.push_back(OnNuma(fmt::format("cpu{}-{}", n, i), n));
  }
  auto& nic = b.Devices("nic");
  for (int n = 0; n < numas; ++n) {
    const int here = feasible && n + 1 == numas ? nics : nics - 1;
    for (int i = 0; i < here; ++i) nic.push_back(OnNuma(fmt::format("nic{}-{}", n, i), n));
  }
  b.Request("gpu", "gpu", want);
  b.Request("cpu", "cpu", want);
  b.Request("nic", "nic", nics);
  b.Match(kNuma);
  return b.Build(feasible);
}

HardInstance NarrowLast(Dice& dice, bool small, bool feasible) {
  const int devices = small ? dice.Range(5, 7) : dice.Range(20, 30);
  const int wide = small ? 3 : dice.Range(8, 12);
  const int big = dice.Range(1, small ? 2 : 3);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int i = 0; i < devices; ++i) {
    api::Device device = Named(fmt::format("g{}", i));
    device.attributes["big"].bool_value = i < big;
    list.push_back(std::move(device));
  }
  b.Request("wide", "gpu", wide);
  b.Request("narrow", "gpu", feasible ? dice.Range(1, big) : big + 1).selectors =
      Selecting("device.attributes['gpu.example.com'].big");
  return b.Build(feasible);
}

HardInstance OneShort(Dice& dice, bool small, int size) {
  const int want = small ? size / 4 : dice.Range(std::max(2, size - 6), size);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int i = 0; i + 1 < want; ++i) {
    api::Device device = Named(fmt::format("g{}", i));
    // Values that differ, though nobody asks for them.
    device.attributes["index"].int_value = i;
    list.push_back(std::move(device));
  }
  b.Request("gpu", "gpu", want);
  return b.Build(false);
}

HardInstance PartitionsOneShort(Dice& dice, bool small) {
  const int gpus = small ? 2 : dice.Range(5, 8);
  const int fit = small ? 1 : 3;
  const int parts = small ? 2 : dice.Range(5, 7);
  Builder b(dice);
  auto& counters = b.Counters("gpu");
  for (int g = 0; g < gpus; ++g) {
    api::CounterSet set{.name = fmt::format("gpu{}", g)};
    set.counters["memory"].value = Amount(30 * fit + dice.Range(0, 29));
    counters.push_back(std::move(set));
  }
  auto& list = b.Devices("gpu");
  for (int g = 0; g < gpus; ++g) {
    for (int i = 0; i < parts; ++i) {
      api::Device device = Named(fmt::format("gpu{}-p{}", g, i));
      api::DeviceCounterConsumption use{.counter_set = fmt::format("gpu{}", g)};
      use.counters["memory"].value = Amount(30);
      device.consumes_counters.push_back(std::move(use));
      list.push_back(std::move(device));
    }
  }
  b.Request("gpu", "gpu", gpus * fit + 1);
  return b.Build(false);
}

HardInstance Prioritized(Dice& dice, bool small, bool feasible) {
  const int requests = small ? 3 : dice.Range(8, 12);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  const int devices = requests * 2 - (feasible ? 0 : 1);
  for (int i = 0; i < devices; ++i) list.push_back(Named(fmt::format("g{}", i)));
  for (int i = 0; i < requests; ++i) {
    auto& request = b.claim().requests.emplace_back();
    request.name = fmt::format("r{}", i);
    for (const int count : {4, 3, 2}) {
      api::DeviceSubRequest sub;
      sub.name = fmt::format("o{}", count);
      sub.device_class_name = "gpu";
      sub.allocation_mode = "ExactCount";
      sub.count = count;
      request.first_available.push_back(std::move(sub));
    }
  }
  return b.Build(feasible);
}

HardInstance TwoRequestsOneShort(Dice& dice, bool small) {
  const int first = small ? 3 : dice.Range(8, 16);
  const int second = small ? 3 : dice.Range(8, 16);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int i = 0; i + 1 < first + second; ++i) list.push_back(Named(fmt::format("g{}", i)));
  b.Request("a", "gpu", first);
  // In one claim or in two, there is one device too few.
  b.Request("b", "gpu", second, dice.Chance(0.5) ? 0 : 1);
  return b.Build(false);
}

struct KindName {
  HardKind kind;
  std::string_view name;
};
constexpr KindName kNames[] = {
    {HardKind::kCapacityOneShort, "capacity-one-short"},
    {HardKind::kDistinctPigeonhole, "distinct-pigeonhole"},
    {HardKind::kGroupsExclusiveFeasible, "groups-exclusive-feasible"},
    {HardKind::kGroupsExclusiveInfeasible, "groups-exclusive-infeasible"},
    {HardKind::kListIntersectionInfeasible, "list-intersection-infeasible"},
    {HardKind::kManyClaimsInfeasible, "many-claims-infeasible"},
    {HardKind::kMatchThreeKindsInfeasible, "match-three-kinds-infeasible"},
    {HardKind::kMatchThreeKindsLastNuma, "match-three-kinds-last-numa"},
    {HardKind::kNarrowRequestLast, "narrow-request-last"},
    {HardKind::kNarrowRequestLastInfeasible, "narrow-request-last-infeasible"},
    {HardKind::kOneShort16, "one-short-16"},
    {HardKind::kOneShort24, "one-short-24"},
    {HardKind::kOneShort32, "one-short-32"},
    {HardKind::kPartitionsOneShort, "partitions-one-short"},
    {HardKind::kPrioritizedInfeasible, "prioritized-infeasible"},
    {HardKind::kPrioritizedTight, "prioritized-tight"},
    {HardKind::kTwoRequestsOneShort, "two-requests-one-short"},
};

HardInstance Make(Dice& dice, HardKind kind, bool small) {
  switch (kind) {
    case HardKind::kCapacityOneShort:
      return CapacityOneShort(dice, small);
    case HardKind::kDistinctPigeonhole:
      return DistinctPigeonhole(dice, small);
    case HardKind::kGroupsExclusiveFeasible:
      return GroupsExclusive(dice, small, true);
    case HardKind::kGroupsExclusiveInfeasible:
      return GroupsExclusive(dice, small, false);
    case HardKind::kListIntersectionInfeasible:
      return ListIntersection(dice, small);
    case HardKind::kManyClaimsInfeasible:
      return ManyClaims(dice, small);
    case HardKind::kMatchThreeKindsInfeasible:
      return MatchThreeKinds(dice, small, false);
    case HardKind::kMatchThreeKindsLastNuma:
      return MatchThreeKinds(dice, small, true);
    case HardKind::kNarrowRequestLast:
      return NarrowLast(dice, small, true);
    case HardKind::kNarrowRequestLastInfeasible:
      return NarrowLast(dice, small, false);
    case HardKind::kOneShort16:
      return OneShort(dice, small, 16);
    case HardKind::kOneShort24:
      return OneShort(dice, small, 24);
    case HardKind::kOneShort32:
      return OneShort(dice, small, 32);
    case HardKind::kPartitionsOneShort:
      return PartitionsOneShort(dice, small);
    case HardKind::kPrioritizedInfeasible:
      return Prioritized(dice, small, false);
    case HardKind::kPrioritizedTight:
      return Prioritized(dice, small, true);
    case HardKind::kTwoRequestsOneShort:
      return TwoRequestsOneShort(dice, small);
  }
  return {};
}

}  // namespace

const std::vector<HardKind>& HardKinds() {
  static const std::vector<HardKind> kinds = [] {
    std::vector<HardKind> list;
    for (const KindName& entry : kNames) list.push_back(entry.kind);
    return list;
  }();
  return kinds;
}

std::string_view NameOf(HardKind kind) {
  return std::ranges::find(kNames, kind, &KindName::kind)->name;
}

HardInstance RandomHardInstance(Dice& dice, HardKind kind, bool small) {
  HardInstance made = Make(dice, kind, small);
  made.instance.name = std::string(NameOf(kind));
  return made;
}

HardInstance RandomHardPair(Dice& dice, HardKind first, HardKind second, bool small) {
  HardInstance pair = RandomHardInstance(dice, first, small);
  const HardInstance other = RandomHardInstance(dice, second, small);
  // The same with other names: drivers and domains in objects and expressions alike.
  std::string text = WriteInstance(other.instance);
  constexpr std::string_view kDomain = ".example.com";
  for (std::size_t at = text.find(kDomain); at != std::string::npos; at = text.find(kDomain, at)) {
    text.replace(at, kDomain.size(), ".example.org");
  }
  Instance renamed = *ParseInstance(text);
  for (auto& c : renamed.classes) c.metadata.name += "-2";
  for (auto& slice : renamed.slices) slice.metadata.name += "-2";
  for (auto& claim : renamed.claims) {
    claim.metadata.name += "-2";
    for (auto& request : claim.spec.devices.requests) {
      if (request.exactly) request.exactly->device_class_name += "-2";
      for (auto& sub : request.first_available) sub.device_class_name += "-2";
    }
  }
  Instance& both = pair.instance;
  both.name = fmt::format("{}+{}", NameOf(first), NameOf(second));
  const auto append = [&](auto& to, auto& from) {
    for (auto& item : from) to.push_back(std::move(item));
  };
  append(both.classes, renamed.classes);
  append(both.slices, renamed.slices);
  append(both.claims, renamed.claims);
  dice.Shuffle(both.slices);
  dice.Shuffle(both.claims);
  pair.feasible = pair.feasible && other.feasible;
  return pair;
}

}  // namespace dray::model
