// SPDX-License-Identifier: Apache-2.0
//
// GroupState: the compatibility groups of what is placed on a counter set, and how a device in use
// is placed.
//
// Spec: KEP-5963; docs/decisions.md for what it leaves open.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "inventory/dictionary.h"
#include "ledger/ledger.h"

namespace dray::ledger {

// The compatibility groups of what is placed on a counter set.
struct GroupState {
  enum class Kind : std::uint8_t {
    kNothing,   // nothing placed: anything may come
    kNoGroups,  // only devices without groups
    kGroups,    // only devices with groups that intersect `groups`
    kMixed,     // devices with and without groups, which never go together: no device at all
    kClosed,    // groups are recorded and the feature is off: no device at all
  };
  Kind kind = Kind::kNothing;
  // With kGroups: the intersection so far, sorted; empty: nothing more is admitted.
  std::vector<NameId> groups;

  bool Admits(std::span<const NameId> candidate) const;
  void Place(std::span<const NameId> placed);
  friend bool operator==(const GroupState&, const GroupState&) = default;
};

// How a device in use is placed, as calls of `place(counter set, groups)`. `live` are the sets that
// its slice draws on now, as pairs of counter set and GroupsId.
//
// What was recorded when a device was given is what it was placed with, whatever its slice says
// now: groups, or explicitly none. Where a result has no record for a set that the device draws on,
// the slice is all there is to go by: Kubernetes records nothing, and a set that is missing in a
// record was renamed or came later. What is placed does not depend on the order.
template <typename Live, typename F>
void ForEachPlacement(const DeviceUsage& usage, const Live& live, F place) {
  for (const GroupSnapshot& snapshot : usage.groups) place(snapshot.counter_set, snapshot.groups);
  for (const auto& [set, groups] : live) {
    std::uint32_t unrecorded = usage.results();
    for (const GroupSnapshot& snapshot : usage.groups) {
      if (snapshot.counter_set == set) unrecorded -= snapshot.count;
    }
    if (unrecorded > 0) place(set, groups);
  }
}

}  // namespace dray::ledger
