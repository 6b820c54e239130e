// SPDX-License-Identifier: Apache-2.0
//
// Relatives of the hard cases of shared/bench/allocator-hard: the same kinds of trouble in other
// sizes, with other names, selectors and neighbours. Each is built so that its answer is known
// without a search, which is what makes large ones useful.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/dice.h"
#include "model/instance.h"

namespace dray::model {

enum class HardKind : std::uint8_t {
  kCapacityOneShort,
  kDistinctPigeonhole,
  kGroupsExclusiveFeasible,
  kGroupsExclusiveInfeasible,
  kListIntersectionInfeasible,
  kManyClaimsInfeasible,
  kMatchThreeKindsInfeasible,
  kMatchThreeKindsLastNuma,
  kNarrowRequestLast,
  kNarrowRequestLastInfeasible,
  kOneShort16,
  kOneShort24,
  kOneShort32,
  kPartitionsOneShort,
  kPrioritizedInfeasible,
  kPrioritizedTight,
  kTwoRequestsOneShort,
  // Not recorded: several rules at once, things of different sizes.
  kMatchCrossing,
  kMatchAndDistinct,
  kListChain,
  kPrioritizedClasses,
  kPartitionsMixed,
  kClaimsOfTwoShapes,
  kCapacityDimensions,
  kCapacitySizes,
  // Something easy before something picky.
  kGridPair,
  kContradictionLast,
  kAllAfterSome,
  kTolerationsOnly,
  kStarvingAlternatives,
  kScarceBehindAlternatives,
  // Packings of sets.
  kDistinctBlocks,
  kDistinctComponents,
  kPairsOfThrees,
  kRooks,
  kCountersInCircles,
  // Packings of amounts.
  kCapacityVectors,
  kSharesOfDifferentDevices,
  kThreeProfiles,
  kGroupsWithoutACommonOne,
  // Random ones at the edge, by an oracle.
  kRandomDisjointLists,
  kRandomVectors,
  kRandomProfiles,
};
const std::vector<HardKind>& HardKinds();
std::string_view NameOf(HardKind kind);

struct HardInstance {
  Instance instance;
  bool feasible = false;
};

// Small ones can be enumerated by the model; the others are as large as the recorded case or
// larger: `times` as large.
HardInstance RandomHardInstance(Dice& dice, HardKind kind, bool small = false, int times = 1);

// Two of them side by side on one node, in claims that are allocated together: what is hard about
// one must not hide what is hard about the other. Feasible when both are.
HardInstance RandomHardPair(Dice& dice, HardKind first, HardKind second, bool small = false);

}  // namespace dray::model
