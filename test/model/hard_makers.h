// SPDX-License-Identifier: Apache-2.0
//
// The makers behind hard_instances.h, one per family. Not for others.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "model/hard_builder.h"
#include "model/hard_instances.h"

namespace dray::model {

inline constexpr const char* kNuma = "topology.example.com/numa";
inline constexpr const char* kRoot = "resource.kubernetes.io/pcieRoot";
inline constexpr const char* kLanes = "topology.example.com/lanes";

inline base::Quantity Amount(int amount, const char* unit = "") {
  return *base::Quantity::Parse(fmt::format("{}{}", amount, unit));
}

inline api::Device Named(std::string name) {
  api::Device device;
  device.name = std::move(name);
  return device;
}

inline api::Device OnNuma(std::string name, int numa) {
  api::Device device = Named(std::move(name));
  device.attributes[kNuma].int_value = numa;
  return device;
}

inline std::vector<api::DeviceSelector> Selecting(const std::string& expression) {
  return {{.cel = api::CELDeviceSelector{.expression = expression}}};
}
inline std::vector<api::DeviceSelector> SelectingKind(const std::string& kind) {
  return Selecting(fmt::format("device.attributes['gpu.example.com'].kind == '{}'", kind));
}

// A part of the device that the counter set stands for.
inline api::Device PartOf(const std::string& set, std::string name, const std::string& kind,
                          int memory) {
  api::Device device = Named(std::move(name));
  device.attributes["kind"].string_value = kind;
  api::DeviceCounterConsumption use{.counter_set = set};
  use.counters["memory"].value = Amount(memory);
  device.consumes_counters.push_back(std::move(use));
  return device;
}
inline api::CounterSet WithMemory(std::string name, int memory) {
  api::CounterSet set{.name = std::move(name)};
  set.counters["memory"].value = Amount(memory);
  return set;
}

// How large: small enough for enumeration, or `times` the recorded case.
struct HardSize {
  bool small = false;
  int times = 1;

  int Pick(Dice& dice, int if_small, int low, int high) const {
    return small ? if_small : dice.Range(low, high) * times;
  }
};

// The recorded kinds.
HardInstance CapacityOneShort(Dice& dice, HardSize size);
HardInstance DistinctPigeonhole(Dice& dice, HardSize size);
HardInstance GroupsExclusive(Dice& dice, HardSize size, bool feasible);
HardInstance ListIntersection(Dice& dice, HardSize size);
HardInstance ManyClaims(Dice& dice, HardSize size);
HardInstance MatchThreeKinds(Dice& dice, HardSize size, bool feasible);
HardInstance NarrowLast(Dice& dice, HardSize size, bool feasible);
HardInstance OneShort(Dice& dice, HardSize size, int want);
HardInstance PartitionsOneShort(Dice& dice, HardSize size);
HardInstance Prioritized(Dice& dice, HardSize size, bool feasible);
HardInstance TwoRequestsOneShort(Dice& dice, HardSize size);

// Others of that ilk.
HardInstance MatchCrossing(Dice& dice, HardSize size);
HardInstance MatchAndDistinct(Dice& dice, HardSize size);
HardInstance ListChain(Dice& dice, HardSize size);
HardInstance PrioritizedClasses(Dice& dice, HardSize size);
HardInstance PartitionsMixed(Dice& dice, HardSize size);
HardInstance ClaimsOfTwoShapes(Dice& dice, HardSize size);
HardInstance CapacityDimensions(Dice& dice, HardSize size);
HardInstance CapacitySizes(Dice& dice, HardSize size);

// hard_pickers.cc
HardInstance GridPair(Dice& dice, HardSize size);
HardInstance ContradictionLast(Dice& dice, HardSize size);
HardInstance AllAfterSome(Dice& dice, HardSize size);
HardInstance TolerationsOnly(Dice& dice, HardSize size);
HardInstance StarvingAlternatives(Dice& dice, HardSize size);
HardInstance ScarceBehindAlternatives(Dice& dice, HardSize size);

// hard_sets.cc
HardInstance DistinctBlocks(Dice& dice, HardSize size);
HardInstance DistinctComponents(Dice& dice, HardSize size);
HardInstance PairsOfThrees(Dice& dice, HardSize size);
HardInstance Rooks(Dice& dice, HardSize size);
HardInstance CountersInCircles(Dice& dice, HardSize size);

// hard_packings.cc
HardInstance CapacityVectors(Dice& dice, HardSize size);
HardInstance SharesOfDifferentDevices(Dice& dice, HardSize size);
HardInstance ThreeProfiles(Dice& dice, HardSize size);
HardInstance GroupsWithoutACommonOne(Dice& dice, HardSize size);

// hard_random.cc
HardInstance RandomDisjointLists(Dice& dice, HardSize size);
HardInstance RandomVectors(Dice& dice, HardSize size);
HardInstance RandomProfiles(Dice& dice, HardSize size);

}  // namespace dray::model
