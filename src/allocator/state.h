// SPDX-License-Identifier: Apache-2.0
//
// State: what has been chosen so far in one attempt, and what that leaves. Placing a device either
// changes everything it touches or nothing; the last placement can be taken back exactly.
//
// Spec: docs/spec/allocator.md chapters 6 to 10.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "allocator/attempt.h"
#include "allocator/constraint.h"
#include "base/bit_set.h"
#include "inventory/dictionary.h"

namespace dray::allocator {

// A device chosen for an alternative.
struct PlacedDevice {
  std::uint32_t alternative = 0;  // of Plan::alternatives()
  std::uint32_t device = 0;       // of NodeDevices::devices()
};

// One thread. Reused: Reset makes it fit another attempt.
class State {
 public:
  void Reset(const Attempt& attempt);

  // Constraints and admin access look at one claim at a time: the one that was entered last. Claims
  // may be entered in any order and as often as wanted.
  void EnterClaim(std::size_t claim) { claim_ = claim; }

  // Devices that an alternative must not look at now.
  const base::BitSet& blocked(const Alternative& alternative) const {
    return alternative.admin ? in_claim_[claim_] : chosen_;
  }
  // Whether `device`, a candidate that is not blocked, fits beside what is chosen. If so it is.
  bool TryPlace(std::uint32_t alternative, std::uint32_t device);
  void TakeBack();

  // What comparing values has cost since this was asked last (work.h): lists can be long, and a
  // device can be compared with all that were accepted before.
  std::uint64_t TakeCompared() { return std::exchange(compared_, 0); }

  std::size_t claim() const { return claim_; }
  std::span<const PlacedDevice> placed() const { return placed_; }
  // By request, when they were made in another order. Nothing can be taken back after this.
  void SortPlaced() {
    std::ranges::stable_sort(placed_, {}, &PlacedDevice::alternative);
    marks_.clear();
  }
  std::size_t chosen_in_claim() const { return chosen_in_claim_[claim_]; }
  std::size_t chosen_in_claim(std::size_t claim) const { return chosen_in_claim_[claim]; }

  // Without regard to constraints: would the counters, groups and capacities still let it in?
  bool HasRoom(const Candidates& candidates, std::uint32_t device) const;
  bool CapacityFits(const Candidates& candidates, std::uint32_t device) const {
    return consumed(device).empty() || CompareCapacity(candidates, device);
  }
  bool CountersAndGroupsAdmit(std::uint32_t device) const {
    return GroupsAdmit(device) && CountersAdmit(device);
  }
  bool GroupsAdmit(std::uint32_t device) const {
    return attempt_->devices().devices()[device].sets == 0 || CompareGroups(device);
  }
  bool CountersAdmit(std::uint32_t device) const {
    return attempt_->devices().devices()[device].uses == 0 || CompareCounters(device);
  }
  // Whether the constraint of `use` would accept the device as its first one.
  bool AcceptsAlone(const Candidates& candidates, std::size_t use, std::uint32_t device) const;

  // What is left, for bounds and for recognising states.
  std::span<const Amount> counters() const { return counters_; }
  const ledger::GroupState& group(std::size_t set) const {
    return placed_on_.Test(set) ? groups_[set] : attempt_->usage().groups()[set];
  }
  const base::BitSet& chosen() const { return chosen_; }
  const base::BitSet& in_claim() const { return in_claim_[claim_]; }
  const base::BitSet& in_claim(std::size_t claim) const { return in_claim_[claim]; }
  const base::BitSet& shared() const { return shared_; }
  std::span<const Amount> consumed(std::uint32_t device) const {
    return std::span(consumed_).subspan(first_consumed_[device],
                                        first_consumed_[device + 1] - first_consumed_[device]);
  }
  std::span<const Amount> capacity(std::uint32_t device) const {
    return std::span(capacity_).subspan(first_consumed_[device],
                                        first_consumed_[device + 1] - first_consumed_[device]);
  }
  const ConstraintState& constraint(std::size_t i) const { return constraints_[i]; }
  // The devices that constraint `i` of Plan::constraints() has accepted, as its type sees them.
  Accepted accepted(std::size_t i) const {
    return {.dictionary = attempt_->devices().dictionary(),
            .lists = lists_,
            .state = constraints_[i],
            .values = met_[i],
            .elements = elements_};
  }

 private:
  struct Mark {
    std::uint32_t claim = 0;
    std::uint32_t elements = 0;     // size of elements_ before
    std::uint32_t groups = 0;       // saved_group_count_ before
    std::uint32_t constraints = 0;  // size of saved_constraints_ before
    bool was_chosen = false;
    bool was_in_claim = false;
    bool was_shared = false;
    bool charged = false;  // counters and groups
  };
  struct SavedGroup {
    std::uint32_t set = 0;
    bool placed_on = false;  // otherwise `state` says nothing
    ledger::GroupState state;
  };
  struct SavedConstraint {
    std::uint32_t constraint = 0;
    ConstraintState state;
  };

  // It has been charged for already: a share of it is in use.
  bool Charged(std::uint32_t device) const {
    return attempt_->multi(device) && shared_.Test(device);
  }
  bool CompareCapacity(const Candidates& candidates, std::uint32_t device) const;
  bool CompareGroups(std::uint32_t device) const;
  bool CompareCounters(std::uint32_t device) const;
  void TakeCapacities();
  bool Constrain(const Candidates& candidates, std::uint32_t device);
  void UndoConstraints(const Mark& mark);
  void Consume(const Candidates& candidates, std::uint32_t device, int sign);
  void Charge(std::uint32_t device);
  void Discharge(std::uint32_t device, const Mark& mark);

  const Attempt* attempt_ = nullptr;
  bool lists_ = false;  // constraints compare sets
  bool capacity_on_ = false;
  std::size_t claim_ = 0;
  std::vector<std::uint32_t> chosen_in_claim_;

  base::BitSet chosen_;  // any claim; never devices for multiple allocations
  std::vector<base::BitSet> in_claim_;
  base::BitSet shared_;  // has a share, in the ledger or in this attempt
  std::vector<Amount> counters_;
  base::BitSet placed_on_;  // counter sets whose groups are no longer as the ledger says
  std::vector<ledger::GroupState> groups_;     // of these
  std::vector<std::uint32_t> first_consumed_;  // all 0 if there is nothing in the next two
  std::vector<Amount> consumed_;
  std::vector<Amount> capacity_;
  std::vector<ConstraintState> constraints_;  // of all claims
  std::vector<std::vector<ValueId>> met_;
  std::vector<ElementId> elements_;

  std::vector<PlacedDevice> placed_;
  std::vector<Mark> marks_;
  // Only so many are in use; the others are kept for their memory.
  std::vector<SavedGroup> saved_groups_;
  std::size_t saved_group_count_ = 0;
  std::vector<SavedConstraint> saved_constraints_;
  std::uint64_t compared_ = 0;
};

}  // namespace dray::allocator
