// SPDX-License-Identifier: Apache-2.0
#include "allocator/bound_linear.h"

#include <algorithm>

namespace dray::allocator {

using base::BitSet;
using inventory::CounterUse;

namespace {

// A solution breaks a row when it is above it by this.
constexpr double kAbove = 1e-4;
// Amounts are scaled to whole numbers up to this.
constexpr std::int64_t kScale = 30'000;

}  // namespace

void LinearBound::Reset(const BoundInput& input, const Symmetry& symmetry) {
  attempt_ = &input.attempt;
  values_ = &input.values;
  supply_ = &input.supply;
  work_ = &input.work;
  symmetry_ = &symmetry;
  solved_ = false;
  const Plan& plan = attempt_->plan();
  limited_.assign(plan.claims().size(), false);
  for (std::size_t c = 0; c < plan.claims().size(); ++c) {
    std::int64_t most = 0;
    for (const RequestPlan& request : plan.requests(plan.claims()[c])) {
      std::int64_t need = 0;
      for (std::uint32_t a = request.first; a < request.first + request.count; ++a) {
        need = std::max(need, attempt_->candidates(a).need);
      }
      most += need;
    }
    limited_[c] = most > kMaxDevicesPerClaim;
  }
}

bool LinearBound::Hopeless(const State& state, Demands& demands, std::uint64_t limit) {
  solved_ = false;
  ended_ = true;
  if (!values_->usable() || !Build(state, demands)) return false;
  std::uint64_t spent = 0;
  for (int round = 0; round < kRounds && spent < limit; ++round) {
    ended_ = program_.Maximise(limit - spent);
    spent += program_.spent();
    work_->Spend(program_.spent());
    if (!ended_) return false;
    constexpr double kClearly = 1e-3;
    if (program_.objective() < static_cast<double>(target_) - kClearly &&
        program_.ProvedBelow(target_)) {
      Blame(demands);
      return true;
    }
    solved_ = true;
    if (Separate() == 0) break;
  }
  return false;
}

double LinearBound::Likes(std::uint32_t alternative) const {
  if (!solved_ || choice_of_[alternative] == kNone) return 0;
  const Choice& choice = choices_[choice_of_[alternative]];
  return program_.value(choice.column) / classes_[choice.of].many;
}

double LinearBound::Likes(std::uint32_t alternative, std::uint32_t device) const {
  if (!solved_ || choice_of_[alternative] == kNone || group_of_[device] == kNone) return 0;
  const Choice& choice = choices_[choice_of_[alternative]];
  const Use& use = uses_[choice.first_use + group_of_[device]];
  return use.column == kNone ? 0 : program_.value(use.column) / groups_[use.group].size;
}

void LinearBound::Blame(Demands& demands) const {
  for (const Choice& choice : choices_) {
    if (program_.multiplier(choice.row) < kAbove) continue;
    for (const std::uint32_t request : requests_[choice.of]) demands.Blame(request);
  }
}

bool LinearBound::Build(const State& state, const Demands& demands) {
  program_.Reset();
  rows_known_.clear();
  FindClasses(demands);
  if (choices_.empty()) return false;
  FindGroups(state);
  if (choices_.size() * groups_.size() > kMostColumns) return false;
  FindLimits(state);
  if (!AddUses(state)) return false;
  AddMatchRows();
  AddDistinctRows();
  AddAmounts(state);
  AddClaimRows(state);
  return true;
}

// Equal requests of one claim, or of any claims when no constraint tells these apart.
void LinearBound::FindClasses(const Demands& demands) {
  classes_.clear();
  choices_.clear();
  requests_.clear();
  known_.clear();
  choice_of_.assign(attempt_->plan().alternatives().size(), kNone);
  work_->Spend(choice_of_.size() / 8 + attempt_->device_count());
  const Candidates* const first = &attempt_->candidates(0);
  target_ = 0;
  for (const Demand& demand : demands.all()) {
    if (demand.admin || demand.need == 0) continue;
    const bool open = demand.request < Demand::kPutOff;
    description_.Clear();
    description_.Add(open ? 0 : demand.request);
    bool alone = limited_[demand.claim];
    for (const Candidates* candidates : demand.candidates) {
      description_.Add(symmetry_->representative(static_cast<std::size_t>(candidates - first)));
      description_.Add(static_cast<std::uint64_t>(candidates->need));
      for (const ConstraintUse& use : candidates->alternative->constraints) {
        description_.Add(use.constraint);
        alone = true;
      }
      description_.Add(kNone);
    }
    description_.Add(alone ? demand.claim : kNone);
    demand.mask.ForEach([&](std::size_t d) { description_.Add(d); });
    work_->Spend(description_.size() + 8);
    const auto next = static_cast<std::uint32_t>(classes_.size());
    const auto [it, fresh] = known_.try_emplace(description_.Hash(), next);
    if (fresh) {
      Class made{.demand = &demand, .first_choice = static_cast<std::uint32_t>(choices_.size())};
      for (const Candidates* candidates : demand.candidates) {
        const auto need = open ? static_cast<std::uint32_t>(candidates->need) : demand.need;
        made.largest = std::max(made.largest, need);
        choices_.push_back({.candidates = candidates, .of = next, .need = need});
        ++made.choices;
      }
      classes_.push_back(made);
      requests_.emplace_back();
    }
    Class& known = classes_[it->second];
    ++known.many;
    ++target_;
    if (open) requests_[it->second].push_back(static_cast<std::uint32_t>(demand.request));
    for (std::size_t i = 0; i < demand.candidates.size(); ++i) {
      choice_of_[static_cast<std::size_t>(demand.candidates[i] - first)] =
          known.first_choice + static_cast<std::uint32_t>(i);
    }
  }
}

// Devices of one symmetry class that have the same left and are for the same requests.
void LinearBound::FindGroups(const State& state) {
  groups_.clear();
  known_.clear();
  group_of_.assign(attempt_->device_count(), kNone);
  BitSet wanted(attempt_->device_count());
  for (const Class& one : classes_) wanted |= one.demand->mask;
  wanted.ForEach([&](std::size_t index) {
    const auto d = static_cast<std::uint32_t>(index);
    if (symmetry_->class_of(d) == Symmetry::kNone) return;
    description_.Clear();
    description_.Add(symmetry_->class_of(d));
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < classes_.size(); ++k) {
      bits = bits << 1 | static_cast<std::uint64_t>(classes_[k].demand->mask.Test(d));
      if (k % 64 != 63) continue;
      description_.Add(bits);
      bits = 0;
    }
    description_.Add(bits);
    const bool multi = attempt_->multi(d);
    if (multi) {
      description_.Add(static_cast<std::uint64_t>(state.shared().Test(d)));
      for (std::size_t i = 0; i < state.consumed(d).size(); ++i) {
        description_.Add(symmetry_->ShareLeft(state, d, i));
      }
    }
    work_->Spend(8 + classes_.size());
    const auto next = static_cast<std::uint32_t>(groups_.size());
    const auto [it, fresh] = known_.try_emplace(description_.Hash(), next);
    if (fresh) groups_.push_back({.device = d, .multi = multi});
    Group& group = groups_[it->second];
    ++group.size;
    group.shares += multi ? supply_->SharesLeft(d, state) : 1;
    group_of_[d] = it->second;
  });
}

