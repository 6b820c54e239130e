// SPDX-License-Identifier: Apache-2.0
#include "allocator/bound_disjoint.h"

#include <algorithm>

namespace dray::allocator {

using base::BitSet;

void DisjointBound::Reset(const BoundInput& input) {
  const Attempt& attempt = input.attempt;
  attempt_ = &attempt;
  values_ = &input.values;
  work_ = &input.work;
  graphs_.resize(attempt.plan().constraints().size());
  for (Graph& graph : graphs_) graph.ready = false;
}

void DisjointBound::Build(std::size_t constraint, Graph& graph) const {
  const ConstraintValues::Carriers& carriers = (*values_)[constraint];
  const std::size_t n = attempt_->device_count();
  graph.ready = true;
  graph.joined = false;
  graph.set.Reset(n);
  work_->Spend(n * (1 + n / 64));
  graph.once = attempt_->multi();
  BitSet all(n, true);
  all.AndNot(graph.once);
  graph.once = all;
  BitSet sure(n);
  BitSet missing(n);
  carriers.linking.ForEach([&](std::size_t e) {
    // Devices that have the value for whoever takes them.
    sure.ResetAll();
    for (const auto& view : carriers.views) sure |= (*view.with)[e];
    for (const auto& view : carriers.views) {
      missing = view.candidates->devices;
      missing.AndNot((*view.with)[e]);
      sure.AndNot(missing);
    }
    const std::size_t count = sure.Count();
    work_->Spend((carriers.views.size() + count) * (1 + n / 32));
    graph.once |= sure;
    if (count < 2) return;
    graph.joined = true;
    graph.set.Join(sure);
  });
}

bool DisjointBound::TooMany(Graph& graph, const BitSet& among, std::size_t need) {
  // The first question, of the whole, deserves the most; those that are asked again and again get
  // less of what is left.
  const std::uint64_t limit = work_->left() / 8;
  return need > 1 && graph.set.AtLeast(among, need, limit, *work_) == IndependentSet::Answer::kNo;
}

bool DisjointBound::Hopeless(const State& /*state*/, Demands& demands) {
  return values_->usable() && demands.AnyConstraint([&](std::size_t claim, std::size_t constraint) {
    const ConstraintType& type = *attempt_->plan().constraints()[constraint].type;
    if (type.promise() != Promise::kDisjointElements) return false;
    Graph& graph = graphs_[(*values_)[constraint].same_as];
    if (!graph.ready) Build(constraint, graph);
    if (!graph.joined) return false;
    std::size_t need = 0;
    if (among_.size() != attempt_->device_count()) among_ = BitSet(attempt_->device_count());
    among_.ResetAll();
    for (const Covered& covered : demands.CoveredBy(constraint, claim)) {
      need += covered.sum;
      among_ |= covered.demands.front()->mask;
    }
    several_ = among_;
    several_.AndNot(graph.once);
    if (several_.Any() || !TooMany(graph, among_, need)) return false;
    demands.BlameCovered(constraint, claim);
    return true;
  });
}

}  // namespace dray::allocator
