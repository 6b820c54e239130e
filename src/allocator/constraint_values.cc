// SPDX-License-Identifier: Apache-2.0
#include "allocator/constraint_values.h"

#include <algorithm>
#include <limits>

namespace dray::allocator {

using base::BitSet;

void ConstraintValues::Reset(const Attempt& attempt, WorkMeter& work) {
  attempt_ = &attempt;
  work_ = &work;
  first_like_.clear();
  usable_ = true;
  carriers_.assign(attempt.plan().constraints().size(), {});
  for (const ClaimPlan& claim : attempt.plan().claims()) {
    for (std::size_t i = 0; i < claim.constraints && !work.exhausted(); ++i) Add(claim, i);
  }
  usable_ &= !work.exhausted();
}

std::size_t ConstraintValues::Carriers::IndexOf(ElementId element) const {
  const auto it = std::ranges::lower_bound(elements, element);
  if (it == elements.end() || *it != element) return elements.size();
  return static_cast<std::size_t>(it - elements.begin());
}

void ConstraintValues::Add(const ClaimPlan& claim, std::size_t i) {
  const std::size_t constraint = claim.first_constraint + i;
  Carriers& carriers = carriers_[constraint];
  AddViews(claim, i, carriers);
  // Devices that are given once cannot share a value that fewer of them have than are needed.
  const Promise promise = attempt_->plan().constraints()[constraint].type->promise();
  const bool match = promise == Promise::kCommonElement;
  const std::int64_t least = match ? LeastNeeded(claim, carriers) : 0;
  carriers.same_as = FirstLike(constraint, least);
  if (carriers.same_as != constraint) {
    const Carriers& like = carriers_[carriers.same_as];
    carriers.elements = like.elements;
    carriers.linking = like.linking;
    for (std::size_t v = 0; v < carriers.views.size(); ++v) {
      carriers.views[v].with = like.views[v].with;
    }
    work_->Spend(carriers.elements.size() / 4 + 1);
    return;
  }
  ListElements(carriers);
  std::vector<std::size_t> linking;
  for (std::size_t at = 0; at < element_of_.size();) {
    const ElementId element = element_of_[at].first;
    std::int64_t devices = 0;
    bool shared = false;
    for (; at < element_of_.size() && element_of_[at].first == element; ++at) {
      ++devices;
      shared |= attempt_->multi(element_of_[at].second);
    }
    if (!shared && devices < least) continue;
    carriers.elements.push_back(element);
    // Nothing is known of a type that promises nothing: every value may decide.
    if (promise != Promise::kDisjointElements || shared || devices > 1) {
      linking.push_back(carriers.elements.size() - 1);
    }
  }
  carriers.linking = BitSet(carriers.elements.size());
  for (const std::size_t at : linking) carriers.linking.Set(at);
  work_->Spend(element_of_.size() * 2);
  ListCarriers(carriers);
}

// Claims of one kind have constraints of one kind: what their devices have is listed once.
std::size_t ConstraintValues::FirstLike(std::size_t constraint, std::int64_t least) {
  const Carriers& carriers = carriers_[constraint];
  description_.Clear();
  description_.Add(
      static_cast<std::uint64_t>(attempt_->plan().constraints()[constraint].type->promise()));
  description_.Add(static_cast<std::uint64_t>(least));
  for (const Carriers::View& view : carriers.views) {
    description_.Add(view.candidates->alternative->filter);
    description_.Add(view.use);
    view.candidates->devices.ForEach([&](std::size_t d) { description_.Add(d); });
    description_.Add(static_cast<std::uint64_t>(-1));
  }
  work_->Spend(description_.size());
  return first_like_.try_emplace(description_.Hash(), constraint).first->second;
}

void ConstraintValues::ListCarriers(Carriers& carriers) const {
  const auto& dictionary = attempt_->devices().dictionary();
  for (Carriers::View& view : carriers.views) {
    view.with = std::make_shared<std::vector<BitSet>>(carriers.elements.size(),
                                                      BitSet(attempt_->device_count()));
    work_->Spend(carriers.elements.size() * (1 + attempt_->device_count() / 64));
    view.candidates->devices.ForEach([&](std::size_t device) {
      const ValueId value = attempt_->value(*view.candidates, view.use, device);
      if (value == ValueId::kNone) return;
      work_->Spend(dictionary.At(value).elements.size() * 4);
      for (const ElementId element : dictionary.At(value).elements) {
        const std::size_t e = carriers.IndexOf(element);
        if (e < carriers.elements.size()) (*view.with)[e].Set(device);
      }
    });
  }
}

void ConstraintValues::AddViews(const ClaimPlan& claim, std::size_t i, Carriers& carriers) const {
  const Plan& plan = attempt_->plan();
  for (const RequestPlan& request : plan.requests(claim)) {
    for (std::uint32_t a = 0; a < request.count; ++a) {
      const Candidates& candidates = attempt_->candidates(request.first + a);
      const auto& uses = candidates.alternative->constraints;
      const auto use = std::ranges::find(uses, i, &ConstraintUse::constraint);
      if (use == uses.end()) continue;
      const auto number = static_cast<std::size_t>(use - uses.begin());
      const auto known = std::ranges::find_if(carriers.views, [&](const Carriers::View& view) {
        return view.use == number &&
               view.candidates->alternative->filter == candidates.alternative->filter &&
               view.candidates->devices == candidates.devices;
      });
      work_->Spend(4 + carriers.views.size() * (1 + attempt_->device_count() / 64));
      carriers.view_of[&candidates] = static_cast<std::uint32_t>(known - carriers.views.begin());
      if (known == carriers.views.end()) {
        carriers.views.push_back({.candidates = &candidates, .use = number});
      }
    }
  }
}

void ConstraintValues::ListElements(const Carriers& carriers) {
  const auto& dictionary = attempt_->devices().dictionary();
  const bool sets = attempt_->plan().features().list_type_attributes;
  element_of_.clear();
  for (const Carriers::View& view : carriers.views) {
    view.candidates->devices.ForEach([&](std::size_t device) {
      const ValueId value = attempt_->value(*view.candidates, view.use, device);
      if (value == ValueId::kNone) return;
      const inventory::AttributeValue& attribute = dictionary.At(value);
      // A list where lists do not count is accepted only from the first device: no bound knows
      // that.
      if (!sets && (attribute.is_list || attribute.elements.size() != 1)) {
        usable_ = false;
        return;
      }
      work_->Spend(attribute.elements.size() + 2);
      for (const ElementId element : attribute.elements) {
        element_of_.emplace_back(element, static_cast<std::uint32_t>(device));
      }
    });
  }
  std::ranges::sort(element_of_);
  element_of_.erase(std::unique(element_of_.begin(), element_of_.end()), element_of_.end());
}

// Devices that every solution has under the constraint, each of them other than the rest unless it
// can be given more than once.
std::int64_t ConstraintValues::LeastNeeded(const ClaimPlan& claim, const Carriers& carriers) const {
  std::int64_t sum = 0;
  for (const RequestPlan& request : attempt_->plan().requests(claim)) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t a = 0; a < request.count; ++a) {
      const Candidates& candidates = attempt_->candidates(request.first + a);
      const bool counts = !candidates.alternative->admin && carriers.Covers(&candidates);
      least = std::min(least, counts ? candidates.need : 0);
    }
    if (request.count > 0)
      sum += std::min<std::int64_t>(least, std::numeric_limits<std::int32_t>::max());
  }
  return sum;
}

}  // namespace dray::allocator