void LinearBound::FindLimits(const State& state) {
  const Plan& plan = attempt_->plan();
  limits_.resize(plan.constraints().size());
  sets_.clear();
  for (std::size_t c = 0; c < limits_.size(); ++c) {
    Limits& limits = limits_[c];
    limits.known.clear();
    limits.settled.clear();
    limits.users.clear();
    limits.sets.clear();
    limits.sum = kNone;
    const Accepted accepted = state.accepted(c);
    limits.begun = accepted.state.devices > 0;
    if (!limits.begun) continue;
    plan.constraints()[c].type->AddDecisive(accepted, limits.known);
    std::ranges::sort(limits.known);
    work_->Spend(limits.known.size());
  }
  work_->Spend(limits_.size());
}

// Whether the constraints would accept the device for the choice now.
bool LinearBound::Fits(const Choice& choice, std::uint32_t device) const {
  const Plan& plan = attempt_->plan();
  const ClaimPlan& claim = plan.claims()[classes_[choice.of].demand->claim];
  const auto& dictionary = attempt_->devices().dictionary();
  const auto& uses = choice.candidates->alternative->constraints;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const ValueId value = attempt_->value(*choice.candidates, i, device);
    if (value == ValueId::kNone) return false;
    const std::size_t constraint = claim.first_constraint + uses[i].constraint;
    const Limits& limits = limits_[constraint];
    if (!limits.begun) continue;
    const auto elements = dictionary.At(value).elements;
    work_->Spend(elements.size());
    const bool meets = std::ranges::any_of(elements, [&](ElementId element) {
      return std::ranges::binary_search(limits.known, element);
    });
    switch (uses[i].type->promise()) {
      case Promise::kCommonElement:
        if (!meets) return false;
        break;
      case Promise::kDisjointElements:
        if (meets) return false;
        break;
      case Promise::kNothing:
        break;
    }
  }
  return true;
}

