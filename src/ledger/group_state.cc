// SPDX-License-Identifier: Apache-2.0
//
// Compatibility groups: KEP-5963, and docs/decisions.md #33, #34, #80 and #81.
#include "ledger/group_state.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
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
  absl::InlinedVector<std::pair<NameId, GroupsId>, 4> sets;
  for (const inventory::SetUse& use : live) {
    sets.emplace_back(devices_->counter_sets()[use.set].name, use.groups);
  }
  ForEachPlacement(usage, sets, [&](NameId set, GroupsId groups) {
    if (const auto found = devices_->FindSet(pool, set)) {
      groups_[*found].Place(dictionary.At(groups));
    }
  });
}

}  // namespace dray::ledger
