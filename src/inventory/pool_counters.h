// SPDX-License-Identifier: Apache-2.0
//
// PoolCounters: who draws on the counters of a pool that spans nodes. Every node of the pool has to
// know what devices of the others consume, and all of them see the same, so it is found out once
// for a version of the pool's slices: a node costs its own devices, not the pool's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "inventory/dictionary.h"
#include "inventory/slice_table.h"
#include "inventory/slices.h"

namespace dray::inventory {

// Of the newest generation of a pool's slices. Belongs to a list of slices and lives as long.
// Immutable; thread-safe.
class PoolCounters {
 public:
  struct Set {
    const CounterSetRow* row = nullptr;
    std::uint32_t first_counter = 0;  // counters of all sets are numbered one after the other
    std::uint32_t arrival = 0;        // its place among the pool's sets, in order of slices
  };

  PoolCounters(const Slices& slices, const Dictionary& dictionary);

  // What makes the pool invalid, or nothing: two sets of one name, or a device that draws on what
  // is not there, in the order of slices.
  const std::string& why() const { return why_; }

  std::span<const Set> sets() const { return sets_; }  // by name
  std::size_t counters() const { return counters_; }
  // By name; the number in sets(), or nothing.
  std::optional<std::uint32_t> FindSet(NameId name) const;
  // The number of a counter of a set, or nothing.
  std::optional<std::uint32_t> FindCounter(std::uint32_t set, NameId counter) const;
  // A device that consumes counters. Null when there is none of that name.
  const DeviceRow* Find(NameId device) const;

  std::size_t MemoryBytes() const;

 private:
  std::vector<Set> sets_;
  std::size_t counters_ = 0;
  absl::flat_hash_map<NameId, const DeviceRow*> consuming_;
  std::string why_;
};

}  // namespace dray::inventory
