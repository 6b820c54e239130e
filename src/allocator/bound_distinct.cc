// SPDX-License-Identifier: Apache-2.0
#include "allocator/bound_distinct.h"

#include <algorithm>

namespace dray::allocator {

using base::BitSet;

namespace {

constexpr std::uint32_t kNoValue = 0xffffffff;

}  // namespace

void DistinctBound::Reset(const BoundInput& input) {
  attempt_ = &input.attempt;
  values_ = &input.values;
  work_ = &input.work;
}

bool DistinctBound::Hopeless(const State& state, Demands& demands) {
  return values_->usable() && demands.AnyConstraint([&](std::size_t claim, std::size_t constraint) {
    const ConstraintType& type = *attempt_->plan().constraints()[constraint].type;
    return type.promise() == Promise::kDisjointElements &&
           TooFew(state, demands, claim, constraint);
  });
}

bool DistinctBound::TooFew(const State& state, Demands& demands, std::size_t claim,
                           std::size_t constraint) {
  const ConstraintValues::Carriers& carriers = (*values_)[constraint];
  const std::size_t elements = carriers.elements.size();
  const auto& dictionary = attempt_->devices().dictionary();
  if (used_.size() != elements) used_ = BitSet(elements);
  used_.ResetAll();
  for (const ValueId value : state.accepted(constraint).values) {
    for (const ElementId element : dictionary.At(value).elements) {
      const std::size_t at = carriers.IndexOf(element);
      if (at < elements) used_.Set(at);
    }
  }
  const std::span<const Covered> covered = demands.CoveredBy(constraint, claim);
  if (covered.empty()) return false;
  flow_.Reset(elements, 0);
  for (std::size_t e = 0; e < elements; ++e) flow_.SetItem(e, 1, Transport::kNoBucket);
  allowed_.assign(covered.size(), BitSet(elements));
  for (std::size_t i = 0; i < covered.size(); ++i) {
    const Demand& demand = *covered[i].demands.front();
    // Of several alternatives one may clash and another not.
    if (used_.Any() && demand.candidates.size() == 1) {
      BitSet clash(attempt_->device_count());
      const auto& with = *carriers.Find(demand.candidates.front());
      used_.ForEach([&](std::size_t e) { clash |= with[e]; });
      for (Demand* one : covered[i].demands) one->mask.AndNot(clash);
    }
    for (std::size_t e = 0; e < elements; ++e) {
      if (!used_.Test(e) && demands.CountWith(demand, constraint, e) > 0) allowed_[i].Set(e);
    }
    flow_.AddGroup(covered[i].sum, allowed_[i]);
    work_->Spend(elements * (2 + attempt_->device_count() / 64));
  }
  const bool matched = flow_.Feasible();
  work_->Spend(flow_.spent());
  if (matched && !TooFewDisjoint(covered, constraint)) return false;
  demands.BlameCovered(constraint, claim);
  return true;
}

bool DistinctBound::TooFewDisjoint(std::span<const Covered> covered, std::size_t constraint) {
  const ConstraintValues::Carriers& carriers = (*values_)[constraint];
  const std::size_t elements = carriers.elements.size();
  const std::size_t n = attempt_->device_count();
  std::size_t need = 0;
  fewest_.assign(n, kNoValue);
  root_.resize(elements);
  for (std::uint32_t e = 0; e < elements; ++e) root_[e] = e;
  const auto find = [&](std::uint32_t e) {
    while (root_[e] != e) e = root_[e] = root_[root_[e]];
    return e;
  };
  // The first value of each device, by which the others of it are joined.
  first_value_.assign(n, kNoValue);
  bool several = false;
  for (const Covered& c : covered) {
    const Demand& demand = *c.demands.front();
    // Two alternatives may see different values of one device.
    if (demand.candidates.size() > 1) continue;
    // Requests may derive different values of a device that both have a share of.
    if (demand.mask.Intersects(attempt_->multi())) return false;
    need += c.sum;
    work_->Spend(elements * (2 + n / 64) + n);
    const std::vector<BitSet>& with = *carriers.Find(demand.candidates.front());
    seen_.assign(n, 0);
    for (std::uint32_t e = 0; e < elements; ++e) {
      if (used_.Test(e) || !with[e].Intersects(demand.mask)) continue;
      scratch_ = with[e];
      scratch_ &= demand.mask;
      work_->Spend(scratch_.Count() / 2 + 1);
      scratch_.ForEach([&](std::size_t d) {
        ++seen_[d];
        if (first_value_[d] == kNoValue) {
          first_value_[d] = e;
        } else {
          several = true;
          root_[find(e)] = find(first_value_[d]);
        }
      });
    }
    for (std::size_t d = 0; d < n; ++d) {
      if (seen_[d] > 0) fewest_[d] = std::min(fewest_[d], seen_[d]);
    }
  }
  if (!several || need == 0) return false;
  // Values that hang together, by root.
  struct Cluster {
    std::uint32_t values = 0;
    std::uint32_t devices = 0;
    std::uint32_t fewest = kNoValue;  // values that a device has
  };
  std::vector<Cluster> clusters(elements);
  for (std::uint32_t e = 0; e < elements; ++e) ++clusters[find(e)].values;
  for (std::size_t d = 0; d < n; ++d) {
    if (first_value_[d] == kNoValue) continue;
    Cluster& cluster = clusters[find(first_value_[d])];
    ++cluster.devices;
    cluster.fewest = std::min(cluster.fewest, fewest_[d]);
  }
  std::size_t most = 0;
  for (const Cluster& cluster : clusters) {
    if (cluster.devices > 0) most += std::min(cluster.devices, cluster.values / cluster.fewest);
  }
  return most < need;
}

}  // namespace dray::allocator
