// SPDX-License-Identifier: Apache-2.0
//
// Relatives of the recorded hard cases.
#include "model/hard_makers.h"

namespace dray::model {

HardInstance CapacityOneShort(Dice& dice, HardSize size) {
  const int devices = size.small ? dice.Range(1, 2) : dice.Range(3, 6) * size.times;
  const int fit = dice.Range(2, size.small ? 2 : 4);
  const int share = 30;
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int i = 0; i < devices; ++i) {
    api::Device device = Named(fmt::format("g{}", i));
    device.allow_multiple_allocations = true;
    device.capacity["memory"].value = Amount(share * fit + dice.Range(0, share - 1), "Gi");
    list.push_back(std::move(device));
  }
  const int requests = devices * fit + 1;
  for (int i = 0; i < requests; ++i) {
    auto& request =
        b.Request(fmt::format("r{}", i), "gpu", 1, static_cast<std::size_t>(i / kPerClaim));
    request.capacity.emplace();
    request.capacity->requests["memory"] = Amount(share, "Gi");
  }
  return b.Build(false);
}

HardInstance DistinctPigeonhole(Dice& dice, HardSize size) {
  const int values = size.small ? dice.Range(2, 3) : dice.Range(6, 12);
  const int each = size.small ? dice.Range(2, 3) : dice.Range(2, 9) * size.times;
  const bool feasible = dice.Chance(0.2);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int v = 0; v < values; ++v) {
    for (int i = 0; i < each; ++i) list.push_back(OnNuma(fmt::format("g{}-{}", v, i), v));
  }
  b.Request("gpu", "gpu", values + (feasible ? 0 : 1));
  b.Distinct(kNuma, {"gpu"});
  return b.Build(feasible);
}

// Each GPU is either cut into `mig` parts or into `vgpu` parts.
HardInstance GroupsExclusive(Dice& dice, HardSize size, bool feasible) {
  const int gpus = size.Pick(dice, 2, 4, 8);
  const int mig = size.small ? 2 : 4;
  const int vgpu = 2;
  const int for_mig = dice.Range(1, gpus - 1);
  Builder b(dice);
  auto& counters = b.Counters("gpu");
  for (int g = 0; g < gpus; ++g) counters.push_back(WithMemory(fmt::format("gpu{}", g), 100));
  auto& list = b.Devices("gpu");
  const auto add = [&](int g, const std::string& kind, int parts, int memory) {
    for (int i = 0; i < parts; ++i) {
      api::Device device =
          PartOf(fmt::format("gpu{}", g), fmt::format("gpu{}-{}{}", g, kind, i), kind, memory);
      device.consumes_counters[0].compatibility_groups = {kind};
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
    b.Spread(kind, "gpu", count, [&](auto& asked) { asked.selectors = SelectingKind(kind); });
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

HardInstance ListIntersection(Dice& dice, HardSize size) {
  const int roots = size.Pick(dice, 4, 12, 24);
  const int cpus = size.Pick(dice, 3, 12, 20);
  Builder b(dice);
  auto& cpu = b.Devices("cpu");
  for (int i = 0; i < cpus; ++i) {
    std::vector<std::string> list;
    for (int k = 0; k < 4; ++k) list.push_back(fmt::format("pci{:02}", dice.Range(0, roots - 1)));
    api::Device device = Named(fmt::format("cpu{}", i));
    device.attributes[kRoot].MutableLists().string_values = list;
    cpu.push_back(std::move(device));
  }
  auto& nic = b.Devices("nic");
  for (int i = 0; i < roots; ++i) {
    api::Device device = Named(fmt::format("nic{}", i));
    device.attributes[kRoot].string_value = fmt::format("pci{:02}", i);
    nic.push_back(std::move(device));
  }
  b.Request("cpu", "cpu", dice.Range(2, 3));
  b.Request("nic", "nic", 2);  // no root has two
  b.Match(kRoot);
  return b.Build(false);
}

HardInstance ManyClaims(Dice& dice, HardSize size) {
  const int claims = size.Pick(dice, 2, 5, 10);
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

HardInstance MatchThreeKinds(Dice& dice, HardSize size, bool feasible) {
  const int numas = size.Pick(dice, 2, 4, 10);
  const int want = size.small ? 2 : dice.Range(3, 4);
  const int each = size.small ? 3 : dice.Range(6, 8);
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

HardInstance NarrowLast(Dice& dice, HardSize size, bool feasible) {
  const int devices = size.small ? dice.Range(5, 7) : dice.Range(20, 30) * size.times;
  const int wide = size.small ? 3 : dice.Range(8, 12);
  const int big = dice.Range(1, size.small ? 2 : 3);
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

HardInstance OneShort(Dice& dice, HardSize size, int recorded) {
  const int want =
      size.small ? recorded / 4 : dice.Range(std::max(2, recorded - 6), recorded) * size.times;
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int i = 0; i + 1 < want; ++i) {
    api::Device device = Named(fmt::format("g{}", i));
    // Values that differ, though nobody asks for them.
    device.attributes["index"].int_value = i;
    list.push_back(std::move(device));
  }
  b.Spread("gpu", "gpu", want, [](auto&) {});
  return b.Build(false);
}

HardInstance PartitionsOneShort(Dice& dice, HardSize size) {
  const int gpus = size.Pick(dice, 2, 5, 8);
  const int fit = size.small ? 1 : 3;
  const int parts = size.small ? 2 : dice.Range(5, 7);
  Builder b(dice);
  auto& counters = b.Counters("gpu");
  for (int g = 0; g < gpus; ++g) {
    counters.push_back(WithMemory(fmt::format("gpu{}", g), 30 * fit + dice.Range(0, 29)));
  }
  auto& list = b.Devices("gpu");
  for (int g = 0; g < gpus; ++g) {
    for (int i = 0; i < parts; ++i) {
      list.push_back(PartOf(fmt::format("gpu{}", g), fmt::format("gpu{}-p{}", g, i), "part", 30));
    }
  }
  b.Spread("gpu", "gpu", gpus * fit + 1, [](auto&) {});
  return b.Build(false);
}

HardInstance Prioritized(Dice& dice, HardSize size, bool feasible) {
  const int requests = size.Pick(dice, 3, 8, 12);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  const int devices = requests * 2 - (feasible ? 0 : 1);
  for (int i = 0; i < devices; ++i) list.push_back(Named(fmt::format("g{}", i)));
  for (int i = 0; i < requests; ++i) {
    auto& request = b.List(fmt::format("r{}", i), static_cast<std::size_t>(i / 12));
    for (const int count : {4, 3, 2}) b.Alternative(request, "gpu", count);
  }
  return b.Build(feasible);
}

HardInstance TwoRequestsOneShort(Dice& dice, HardSize size) {
  const int first = size.Pick(dice, 3, 8, 16);
  const int second = size.Pick(dice, 3, 8, 16);
  Builder b(dice);
  auto& list = b.Devices("gpu");
  for (int i = 0; i + 1 < first + second; ++i) list.push_back(Named(fmt::format("g{}", i)));
  b.Spread("a", "gpu", first, [](auto&) {});
  // In one claim or in two, there is one device too few.
  b.Spread(
      "b", "gpu", second, [](auto&) {}, dice.Chance(0.5) ? 0 : 1);
  return b.Build(false);
}

}  // namespace dray::model
