// SPDX-License-Identifier: Apache-2.0
//
// Compatibility groups: KEP-5963, and docs/decisions.md #33, #34 and the rows that refer to them.
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
    case Kind::kClosed:
      break;
  }
  return false;
}

void GroupState::Place(std::span<const NameId> placed) {
  if (kind == Kind::kNothing) {
    kind = placed.empty() ? Kind::kNoGroups : Kind::kGroups;
    groups.assign(placed.begin(), placed.end());
  } else if (kind == Kind::kGroups && !placed.empty()) {
    std::erase_if(groups, [&](NameId group) { return !std::ranges::binary_search(placed, group); });
  }
  // Otherwise it is of the other kind than what came first, and does not count; or it says what is
  // known already.
}

// What was recorded when a device was given is what it was placed with, whatever its slice says
// now. A result that recorded some sets and not this one was placed on it without groups; one that
// recorded nothing (Kubernetes writes no snapshots) goes by the slice. Within a device those
// without groups come first.
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
  const auto set_name = [this](std::uint32_t set) { return devices_->counter_sets()[set].name; };
  for (const inventory::SetUse& use : live) {
    std::uint32_t without = usage.results() - usage.unrecorded;
    for (const GroupSnapshot& snapshot : usage.groups) {
      if (snapshot.counter_set == set_name(use.set)) without -= snapshot.count;
    }
    if (without > 0) groups_[use.set].Place({});
  }
  for (const GroupSnapshot& snapshot : usage.groups) {
    if (const auto set = devices_->FindSet(pool, snapshot.counter_set)) {
      groups_[*set].Place(dictionary.At(snapshot.groups));
    }
  }
  if (usage.unrecorded == 0) return;
  for (const inventory::SetUse& use : live) groups_[use.set].Place(dictionary.At(use.groups));
}

}  // namespace dray::ledger