// The columns y and x, with the rows that they are in by themselves. False: too many.
bool LinearBound::AddUses(const State& state) {
  uses_.clear();
  knapsacks_.clear();
  std::int64_t needed = 0;
  for (const Class& one : classes_) needed += std::int64_t{one.many} * one.largest;
  std::vector<std::uint32_t> group_row;
  for (const Group& group : groups_) {
    group_row.push_back(program_.AddRow(std::min<std::int64_t>(group.shares, needed)));
  }
  for (std::size_t k = 0; k < classes_.size(); ++k) {
    const Class& one = classes_[k];
    const std::uint32_t row = program_.AddRow(one.many);
    for (std::uint32_t c = one.first_choice; c < one.first_choice + one.choices; ++c) {
      Choice& choice = choices_[c];
      choice.column = program_.AddColumn(1);
      choice.row = program_.AddRow(0);
      choice.first_use = static_cast<std::uint32_t>(uses_.size());
      program_.Set(row, choice.column, 1);
      program_.Set(choice.row, choice.column, choice.need);
      work_->Spend(groups_.size() * 2);
      for (std::uint32_t g = 0; g < groups_.size(); ++g) {
        Use& use = uses_.emplace_back();
        use.choice = c;
        use.group = g;
        const std::uint32_t device = groups_[g].device;
        if (!one.demand->mask.Test(device) || !choice.candidates->devices.Test(device)) continue;
        if (groups_[g].multi && !state.HasRoom(*choice.candidates, device)) continue;
        if (!Fits(choice, device)) continue;
        // Of several solutions that of the first devices for the first requests.
        constexpr double kFirst = 1e-6;
        const double early =
            1 - static_cast<double>(device) / static_cast<double>(attempt_->device_count());
        use.column = program_.AddColumn(0, kFirst * early / static_cast<double>(k + 1));
        program_.Set(group_row[g], use.column, 1);
        program_.Set(choice.row, use.column, -1);
        AddConstrained(choice, use, static_cast<std::uint32_t>(uses_.size() - 1));
      }
    }
  }
  linked_.assign(uses_.size(), false);
  return program_.columns() <= kMostColumns;
}

