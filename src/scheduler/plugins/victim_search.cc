// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/victim_search.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "api/label_selector.h"
#include "scheduler/world.h"

namespace dray::scheduler {
namespace {

// A pod that has not started yet will start after all that have.
std::int64_t StartedAt(const PodInfo& pod) {
  const auto& started = pod.pod->status.start_time;
  return started.has_value() ? started->UnixNanos() : std::numeric_limits<std::int64_t>::max();
}

// A budget, and how many it still lets go of those that are looked at now.
struct Budget {
  std::shared_ptr<const api::PodDisruptionBudget> budget;
  api::LabelMatcher selector;
  std::int32_t left = 0;

  // Who was let go already is not asked about again.
  bool IsFor(const api::Pod& pod) const {
    return !pod.metadata.labels.empty() && selector.Matches(pod.metadata.labels) &&
           !budget->status.disrupted_pods.contains(pod.metadata.name);
  }
};

// As in Kubernetes: a budget without a selector, or with an empty one, is for nobody; nor is any for
// a pod without labels.
std::vector<Budget> BudgetsOf(const World& world, std::string_view namespace_) {
  std::vector<Budget> budgets;
  for (auto& budget : world.BudgetsOf(namespace_)) {
    if (!budget->spec.selector) continue;
    auto selector = api::LabelMatcher::From(*budget->spec.selector);
    if (!selector.ok() || selector->empty()) continue;
    const std::int32_t allowed = budget->status.disruptions_allowed;
    budgets.push_back({std::move(budget), *std::move(selector), allowed});
  }
  return budgets;
}

Victims MakeVictims(std::vector<PossibleVictim> pods) {
  Victims victims;
  for (const PossibleVictim& pod : pods) victims.cost = victims.cost.With(pod);
  std::ranges::stable_sort(
      pods, [](const auto& a, const auto& b) { return MoreImportant(*a.pod, *b.pod); });
  victims.pods = std::move(pods);
  return victims;
}

// Puts back those from `first` on, who are taken, as long as it fits. Who is left, taken.
std::vector<PossibleVictim> PutBackInOrder(VictimTrial& trial,
                                           std::span<const PossibleVictim> in_order) {
  std::vector<PossibleVictim> victims;
  for (const PossibleVictim& victim : in_order) {
    trial.PutBack(victim.pod);
    if (trial.Fits()) continue;
    trial.Take(victim.pod);
    victims.push_back(victim);
  }
  return victims;
}

// Looks for victims that cost less than the best that is known. Everybody whose fate is open is taken, so a
// place is entered only if it fits with all of them gone; who is put back first is tried first, so that the
// cheap ones come last and go.
class BranchAndBound {
 public:
  BranchAndBound(VictimTrial& trial, std::span<const PossibleVictim> open, VictimCost best,
                 std::size_t& questions)
      : trial_(trial), open_(open), best_(best), questions_(questions) {}

  // With all of `open` taken, before and after.
  std::optional<Victims> Search() {
    Enter(0, {});
    if (!found_) return std::nullopt;
    return MakeVictims(*std::move(found_));
  }

 private:
  void Enter(std::size_t at, const VictimCost& cost) {
    if (at == open_.size()) {
      if (chosen_.empty()) return;
      best_ = cost;
      found_ = chosen_;
      return;
    }
    const PossibleVictim& victim = open_[at];
    if (questions_ == 0) return;
    --questions_;
    trial_.PutBack(victim.pod);
    if (trial_.Fits()) Enter(at + 1, cost);
    trial_.Take(victim.pod);
    const VictimCost with = cost.With(victim);
    if (!(with < best_)) return;
    chosen_.push_back(victim);
    Enter(at + 1, with);
    chosen_.pop_back();
  }

