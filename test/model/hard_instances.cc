// SPDX-License-Identifier: Apache-2.0
#include "model/hard_instances.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "model/hard_makers.h"

namespace dray::model {
namespace {

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
    {HardKind::kMatchCrossing, "match-crossing"},
    {HardKind::kMatchAndDistinct, "match-and-distinct"},
    {HardKind::kListChain, "list-chain"},
    {HardKind::kPrioritizedClasses, "prioritized-classes"},
    {HardKind::kPartitionsMixed, "partitions-mixed"},
    {HardKind::kClaimsOfTwoShapes, "claims-of-two-shapes"},
    {HardKind::kCapacityDimensions, "capacity-dimensions"},
    {HardKind::kCapacitySizes, "capacity-sizes"},
};

HardInstance Make(Dice& dice, HardKind kind, HardSize size) {
  switch (kind) {
    case HardKind::kCapacityOneShort:
      return CapacityOneShort(dice, size);
    case HardKind::kDistinctPigeonhole:
      return DistinctPigeonhole(dice, size);
    case HardKind::kGroupsExclusiveFeasible:
      return GroupsExclusive(dice, size, true);
    case HardKind::kGroupsExclusiveInfeasible:
      return GroupsExclusive(dice, size, false);
    case HardKind::kListIntersectionInfeasible:
      return ListIntersection(dice, size);
    case HardKind::kManyClaimsInfeasible:
      return ManyClaims(dice, size);
    case HardKind::kMatchThreeKindsInfeasible:
      return MatchThreeKinds(dice, size, false);
    case HardKind::kMatchThreeKindsLastNuma:
      return MatchThreeKinds(dice, size, true);
    case HardKind::kNarrowRequestLast:
      return NarrowLast(dice, size, true);
    case HardKind::kNarrowRequestLastInfeasible:
      return NarrowLast(dice, size, false);
    case HardKind::kOneShort16:
      return OneShort(dice, size, 16);
    case HardKind::kOneShort24:
      return OneShort(dice, size, 24);
    case HardKind::kOneShort32:
      return OneShort(dice, size, 32);
    case HardKind::kPartitionsOneShort:
      return PartitionsOneShort(dice, size);
    case HardKind::kPrioritizedInfeasible:
      return Prioritized(dice, size, false);
    case HardKind::kPrioritizedTight:
      return Prioritized(dice, size, true);
    case HardKind::kTwoRequestsOneShort:
      return TwoRequestsOneShort(dice, size);
    case HardKind::kMatchCrossing:
      return MatchCrossing(dice, size);
    case HardKind::kMatchAndDistinct:
      return MatchAndDistinct(dice, size);
    case HardKind::kListChain:
      return ListChain(dice, size);
    case HardKind::kPrioritizedClasses:
      return PrioritizedClasses(dice, size);
    case HardKind::kPartitionsMixed:
      return PartitionsMixed(dice, size);
    case HardKind::kClaimsOfTwoShapes:
      return ClaimsOfTwoShapes(dice, size);
    case HardKind::kCapacityDimensions:
      return CapacityDimensions(dice, size);
    case HardKind::kCapacitySizes:
      return CapacitySizes(dice, size);
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

HardInstance RandomHardInstance(Dice& dice, HardKind kind, bool small, int times) {
  HardInstance made = Make(dice, kind, {.small = small, .times = times});
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