// Enters the column with the values that its devices have.
void LinearBound::AddConstrained(const Choice& choice, const Use& use, std::uint32_t at) {
  const Plan& plan = attempt_->plan();
  const ClaimPlan& claim = plan.claims()[classes_[choice.of].demand->claim];
  const auto& dictionary = attempt_->devices().dictionary();
  const auto& constraints = choice.candidates->alternative->constraints;
  const std::uint32_t device = groups_[use.group].device;
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const std::size_t constraint = claim.first_constraint + constraints[i].constraint;
    const ConstraintValues::Carriers& carriers = (*values_)[constraint];
    Limits& limits = limits_[constraint];
    const auto elements = dictionary.At(attempt_->value(*choice.candidates, i, device)).elements;
    work_->Spend(elements.size() * 4 + 4);
    switch (constraints[i].type->promise()) {
      case Promise::kNothing:
        break;
      case Promise::kDisjointElements:
        for (const ElementId element : elements) {
          const std::size_t e = carriers.IndexOf(element);
          if (e < carriers.elements.size() && carriers.linking.Test(e)) {
            limits.users[element].push_back(use.column);
          }
        }
        break;
      case Promise::kCommonElement: {
        if (carriers.elements.size() < 2 || (limits.begun && limits.known.size() < 2)) break;
        if (limits.sum == kNone) limits.sum = program_.AddRow(1);
        description_.Clear();
        ValueSet set;
        for (const ElementId element : elements) {
          if (carriers.IndexOf(element) == carriers.elements.size()) continue;
          if (limits.begun && !std::ranges::binary_search(limits.known, element)) continue;
          const auto [z, fresh] = limits.settled.try_emplace(element, kNone);
          if (fresh) {
            z->second = program_.AddColumn(0);
            program_.Set(limits.sum, z->second, 1);
          }
          set.settled.push_back(z->second);
        }
        std::ranges::sort(set.settled);
        for (const std::uint32_t z : set.settled) description_.Add(z);
        const auto next = static_cast<std::uint32_t>(sets_.size());
        const auto [it, fresh] = limits.sets.try_emplace(description_.Hash(), next);
        if (fresh) sets_.push_back(std::move(set));
        sets_[it->second].uses.emplace_back(static_cast<std::uint32_t>(&choice - choices_.data()),
                                            at);
        break;
      }
    }
  }
}

// Devices that have the values V can be had as far as the claim settles on one of V: per choice, and of
// dedicated devices for all choices together.
void LinearBound::AddMatchRows() {
  for (const ValueSet& set : sets_) {
    std::uint32_t dedicated = 0;
    std::vector<std::uint32_t> groups;
    for (std::size_t i = 0; i < set.uses.size();) {
      const Choice& choice = choices_[set.uses[i].first];
      const Class& one = classes_[choice.of];
      const std::size_t begin = i;
      std::int64_t most = 0;
      for (; i < set.uses.size() && set.uses[i].first == set.uses[begin].first; ++i) {
        const Group& group = groups_[uses_[set.uses[i].second].group];
        most += group.multi ? std::int64_t{group.size} * one.many : group.size;
        groups.push_back(uses_[set.uses[i].second].group);
      }
      most = std::min(most, std::int64_t{one.many} * choice.need);
      const std::uint32_t row = program_.AddRow(0);
      for (std::size_t u = begin; u < i; ++u) {
        program_.Set(row, uses_[set.uses[u].second].column, 1);
      }
      for (const std::uint32_t z : set.settled) program_.Set(row, z, -most);
    }
    std::ranges::sort(groups);
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    for (const std::uint32_t g : groups) {
      if (!groups_[g].multi) dedicated += groups_[g].size;
    }
    work_->Spend(set.uses.size() * 4);
    if (dedicated == 0 || set.uses.front().first == set.uses.back().first) continue;
    const std::uint32_t row = program_.AddRow(0);
    for (const auto& [choice, use] : set.uses) {
      if (!groups_[uses_[use].group].multi) program_.Set(row, uses_[use].column, 1);
    }
    for (const std::uint32_t z : set.settled) program_.Set(row, z, -std::int64_t{dedicated});
  }
}