  VictimTrial& trial_;
  std::span<const PossibleVictim> open_;
  VictimCost best_;
  std::size_t& questions_;
  std::vector<PossibleVictim> chosen_;
  std::optional<std::vector<PossibleVictim>> found_;
};

}  // namespace

bool MoreImportant(const PodInfo& a, const PodInfo& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  return StartedAt(a) < StartedAt(b);
}

std::vector<PossibleVictim> InOrderOfReprieve(std::vector<std::shared_ptr<const PodInfo>> pods,
                                              const World& world) {
  std::ranges::stable_sort(pods,
                           [](const auto& a, const auto& b) { return MoreImportant(*a, *b); });
  std::map<std::string, std::vector<Budget>, std::less<>> by_namespace;
  std::vector<PossibleVictim> possible;
  for (auto& info : pods) {
    const std::string& space = info->pod->metadata.namespace_;
    auto [at, added] = by_namespace.try_emplace(space);
    if (added) at->second = BudgetsOf(world, space);
    bool violates = false;
    for (Budget& budget : at->second) {
      if (!budget.IsFor(*info->pod)) continue;
      violates |= --budget.left < 0;
    }
    possible.push_back({std::move(info), violates});
  }
  std::ranges::stable_partition(possible, &PossibleVictim::kept);
  return possible;
}

VictimCost VictimCost::With(const PossibleVictim& victim) const {
  VictimCost with = *this;
  const std::int32_t priority = victim.pod->priority;
  const std::int64_t start = StartedAt(*victim.pod);
  with.violations += victim.kept ? 1 : 0;
  // Priorities may be negative; made positive, so that more victims never cost less.
  with.sum += std::int64_t{priority} - std::int64_t{std::numeric_limits<std::int32_t>::min()};
  with.victims += 1;
  if (victims == 0 || priority > highest) {
    with.highest = priority;
    with.started = start;
  } else if (priority == highest) {
    with.started = std::min(started, start);
  }
  return with;
}

bool VictimCost::operator<(const VictimCost& other) const {
  return std::tie(violations, highest, sum, victims, other.started) <
         std::tie(other.violations, other.highest, other.sum, other.victims, started);
}

std::optional<Victims> Reprieve(VictimTrial& trial, std::span<const PossibleVictim> in_order) {
  for (const PossibleVictim& victim : in_order) trial.Take(victim.pod);
  std::optional<Victims> found;
  if (trial.Fits()) {
    found = MakeVictims(PutBackInOrder(trial, in_order));
    for (const PossibleVictim& victim : found->pods) trial.PutBack(victim.pod);
  } else {
    for (const PossibleVictim& victim : in_order) trial.PutBack(victim.pod);
  }
  return found;
}

std::optional<Victims> FewestVictims(VictimTrial& trial, std::span<const PossibleVictim> in_order,
                                     const VictimSearchOptions& options, bool& fits) {
  std::size_t taken = 0;
  for (fits = false; !fits && taken < in_order.size();) {
    const std::size_t next = std::min(in_order.size(), std::max<std::size_t>(1, 2 * taken));
    for (; taken < next; ++taken) trial.Take(in_order[in_order.size() - 1 - taken].pod);
    fits = trial.Fits();
  }
  if (!fits) {
    for (const PossibleVictim& victim : in_order) trial.PutBack(victim.pod);
    return std::nullopt;
  }
  std::optional<Victims> best = MakeVictims(PutBackInOrder(trial, in_order.last(taken)));
  for (const PossibleVictim& victim : best->pods) trial.PutBack(victim.pod);
  if (best->pods.empty()) return best;
  VictimCost bound = best->cost;
  if (options.below != nullptr && !(bound < *options.below)) {
    bound = *options.below;
    best.reset();
  }
  if (options.questions == nullptr || *options.questions == 0) return best;

  // Who alone costs as much as the bound, or more, is no part of anything that costs less.
  std::vector<PossibleVictim> open;
  std::ranges::copy_if(in_order, std::back_inserter(open), [&](const PossibleVictim& victim) {
    return VictimCost().With(victim) < bound;
  });
  if (open.size() > kMostSearched) open.erase(open.begin(), open.end() - kMostSearched);
  if (open.empty()) return best;
  for (const PossibleVictim& victim : open) trial.Take(victim.pod);
  --*options.questions;
  if (trial.Fits()) {
    BranchAndBound search(trial, open, bound, *options.questions);
    if (std::optional<Victims> less = search.Search()) best = std::move(less);
  }
  for (const PossibleVictim& victim : open) trial.PutBack(victim.pod);
  return best;
}

}  // namespace dray::scheduler
