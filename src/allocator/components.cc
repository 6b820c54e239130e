// SPDX-License-Identifier: Apache-2.0
#include "allocator/components.h"

#include <algorithm>
#include <numeric>

namespace dray::allocator {

using base::BitSet;
using inventory::SetUse;

namespace {

// Union-find in which the smallest member stands for its set.
std::uint32_t RootOf(std::vector<std::uint32_t>& root, std::uint32_t i) {
  while (root[i] != i) i = root[i] = root[root[i]];
  return i;
}

// Joins `i` with the first that came with the same key.
void JoinFirst(std::vector<std::uint32_t>& root, std::uint32_t& first, std::uint32_t i) {
  if (first == Symmetry::kNone) first = i;
  const std::uint32_t a = RootOf(root, first);
  const std::uint32_t b = RootOf(root, i);
  root[std::max(a, b)] = std::min(a, b);
}

}  // namespace

void Components::Reset(const Attempt& attempt, const State& initial, const Symmetry& symmetry,
                       WorkMeter& work) {
  attempt_ = &attempt;
  work_ = &work;
  symmetry_ = &symmetry;
  Link();
  Describe(initial);
}

void Components::Link() {
  const std::size_t n = attempt_->device_count();
  const auto& dictionary = attempt_->devices().dictionary();
  root_.resize(n);
  std::iota(root_.begin(), root_.end(), 0);
  std::vector<std::uint32_t> first_of_class(symmetry_->classes(), Symmetry::kNone);
  std::vector<std::uint32_t> first_of_set(attempt_->devices().counter_sets().size(),
                                          Symmetry::kNone);
  absl::flat_hash_map<AttributeElement, std::uint32_t> first_of_element;
  for (std::uint32_t d = 0; d < n; ++d) {
    const std::uint32_t of = symmetry_->class_of(d);
    if (of == Symmetry::kNone) continue;
    const bool known = first_of_class[of] != Symmetry::kNone;
    JoinFirst(root_, first_of_class[of], d);
    // Its sets and values are those of its class.
    if (known) continue;
    work_->Spend(symmetry_->representatives().size());
    if (work_->exhausted()) return;
    for (const SetUse& use : attempt_->devices().set_uses(attempt_->devices().devices()[d])) {
      JoinFirst(root_, first_of_set[use.set], d);
    }
    for (const std::uint32_t a : symmetry_->representatives()) {
      const Candidates& candidates = attempt_->candidates(a);
      if (!candidates.devices.Test(d)) continue;
      for (std::size_t use = 0; use < candidates.alternative->constraints.size(); ++use) {
        const ValueId value = attempt_->value(candidates, use, d);
        if (value == ValueId::kNone) continue;
        work_->Spend(dictionary.At(value).elements.size() * 8);
        for (const ElementId element : dictionary.At(value).elements) {
          const AttributeElement key{symmetry_->attribute(a, use), element};
          if (!symmetry_->Linking(key)) continue;
          JoinFirst(root_, first_of_element.try_emplace(key, Symmetry::kNone).first->second, d);
        }
      }
    }
  }
  for (std::uint32_t d = 0; d < n; ++d) root_[d] = RootOf(root_, d);
}

void Components::Describe(const State& initial) {
  const std::size_t n = attempt_->device_count();
  components_.clear();
  places_.clear();
  std::vector<std::uint32_t> component_at(n, Symmetry::kNone);  // by root
  std::vector<Symmetry::Local> locals;
  std::vector<Description> descriptions;
  std::vector<bool> class_done(symmetry_->classes(), false);
  for (std::uint32_t d = 0; d < n; ++d) {
    const std::uint32_t of = symmetry_->class_of(d);
    if (of == Symmetry::kNone) continue;
    std::uint32_t& at = component_at[root_[d]];
    if (at == Symmetry::kNone) {
      at = static_cast<std::uint32_t>(components_.size());
      components_.emplace_back();
      locals.emplace_back();
      descriptions.emplace_back();
    }
    if (OneByOne(d)) components_[at].devices.push_back(d);
    if (class_done[of]) continue;
    class_done[of] = true;
    if (work_->exhausted()) return;
    const std::size_t before = descriptions[at].size();
    symmetry_->Describe(d, initial, &locals[at], descriptions[at]);
    work_->Spend((descriptions[at].size() - before) * 4 + 8);
    // One class has either counted devices or others, never both.
    descriptions[at].Add(static_cast<std::uint64_t>(OneByOne(d)));
    components_[at].classes.push_back(of);
  }
  for (std::uint32_t i = 0; i < components_.size(); ++i) {
    components_[i].type = descriptions[i].Hash();
    components_[i].sets.resize(locals[i].sets.size());
    for (const auto& [set, at] : locals[i].sets) components_[i].sets[at] = set;
    for (const auto& [element, at] : locals[i].elements) {
      places_.try_emplace(element, Place{.component = i, .number = at});
    }
  }
}

std::vector<BitSet> IndependentRequests(const Attempt& attempt, const Symmetry& symmetry,
                                        const Components& components, WorkMeter& work) {
  const Plan& plan = attempt.plan();
  const auto requests = plan.requests();
  std::vector<BitSet> parts;
  std::vector<std::uint32_t> root(requests.size());
  std::iota(root.begin(), root.end(), 0);
  std::vector<std::uint32_t> component_of(symmetry.classes(), Symmetry::kNone);
  for (std::uint32_t c = 0; c < components.all().size(); ++c) {
    for (const std::uint32_t of : components.all()[c].classes) component_of[of] = c;
  }
  std::vector<std::uint32_t> of_component(components.all().size(), Symmetry::kNone);
  std::vector<std::uint32_t> of_constraint(plan.constraints().size(), Symmetry::kNone);
  for (const ClaimPlan& claim : plan.claims()) {
    std::int64_t most = 0;
    bool admin = false;
    for (std::uint32_t r = claim.first_request; r < claim.first_request + claim.requests; ++r) {
      std::int64_t need = 0;
      for (std::uint32_t i = 0; i < requests[r].count; ++i) {
        const Candidates& candidates = attempt.candidates(requests[r].first + i);
        need = std::max(need, candidates.need);
        admin |= candidates.alternative->admin;
        for (const ConstraintUse& use : candidates.alternative->constraints) {
          JoinFirst(root, of_constraint[claim.first_constraint + use.constraint], r);
        }
      }
      most += need;
      work.Spend(8 + symmetry.classes() / 8);
      symmetry.wanted_by(r).ForEach(
          [&](std::size_t of) { JoinFirst(root, of_component[component_of[of]], r); });
    }
    // The number of a claim's devices is limited: then its requests depend on each other.
    std::uint32_t of_claim = Symmetry::kNone;
    for (std::uint32_t r = claim.first_request;
         (admin || most > kMaxDevicesPerClaim) && r < claim.first_request + claim.requests; ++r) {
      JoinFirst(root, of_claim, r);
    }
  }
  std::vector<std::uint32_t> part_of(requests.size(), Symmetry::kNone);
  for (std::uint32_t r = 0; r < requests.size(); ++r) {
    std::uint32_t& part = part_of[RootOf(root, r)];
    if (part == Symmetry::kNone) {
      part = static_cast<std::uint32_t>(parts.size());
      parts.emplace_back(requests.size());
    }
    parts[part].Set(r);
  }
  return parts;
}

}  // namespace dray::allocator
