// SPDX-License-Identifier: Apache-2.0
#include "allocator/bound_common.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace dray::allocator {

using base::BitSet;

void CommonBound::Reset(const BoundInput& input) {
  attempt_ = &input.attempt;
  values_ = &input.values;
  work_ = &input.work;
  // Where every device has one value, counting by value says as much.
  lists_ = false;
  const auto constraints = attempt_->plan().constraints();
  BitSet any(attempt_->device_count());
  for (std::size_t c = 0; c < constraints.size() && !lists_; ++c) {
    const ConstraintValues::Carriers& carriers = (*values_)[c];
    if (carriers.same_as != c || constraints[c].type->promise() != Promise::kCommonElement)
      continue;
    for (const auto& view : carriers.views) {
      any.ResetAll();
      std::size_t sum = 0;
      for (const BitSet& with : *view.with) {
        sum += with.Count();
        any |= with;
      }
      lists_ |= sum > any.Count();
      work_->Spend(view.with->size() * (1 + any.size() / 32));
    }
  }
}

void CommonBound::FindWanted(const State& state, Demands& demands) {
  wanted_.clear();
  demands.AnyConstraint([&](std::size_t claim, std::size_t constraint) {
    const ConstraintType& type = *attempt_->plan().constraints()[constraint].type;
    if (type.promise() != Promise::kCommonElement || state.constraint(constraint).devices > 0) {
      return false;
    }
    std::uint32_t need = 0;
    for (const Covered& covered : demands.CoveredBy(constraint, claim)) {
      if (!covered.demands.front()->mask.Intersects(attempt_->multi())) need += covered.sum;
    }
    work_->Spend(attempt_->device_count() / 32 + 4);
    if (need > 1) wanted_.push_back({claim, constraint, need});
    return false;
  });
}

bool CommonBound::Hopeless(const State& state, Demands& demands) {
  const Plan& plan = attempt_->plan();
  if (!values_->usable() || !lists_ || plan.claims().size() < 2) return false;
  FindWanted(state, demands);
  if (wanted_.size() < 2) return false;
  // Those of one attribute together, the largest first; a claim once.
  std::ranges::stable_sort(wanted_, [&](const Wanted& x, const Wanted& y) {
    const auto a = plan.constraints()[x.constraint].name.id();
    const auto b = plan.constraints()[y.constraint].name.id();
    return a != b ? a < b : x.need > y.need;
  });
  for (std::size_t i = 0; i < wanted_.size();) {
    const std::size_t begin = i;
    const auto name = plan.constraints()[wanted_[begin].constraint].name;
    while (i < wanted_.size() && plan.constraints()[wanted_[i].constraint].name == name) ++i;
    // Two constraints of one claim may be about the same devices: the larger counts.
    claims_.clear();
    group_.clear();
    for (std::size_t w = begin; w < i; ++w) {
      if (claims_.insert(wanted_[w].claim).second) group_.push_back(wanted_[w]);
    }
    if (group_.size() > 1 && TooMany(group_, demands)) return true;
  }
  return false;
}

bool CommonBound::Join(std::span<const Wanted> wanted, Demands& demands) {
  const std::size_t n = attempt_->device_count();
  graph_.Reset(n);
  if (among_.size() != n) among_ = BitSet(n);
  among_.ResetAll();
  seen_.clear();
  // By value, since each claim has carriers of its own.
  absl::flat_hash_map<ElementId, BitSet> with;
  for (const Wanted& one : wanted) {
    if (work_->exhausted()) return false;
    const ConstraintValues::Carriers& carriers = (*values_)[one.constraint];
    for (const Covered& covered : demands.CoveredBy(one.constraint, one.claim)) {
      const Demand& demand = *covered.demands.front();
      if (demand.mask.Intersects(attempt_->multi())) continue;
      // Claims that see the same devices with the same values join the same.
      if (demand.candidates.size() == 1) {
        const ConstraintValues::Carriers::View& view =
            carriers.views[carriers.view_of.find(demand.candidates.front())->second];
        description_.Clear();
        description_.Add(view.candidates->alternative->filter);
        description_.Add(view.use);
        for (const ElementId element : carriers.elements) {
          description_.Add(static_cast<std::uint64_t>(element));
        }
        demand.mask.ForEach([&](std::size_t d) { description_.Add(d); });
        work_->Spend(description_.size());
        if (!seen_.insert(description_.Hash()).second) continue;
      }
      among_ |= demand.mask;
      for (std::size_t e = 0; e < carriers.elements.size(); ++e) {
        const auto [it, fresh] = with.try_emplace(carriers.elements[e]);
        if (fresh) it->second = BitSet(n);
        for (const Candidates* candidates : demand.candidates) {
          with_ = (*carriers.Find(candidates))[e];
          with_ &= demand.mask;
          it->second |= with_;
        }
        work_->Spend(4 + n / 16);
      }
    }
  }
  for (const auto& [element, devices] : with) {
    graph_.Join(devices);
    work_->Spend(devices.Count() * (n / 64 + 1));
  }
  work_->Spend(n * (n / 64 + 1) / 4);
  return true;
}

void CommonBound::FindComponents() {
  components_.clear();
  cliques_ = true;
  left_ = among_;
  while (left_.Any()) {
    const std::size_t first = left_.First();
    part_ = left_;
    part_.ResetAll();
    part_.Set(first);
    edge_ = part_;
    while (edge_.Any()) {
      const std::size_t v = edge_.First();
      edge_.Reset(v);
      with_ = graph_.joined(v);
      with_ &= left_;
      with_.AndNot(part_);
      part_ |= with_;
      edge_ |= with_;
      work_->Spend(2 + left_.size() / 16);
    }
    const std::size_t size = part_.Count();
    components_.push_back(size);
    part_.ForEach(
        [&](std::size_t v) { cliques_ &= graph_.joined(v).IntersectionCount(part_) + 1 == size; });
    left_.AndNot(part_);
    work_->Spend(size * (1 + left_.size() / 64));
  }
}

// `wanted` is of one attribute, the largest first.
bool CommonBound::TooMany(std::span<const Wanted> wanted, Demands& demands) {
  if (!Join(wanted, demands)) return false;
  FindComponents();
  const auto hopeless = [&] {
    for (const Wanted& one : wanted) demands.BlameCovered(one.constraint, one.claim);
    return true;
  };
  std::size_t claims = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ++claims;
    if (i + 1 < wanted.size() && wanted[i + 1].need == wanted[i].need) continue;
    std::size_t room = 0;
    for (const std::size_t size : components_) room += size / wanted[i].need;
    work_->Spend(components_.size());
    if (room < claims) return hopeless();
  }
  if (cliques_ || claims < 2) return false;
  return !graph_.AtLeast(among_, claims, work_->left() / 8, *work_) && hopeless();
}

}  // namespace dray::allocator