// Of all that have a value one. Values of the same devices say it once.
void LinearBound::AddDistinctRows() {
  for (const Limits& limits : limits_) {
    if (limits.users.empty()) continue;
    std::vector<const std::vector<std::uint32_t>*> rows;
    for (const auto& [element, users] : limits.users) {
      description_.Clear();
      for (const std::uint32_t column : users) description_.Add(column);
      work_->Spend(users.size());
      if (rows_known_.try_emplace(description_.Hash(), true).second) rows.push_back(&users);
    }
    // The order of a hash map is not the same in every process; the program's should be.
    std::ranges::sort(rows, [](const auto* x, const auto* y) { return *x < *y; });
    for (const std::vector<std::uint32_t>* users : rows) {
      const std::uint32_t row = program_.AddRow(1);
      for (const std::uint32_t column : *users) program_.Set(row, column, 1);
    }
  }
}

void LinearBound::AddAmounts(const State& state) {
  const inventory::NodeDevices& devices = attempt_->devices();
  std::vector<std::uint32_t> of_counter(devices.counters().size(), kNone);
  std::vector<std::uint32_t> of_group(groups_.size(), kNone);
  for (const Use& use : uses_) {
    if (use.column == kNone) continue;
    const Group& group = groups_[use.group];
    if (!group.multi) {
      for (const CounterUse& drawn : devices.counter_uses(devices.devices()[group.device])) {
        if (drawn.amount <= 0) continue;
        std::uint32_t& knapsack = of_counter[drawn.counter];
        if (knapsack == kNone) {
          knapsack = static_cast<std::uint32_t>(knapsacks_.size());
          knapsacks_.push_back({.left = state.counters()[drawn.counter]});
        }
        knapsacks_[knapsack].drawn.push_back({use.column, drawn.amount});
      }
      continue;
    }
    const auto capacity = state.capacity(group.device);
    const auto consumed = state.consumed(group.device);
    if (capacity.empty()) continue;
    const Amount* wanted = attempt_->consumed(*choices_[use.choice].candidates, group.device);
    if (of_group[use.group] == kNone) {
      of_group[use.group] = static_cast<std::uint32_t>(knapsacks_.size());
      for (std::size_t i = 0; i < capacity.size(); ++i) {
        knapsacks_.push_back({.left = capacity[i] - consumed[i], .times = group.size});
      }
    }
    for (std::size_t i = 0; i < capacity.size(); ++i) {
      if (wanted[i] > 0) {
        knapsacks_[of_group[use.group] + i].drawn.push_back({use.column, wanted[i]});
      }
    }
  }
  for (const Knapsack& knapsack : knapsacks_) AddAmountRow(knapsack);
  work_->Spend(uses_.size() + devices.counters().size());
}

void LinearBound::AddAmountRow(const Knapsack& knapsack) {
  if (knapsack.drawn.empty() || knapsack.left <= 0) return;
  const bool small = knapsack.left <= kScale;
  const std::uint32_t row =
      program_.AddRow((small ? static_cast<std::int64_t>(knapsack.left) : kScale) * knapsack.times);
  for (const Drawn& drawn : knapsack.drawn) {
    // What is more than there is left is more by one.
    const Amount amount = std::min(drawn.amount, knapsack.left + 1);
    const Amount scaled =
        small ? amount
              : Amount(static_cast<std::int64_t>(static_cast<double>(amount) /
                                                 static_cast<double>(knapsack.left) * kScale) -
                       1);
    program_.Set(row, drawn.column, std::max<std::int64_t>(static_cast<std::int64_t>(scaled), 0));
  }
  work_->Spend(knapsack.drawn.size());
}

void LinearBound::AddClaimRows(const State& state) {
  absl::flat_hash_map<std::size_t, std::uint32_t> row_of;
  for (const Class& one : classes_) {
    const std::size_t claim = one.demand->claim;
    if (!limited_[claim]) continue;
    const auto left = kMaxDevicesPerClaim - static_cast<std::int64_t>(state.chosen_in_claim(claim));
    const auto [it, fresh] = row_of.try_emplace(claim, 0);
    if (fresh) it->second = program_.AddRow(std::max<std::int64_t>(left, 0));
    for (std::uint32_t c = one.first_choice; c < one.first_choice + one.choices; ++c) {
      program_.Set(it->second, choices_[c].column, choices_[c].need);
    }
  }
}

}  // namespace dray::allocator
