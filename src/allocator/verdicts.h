// SPDX-License-Identifier: Apache-2.0
//
// Verdicts: what an alternative's filter says of the devices of a slice: the rules of Scope::kSlice
// (rules.h), decided. They depend on neither node nor ledger, so that is done once per filter and
// slice and kept, with the rule that dropped each device; an explanation reads that same record.
//
// Spec: docs/spec/allocator.md 4.1 steps 2 and 3, chapters 5, 7 and 10.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/plan.h"
#include "allocator/reason.h"
#include "base/bit_set.h"
#include "base/generations.h"
#include "inventory/slice_table.h"

namespace dray::allocator {

using inventory::Amount;
using inventory::ValueId;

// By row of the slice. Immutable; thread-safe.
struct Verdicts {
  // All selectors are true, and the device's capacities, nothing taken off, can serve the request.
  base::BitSet pass;
  // The first rule that drops the device; nothing where it passes, and for `broken`. Empty: no
  // device is dropped. Verdicts are made for every slice of every node, so what most of them do
  // not need takes no memory.
  std::vector<std::optional<Reason>> dropped;
  // A selector, or a derived attribute of a device that passed the selectors, failed to evaluate.
  base::BitSet error;
  // Of these, those that passed the selectors.
  base::BitSet derived_error;
  // Passed so far, but what it would consume has to be counted in steps that lead nowhere: an error
  // for who may use the device at all.
  base::BitSet broken;
  // Dropped because its request policy has no such amount, although every capacity that is asked
  // for is there and as large: mode All means this device too, and fails with it.
  base::BitSet withheld;
  // What constraints see of a device: [use * rows + row], uses as in Alternative::constraints.
  std::vector<ValueId> values;
  // What a device would consume of its capacities, in their order: from first_amount[row], from the
  // first on if that is empty. Devices of equal capacities share them. Nothing of each where it is
  // withheld.
  std::vector<std::uint32_t> first_amount;
  std::vector<Amount> amounts;
  std::size_t rows = 0;
  bool any_error = false;  // any of `error` and `broken`

  ValueId value(std::size_t use, std::size_t row) const { return values[use * rows + row]; }
  const Amount* consumed(std::size_t row) const {
    return amounts.data() + (first_amount.empty() ? 0 : first_amount[row]);
  }
  std::optional<Reason> DroppedBy(std::size_t row) const {
    return dropped.empty() ? std::nullopt : dropped[row];
  }
};

std::shared_ptr<const Verdicts> Judge(const Alternative& alternative, const Plan& plan,
                                      std::span<const ConstraintPlan> constraints,
                                      const inventory::SliceTable& slice,
                                      inventory::Dictionary& dictionary);

// What `alternative` consumes of one device's capacities: the amounts, in their order, or why the
// device cannot serve the request at all.
struct Consumption {
  std::vector<base::Quantity> amounts;
  // kCapacityMissing, kCapacityPolicy or kCapacityTooSmall; nothing: it can, or `broken`.
  std::optional<Reason> dropped;
  bool broken = false;    // see Verdicts::broken
  bool withheld = false;  // see Verdicts::withheld
  // Where it ended: the request for a capacity that is missing, or the capacity among the device's
  // and what of it would be consumed, rounded as its policy says if that is possible.
  const CapacityRequest* missing = nullptr;
  std::size_t capacity = 0;
  base::Quantity amount;
};
Consumption ConsumptionOf(const Alternative& alternative, const inventory::SliceTable& slice,
                          const inventory::DeviceRow& row, bool fractional_capacity_range,
                          inventory::Dictionary& dictionary);

// Why a device has an error: the message of the first expression that fails on it, or of a capacity
// that is broken.
Status ErrorOf(const Alternative& alternative, const inventory::SliceTable& slice,
               const inventory::DeviceRow& row, inventory::Dictionary& dictionary);

// Verdicts by filter and slice. Forgets those that nobody has asked for in a long time, and all of
// them when the dictionary was collected: values in them may mean something else. One thread.
class VerdictCache {
 public:
  static constexpr std::size_t kMostVerdicts = std::size_t{1} << 19;

  // At most about twice so many, and what one allocation needs.
  explicit VerdictCache(std::size_t capacity = kMostVerdicts) : known_(capacity) {}
  // Of that many slices (of a cluster, or of a shard of its nodes): room for the filters that are
  // in use together.
  void FitTo(std::size_t slices, std::size_t at_least = 256) {
    known_.set_capacity(std::clamp<std::size_t>(64 * slices, at_least, kMostVerdicts));
  }

  const Verdicts& Get(const Alternative& alternative, const Plan& plan,
                      std::span<const ConstraintPlan> constraints,
                      const inventory::SliceTable& slice, inventory::Dictionary& dictionary);
  // To be called between allocations only: what Get returned is valid until here.
  void Trim() { known_.Trim(); }
  std::size_t size() const { return known_.size(); }

 private:
  struct Key {
    std::uint64_t slice = 0;
    std::uint64_t filter = 0;
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.slice, key.filter);
    }
  };
  base::Generations<absl::flat_hash_map<Key, std::shared_ptr<const Verdicts>>> known_;
  std::uint32_t epoch_ = 0;  // of the dictionary
};

}  // namespace dray::allocator
