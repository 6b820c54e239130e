// SPDX-License-Identifier: Apache-2.0
//
// Compatibility groups: KEP-5963, and docs/decisions.md #33, #34, #80 and #81.
#include <algorithm>

#include "ledger/node_usage.h"

namespace dray::ledger {

using Kind = GroupState::Kind;

bool GroupState::Admits(std::span<const NameId> candidate) const {
  switch (kind) {
    case Kind::kNothing:
      return true;
    case Kind::kNoGroups:
      return candidate.empty();
    case Kind::kGroups:
      return std::ranges::any_of(
          candidate, [this](NameId group) { return std::ranges::binary_search(groups, group); });
    case Kind::kMixed:
    case Kind::kClosed:
      break;
  }
  return false;
}

void GroupState::Place(std::span<const NameId> placed) {
  switch (kind) {
    case Kind::kNothing:
      kind = placed.empty() ? Kind::kNoGroups : Kind::kGroups;
      groups.assign(placed.begin(), placed.end());
      return;
    case Kind::kNoGroups:
      if (!placed.empty()) kind = Kind::kMixed;
      return;
    case Kind::kGroups:
      if (placed.empty()) {
        kind = Kind::kMixed;
        groups.clear();
      } else {
        std::erase_if(groups,
                      [&](NameId group) { return !std::ranges::binary_search(placed, group); });
      }
      return;
    case Kind::kMixed:
    case Kind::kClosed:
      return;
  }
}

// What was recorded when a device was given is what it was placed with, whatever its slice says
// now: groups, or explicitly none. Where a result has no record for a set that the device draws on,
// the slice is all there is to go by: Kubernetes records nothing, and a set that is missing in a
// record was renamed or came later. What is placed does not depend on the order.
void NodeUsage::PlaceGroups(std::uint32_t pool, const DeviceUsage& usage,
                            std::span<const inventory::SetUse> live) {
  const inventory::Dictionary& dictionary = devices_->dictionary();
  if (!devices_->features().compatibility_groups) {
    for (const GroupSnapshot& snapshot : usage.groups) {
      if (snapshot.groups == GroupsId::kNone) continue;
      if (const auto set = devices_->FindSet(pool, snapshot.counter_set)) {
        groups_[*set].kind = Kind::kClosed;
      }
    }
    return;
  }
  for (const GroupSnapshot& snapshot : usage.groups) {
    if (const auto set = devices_->FindSet(pool, snapshot.counter_set)) {
      groups_[*set].Place(dictionary.At(snapshot.groups));
    }
  }
  for (const inventory::SetUse& use : live) {
    const NameId name = devices_->counter_sets()[use.set].name;
    std::uint32_t unrecorded = usage.results();
    for (const GroupSnapshot& snapshot : usage.groups) {
      if (snapshot.counter_set == name) unrecorded -= snapshot.count;
    }
    if (unrecorded > 0) groups_[use.set].Place(dictionary.At(use.groups));
  }
}

}  // namespace dray::ledger
