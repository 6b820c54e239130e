// SPDX-License-Identifier: Apache-2.0
#include "model/hard_instances.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "model/hard_makers.h"

namespace dray::model {
namespace {

// A new kind is its maker and a row here.
struct Family {
  HardKind kind;
  std::string_view name;
  HardInstance (*make)(Dice& dice, HardSize size);
};
constexpr Family kFamilies[] = {
    {HardKind::kCapacityOneShort, "capacity-one-short", CapacityOneShort},
    {HardKind::kDistinctPigeonhole, "distinct-pigeonhole", DistinctPigeonhole},
    {HardKind::kGroupsExclusiveFeasible, "groups-exclusive-feasible",
     [](Dice& dice, HardSize size) { return GroupsExclusive(dice, size, true); }},
    {HardKind::kGroupsExclusiveInfeasible, "groups-exclusive-infeasible",
     [](Dice& dice, HardSize size) { return GroupsExclusive(dice, size, false); }},
    {HardKind::kListIntersectionInfeasible, "list-intersection-infeasible", ListIntersection},
    {HardKind::kManyClaimsInfeasible, "many-claims-infeasible", ManyClaims},
    {HardKind::kMatchThreeKindsInfeasible, "match-three-kinds-infeasible",
     [](Dice& dice, HardSize size) { return MatchThreeKinds(dice, size, false); }},
    {HardKind::kMatchThreeKindsLastNuma, "match-three-kinds-last-numa",
     [](Dice& dice, HardSize size) { return MatchThreeKinds(dice, size, true); }},
    {HardKind::kNarrowRequestLast, "narrow-request-last",
     [](Dice& dice, HardSize size) { return NarrowLast(dice, size, true); }},
    {HardKind::kNarrowRequestLastInfeasible, "narrow-request-last-infeasible",
     [](Dice& dice, HardSize size) { return NarrowLast(dice, size, false); }},
    {HardKind::kOneShort16, "one-short-16",
     [](Dice& dice, HardSize size) { return OneShort(dice, size, 16); }},
    {HardKind::kOneShort24, "one-short-24",
     [](Dice& dice, HardSize size) { return OneShort(dice, size, 24); }},
    {HardKind::kOneShort32, "one-short-32",
     [](Dice& dice, HardSize size) { return OneShort(dice, size, 32); }},
    {HardKind::kPartitionsOneShort, "partitions-one-short", PartitionsOneShort},
    {HardKind::kPrioritizedInfeasible, "prioritized-infeasible",
     [](Dice& dice, HardSize size) { return Prioritized(dice, size, false); }},
    {HardKind::kPrioritizedTight, "prioritized-tight",
     [](Dice& dice, HardSize size) { return Prioritized(dice, size, true); }},
    {HardKind::kTwoRequestsOneShort, "two-requests-one-short", TwoRequestsOneShort},
    {HardKind::kMatchCrossing, "match-crossing", MatchCrossing},
    {HardKind::kMatchAndDistinct, "match-and-distinct", MatchAndDistinct},
    {HardKind::kListChain, "list-chain", ListChain},
    {HardKind::kPrioritizedClasses, "prioritized-classes", PrioritizedClasses},
    {HardKind::kPartitionsMixed, "partitions-mixed", PartitionsMixed},
    {HardKind::kClaimsOfTwoShapes, "claims-of-two-shapes", ClaimsOfTwoShapes},
    {HardKind::kCapacityDimensions, "capacity-dimensions", CapacityDimensions},
    {HardKind::kCapacitySizes, "capacity-sizes", CapacitySizes},
    {HardKind::kGridPair, "grid-pair", GridPair},
    {HardKind::kContradictionLast, "contradiction-last", ContradictionLast},
    {HardKind::kAllAfterSome, "all-after-some", AllAfterSome},
    {HardKind::kTolerationsOnly, "tolerations-only", TolerationsOnly},
    {HardKind::kStarvingAlternatives, "starving-alternatives", StarvingAlternatives},
    {HardKind::kScarceBehindAlternatives, "scarce-behind-alternatives", ScarceBehindAlternatives},
    {HardKind::kDistinctBlocks, "distinct-blocks", DistinctBlocks},
    {HardKind::kDistinctComponents, "distinct-components", DistinctComponents},
    {HardKind::kPairsOfThrees, "pairs-of-threes", PairsOfThrees},
    {HardKind::kRooks, "rooks", Rooks},
    {HardKind::kCountersInCircles, "counters-in-circles", CountersInCircles},
    {HardKind::kCapacityVectors, "capacity-vectors", CapacityVectors},
    {HardKind::kSharesOfDifferentDevices, "shares-of-different-devices", SharesOfDifferentDevices},
    {HardKind::kThreeProfiles, "three-profiles", ThreeProfiles},
    {HardKind::kGroupsWithoutACommonOne, "groups-without-a-common-one", GroupsWithoutACommonOne},
    {HardKind::kRandomDisjointLists, "random-disjoint-lists", RandomDisjointLists},
    {HardKind::kRandomVectors, "random-vectors", RandomVectors},
    {HardKind::kRandomProfiles, "random-profiles", RandomProfiles},
};

const Family& FamilyOf(HardKind kind) { return *std::ranges::find(kFamilies, kind, &Family::kind); }

}  // namespace

const std::vector<HardKind>& HardKinds() {
  static const std::vector<HardKind> kinds = [] {
    std::vector<HardKind> list;
    for (const Family& family : kFamilies) list.push_back(family.kind);
    return list;
  }();
  return kinds;
}

std::string_view NameOf(HardKind kind) { return FamilyOf(kind).name; }

HardInstance RandomHardInstance(Dice& dice, HardKind kind, bool small, int times) {
  HardInstance made = FamilyOf(kind).make(dice, {.small = small, .times = times});
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
