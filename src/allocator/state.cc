// SPDX-License-Identifier: Apache-2.0
#include "allocator/state.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "allocator/rules.h"

namespace dray::allocator {

using inventory::CounterUse;
using inventory::GroupsId;
using inventory::NodeDevice;
using inventory::SetUse;

void State::Reset(const Attempt& attempt) {
  attempt_ = &attempt;
  const Plan& plan = attempt.plan();
  const ledger::NodeUsage& usage = attempt.usage();
  const std::size_t devices = attempt.device_count();
  lists_ = plan.features().list_type_attributes;
  capacity_on_ = plan.features().consumable_capacity;
  claim_ = 0;
  chosen_in_claim_.assign(plan.claims().size() + 1, 0);
  chosen_.Clear(devices);
  if (in_claim_.size() != plan.claims().size() + 1) in_claim_.resize(plan.claims().size() + 1);
  for (base::BitSet& set : in_claim_) set.Clear(devices);
  shared_ = usage.shared();
  counters_.assign(usage.counters().begin(), usage.counters().end());
  placed_on_.Clear(usage.groups().size());
  if (groups_.size() < usage.groups().size()) groups_.resize(usage.groups().size());
  TakeCapacities();
  constraints_.assign(plan.constraints().size(), {});
  if (met_.size() != plan.constraints().size()) met_.resize(plan.constraints().size());
  for (auto& met : met_) met.clear();
  elements_.clear();
  placed_.clear();
  marks_.clear();
  saved_group_count_ = 0;
  saved_constraints_.clear();
  compared_ = 0;
}

void State::TakeCapacities() {
  const ledger::NodeUsage& usage = attempt_->usage();
  const std::size_t devices = attempt_->device_count();
  const bool any = capacity_on_ && (attempt_->multi().Any() || usage.any_consumed());
  // Nothing before and nothing now: the numbers are right.
  if (!any && consumed_.empty() && first_consumed_.size() > devices) return;
  first_consumed_.assign(devices + 1, 0);
  consumed_.clear();
  capacity_.clear();
  if (!any) return;
  const auto& dictionary = usage.devices().dictionary();
  for (std::size_t i = 0; i < devices; ++i) {
    first_consumed_[i] = static_cast<std::uint32_t>(consumed_.size());
    const NodeDevice& device = usage.devices().devices()[i];
    if (device.row->capacities == 0) continue;
    const std::span<const Amount> taken = usage.consumed(i);
    // A dedicated device that has never been shared either can serve a request or cannot: the
    // verdicts have said so.
    if (!attempt_->multi(i) && taken.empty()) continue;
    std::size_t at = 0;
    for (const inventory::CapacityEntry& entry : device.slice->capacities(*device.row)) {
      capacity_.push_back(dictionary.At(entry.capacity).amount);
      consumed_.push_back(taken.empty() ? Amount(0) : taken[at]);
      ++at;
    }
  }
  first_consumed_[devices] = static_cast<std::uint32_t>(consumed_.size());
}

bool State::CompareCapacity(const Candidates& candidates, std::uint32_t device) const {
  const std::span<const Amount> consumed = this->consumed(device);
  const std::span<const Amount> capacity = this->capacity(device);
  const Amount* wanted = attempt_->consumed(candidates, device);
  for (std::size_t i = 0; i < consumed.size(); ++i) {
    if (wanted[i] > capacity[i] - consumed[i]) return false;
  }
  return true;
}

bool State::CompareGroups(std::uint32_t index) const {
  const inventory::NodeDevices& devices = attempt_->devices();
  const NodeDevice& device = devices.devices()[index];
  if (Charged(index)) return true;
  return std::ranges::all_of(devices.set_uses(device), [&](const SetUse& use) {
    const ledger::GroupState& state = group(use.set);
    // With nothing placed there is nothing to compare.
    if (state.kind == ledger::GroupState::Kind::kNothing) return true;
    if (use.groups == GroupsId::kNone) return state.Admits({});
    return state.Admits(devices.dictionary().At(use.groups));
  });
}

bool State::CompareCounters(std::uint32_t index) const {
  const inventory::NodeDevices& devices = attempt_->devices();
  const NodeDevice& device = devices.devices()[index];
  if (Charged(index)) return true;
  return std::ranges::all_of(devices.counter_uses(device), [&](const CounterUse& use) {
    return use.amount <= counters_[use.counter];
  });
}

bool State::HasRoom(const Candidates& candidates, std::uint32_t device) const {
  return Admits<Scope::kState>({*attempt_, candidates, device, this});
}

bool State::AcceptsAlone(const Candidates& candidates, std::size_t use,
                         std::uint32_t device) const {
  const ValueId value = attempt_->value(candidates, use, device);
  if (value == ValueId::kNone) return false;
  ConstraintState nothing;
  std::vector<ElementId> arena;
  const Accepted accepted{.dictionary = attempt_->devices().dictionary(),
                          .lists = lists_,
                          .state = nothing,
                          .values = {},
                          .elements = arena};
  ConstraintState next;
  return candidates.alternative->constraints[use].type->Accepts(accepted, value, next, arena);
}

bool State::TryPlace(std::uint32_t alternative, std::uint32_t device) {
  const Candidates& candidates = attempt_->candidates(alternative);
  if (!HasRoom(candidates, device)) return false;
  Mark mark{.claim = static_cast<std::uint32_t>(claim_),
            .elements = static_cast<std::uint32_t>(elements_.size()),
            .groups = static_cast<std::uint32_t>(saved_group_count_),
            .constraints = static_cast<std::uint32_t>(saved_constraints_.size()),
            .was_chosen = chosen_.Test(device),
            .was_in_claim = in_claim_[claim_].Test(device),
            .was_shared = shared_.Test(device)};
  if (!candidates.alternative->constraints.empty() && !Constrain(candidates, device)) {
    UndoConstraints(mark);
    return false;
  }
  const bool multi = attempt_->multi(device);
  if (!multi || !mark.was_shared) {
    mark.charged = true;
    Charge(device);
  }
  if (multi) {
    shared_.Set(device);
  } else {
    chosen_.Set(device);
    in_claim_[claim_].Set(device);
  }
  if (multi) Consume(candidates, device, 1);
  ++chosen_in_claim_[claim_];
  placed_.push_back({alternative, device});
  marks_.push_back(mark);
  return true;
}

void State::TakeBack() {
  const PlacedDevice last = placed_.back();
  const Mark mark = marks_.back();
  placed_.pop_back();
  marks_.pop_back();
  const Candidates& candidates = attempt_->candidates(last.alternative);
  const std::uint32_t device = last.device;
  if (attempt_->multi(device)) Consume(candidates, device, -1);
  chosen_.Assign(device, mark.was_chosen);
  in_claim_[mark.claim].Assign(device, mark.was_in_claim);
  --chosen_in_claim_[mark.claim];
  shared_.Assign(device, mark.was_shared);
  if (mark.charged) Discharge(device, mark);
  UndoConstraints(mark);
}

void State::Consume(const Candidates& candidates, std::uint32_t device, int sign) {
  const std::size_t n = first_consumed_[device + 1] - first_consumed_[device];
  if (n == 0) return;
  const Amount* wanted = attempt_->consumed(candidates, device);
  for (std::size_t i = 0; i < n; ++i) consumed_[first_consumed_[device] + i] += wanted[i] * sign;
}

void State::Charge(std::uint32_t index) {
  const inventory::NodeDevices& devices = attempt_->devices();
  const NodeDevice& device = devices.devices()[index];
  for (const CounterUse& use : devices.counter_uses(device)) counters_[use.counter] -= use.amount;
  if (!attempt_->plan().features().compatibility_groups) return;
  for (const SetUse& use : devices.set_uses(device)) {
    if (saved_group_count_ == saved_groups_.size()) saved_groups_.emplace_back();
    SavedGroup& saved = saved_groups_[saved_group_count_++];
    saved.set = use.set;
    saved.placed_on = placed_on_.Test(use.set);
    if (saved.placed_on) {
      saved.state = groups_[use.set];
    } else {
      groups_[use.set] = attempt_->usage().groups()[use.set];
      placed_on_.Set(use.set);
    }
    if (use.groups == GroupsId::kNone) {
      groups_[use.set].Place({});
    } else {
      groups_[use.set].Place(devices.dictionary().At(use.groups));
    }
  }
}

void State::Discharge(std::uint32_t index, const Mark& mark) {
  const inventory::NodeDevices& devices = attempt_->devices();
  const NodeDevice& device = devices.devices()[index];
  for (const CounterUse& use : devices.counter_uses(device)) counters_[use.counter] += use.amount;
  while (saved_group_count_ > mark.groups) {
    SavedGroup& saved = saved_groups_[--saved_group_count_];
    if (saved.placed_on) {
      std::swap(groups_[saved.set], saved.state);
    } else {
      placed_on_.Reset(saved.set);
    }
  }
}

// In the claim's order, each with what it has accepted so far. What was changed before one of them
// says no is undone by the caller.
bool State::Constrain(const Candidates& candidates, std::uint32_t device) {
  const ClaimPlan& claim = attempt_->plan().claims()[claim_];
  const auto& uses = candidates.alternative->constraints;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const ValueId value = attempt_->value(candidates, i, device);
    if (value == ValueId::kNone) return false;
    const std::size_t constraint = claim.first_constraint + uses[i].constraint;
    ConstraintState next = constraints_[constraint];
    // About four elements of sorted lists are one unit.
    compared_ +=
        (attempt_->devices().dictionary().At(value).elements.size() + 4) * (next.devices + 1) / 4;
    if (!uses[i].type->Accepts(accepted(constraint), value, next, elements_)) return false;
    saved_constraints_.push_back(
        {static_cast<std::uint32_t>(constraint), constraints_[constraint]});
    ++next.devices;
    constraints_[constraint] = next;
    met_[constraint].push_back(value);
  }
  return true;
}

void State::UndoConstraints(const Mark& mark) {
  while (saved_constraints_.size() > mark.constraints) {
    const SavedConstraint& saved = saved_constraints_.back();
    constraints_[saved.constraint] = saved.state;
    met_[saved.constraint].pop_back();
    saved_constraints_.pop_back();
  }
  elements_.resize(mark.elements);
}

}  // namespace dray::allocator
