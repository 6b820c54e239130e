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
#include "api/pod_group.h"
#include "base/string_map.h"
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

void Take(VictimTrial& trial, const PossibleVictim& victim) {
  trial.Take(victim.pod);
  for (const auto& other : victim.others) trial.Take(other);
}

void PutBack(VictimTrial& trial, const PossibleVictim& victim) {
  trial.PutBack(victim.pod);
  for (const auto& other : victim.others) trial.PutBack(other);
}

std::int64_t StartedAt(const PossibleVictim& victim) {
  std::int64_t first = StartedAt(*victim.pod);
  for (const auto& other : victim.others) first = std::min(first, StartedAt(*other));
  return first;
}

// The pods that go together, each such set once. None of them is as important as `below`.
std::vector<PossibleVictim> UnitsOf(std::vector<std::shared_ptr<const PodInfo>> pods,
                                    std::int32_t below, const World& world) {
  std::vector<PossibleVictim> units;
  base::StringSet seen;
  for (auto& pod : pods) {
    const auto group = world.GroupOf(*pod->pod);
    if (group == nullptr) {
      units.push_back({.pod = std::move(pod)});
      continue;
    }
    // The group's priority decides, and its pods have it, unless somebody else has bound them.
    if (world.PriorityOf(*group) >= below) continue;
    PossibleVictim unit{.pod = pod, .of_group = true};
    if (group->spec.disruption_mode && group->spec.disruption_mode->all) {
      if (!seen.insert(group->metadata.namespace_ + "/" + group->metadata.name).second) continue;
      unit.others = world.PlacedOfGroup(*pod->pod);
      std::ranges::stable_sort(unit.others,
                               [](const auto& a, const auto& b) { return MoreImportant(*a, *b); });
      unit.pod = std::move(unit.others.front());
      unit.others.erase(unit.others.begin());
      if (unit.pod->priority >= below) continue;
    }
    units.push_back(std::move(unit));
  }
  return units;
}

// Puts back those from `first` on, who are taken, as long as it fits. Who is left, taken.
std::vector<PossibleVictim> PutBackInOrder(VictimTrial& trial,
                                           std::span<const PossibleVictim> in_order) {
  std::vector<PossibleVictim> victims;
  for (const PossibleVictim& victim : in_order) {
    PutBack(trial, victim);
    if (trial.Fits()) continue;
    Take(trial, victim);
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
    PutBack(trial_, victim);
    if (trial_.Fits()) Enter(at + 1, cost);
    Take(trial_, victim);
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

bool MoreImportant(const PossibleVictim& a, const PossibleVictim& b) {
  const auto rank = [](const PossibleVictim& victim) {
    return std::tuple(-std::int64_t{victim.pod->priority}, victim.of_group ? 0 : 1,
                      -static_cast<std::int64_t>(victim.others.size()), StartedAt(victim));
  };
  return rank(a) < rank(b);
}

std::vector<PossibleVictim> InOrderOfReprieve(std::vector<std::shared_ptr<const PodInfo>> pods,
                                              std::int32_t below, const World& world) {
  std::vector<PossibleVictim> possible = UnitsOf(std::move(pods), below, world);
  std::ranges::stable_sort(possible, [](const PossibleVictim& a, const PossibleVictim& b) {
    return MoreImportant(a, b);
  });
  std::map<std::string, std::vector<Budget>, std::less<>> by_namespace;
  const auto violates = [&](const PodInfo& info) {
    const std::string& space = info.pod->metadata.namespace_;
    auto [at, added] = by_namespace.try_emplace(space);
    if (added) at->second = BudgetsOf(world, space);
    bool one = false;
    for (Budget& budget : at->second) one |= budget.IsFor(*info.pod) && --budget.left < 0;
    return one;
  };
  for (PossibleVictim& victim : possible) {
    victim.violating = violates(*victim.pod) ? 1 : 0;
    for (const auto& other : victim.others) victim.violating += violates(*other) ? 1 : 0;
    victim.kept = victim.violating > 0;
  }
  std::ranges::stable_partition(possible, &PossibleVictim::kept);
  return possible;
}

VictimCost VictimCost::With(const PossibleVictim& victim) const {
  VictimCost with = *this;
  with.violations += victim.kept ? victim.violating : 0;
  const auto add = [&](const PodInfo& pod) {
    const std::int64_t start = StartedAt(pod);
    // Priorities may be negative; made positive, so that more victims never cost less.
    with.sum += std::int64_t{pod.priority} - std::int64_t{std::numeric_limits<std::int32_t>::min()};
    if (with.victims == 0 || pod.priority > with.highest) {
      with.highest = pod.priority;
      with.started = start;
    } else if (pod.priority == with.highest) {
      with.started = std::min(with.started, start);
    }
    with.victims += 1;
  };
  add(*victim.pod);
  for (const auto& other : victim.others) add(*other);
  return with;
}

std::vector<std::shared_ptr<const PodInfo>> EverybodyOf(std::span<const PossibleVictim> victims) {
  std::vector<std::shared_ptr<const PodInfo>> pods;
  for (const PossibleVictim& victim : victims) {
    pods.push_back(victim.pod);
    std::ranges::copy(victim.others, std::back_inserter(pods));
  }
  return pods;
}

Victims MakeVictims(std::vector<PossibleVictim> pods) {
  Victims victims;
  for (const PossibleVictim& pod : pods) victims.cost = victims.cost.With(pod);
  std::ranges::stable_sort(
      pods, [](const PossibleVictim& a, const PossibleVictim& b) { return MoreImportant(a, b); });
  victims.pods = std::move(pods);
  return victims;
}

bool VictimCost::operator<(const VictimCost& other) const {
  return std::tie(violations, highest, sum, victims, other.started) <
         std::tie(other.violations, other.highest, other.sum, other.victims, started);
}

std::optional<Victims> Reprieve(VictimTrial& trial, std::span<const PossibleVictim> in_order) {
  for (const PossibleVictim& victim : in_order) Take(trial, victim);
  std::optional<Victims> found;
  if (trial.Fits()) {
    found = MakeVictims(PutBackInOrder(trial, in_order));
    for (const PossibleVictim& victim : found->pods) PutBack(trial, victim);
  } else {
    for (const PossibleVictim& victim : in_order) PutBack(trial, victim);
  }
  return found;
}

std::optional<std::span<const PossibleVictim>> TakeEnough(
    VictimTrial& trial, std::span<const PossibleVictim> in_order) {
  std::size_t taken = 0;
  while (taken < in_order.size()) {
    const std::size_t next = std::min(in_order.size(), std::max<std::size_t>(1, 2 * taken));
    for (; taken < next; ++taken) Take(trial, in_order[in_order.size() - 1 - taken]);
    if (trial.Fits()) return in_order.last(taken);
  }
  for (const PossibleVictim& victim : in_order) PutBack(trial, victim);
  return std::nullopt;
}

std::optional<Victims> CheaperVictims(VictimTrial& trial, std::span<const PossibleVictim> in_order,
                                      const VictimCost& bound, std::size_t& questions) {
  if (questions == 0) return std::nullopt;
  // Who alone costs as much as the bound, or more, is no part of anything that costs less.
  std::vector<PossibleVictim> open;
  std::ranges::copy_if(in_order, std::back_inserter(open), [&](const PossibleVictim& victim) {
    return VictimCost().With(victim) < bound;
  });
  if (open.size() > kMostSearched) open.erase(open.begin(), open.end() - kMostSearched);
  if (open.empty()) return std::nullopt;
  for (const PossibleVictim& victim : open) Take(trial, victim);
  --questions;
  std::optional<Victims> less;
  if (trial.Fits()) less = BranchAndBound(trial, open, bound, questions).Search();
  for (const PossibleVictim& victim : open) PutBack(trial, victim);
  return less;
}

std::optional<Victims> FewestVictims(VictimTrial& trial, std::span<const PossibleVictim> in_order,
                                     const VictimSearchOptions& options, bool& fits) {
  const auto enough = TakeEnough(trial, in_order);
  fits = enough.has_value();
  if (!fits) return std::nullopt;
  std::optional<Victims> best = MakeVictims(PutBackInOrder(trial, *enough));
  for (const PossibleVictim& victim : best->pods) PutBack(trial, victim);
  if (best->pods.empty()) return best;
  VictimCost bound = best->cost;
  if (options.below != nullptr && !(bound < *options.below)) {
    bound = *options.below;
    best.reset();
  }
  if (options.questions == nullptr) return best;
  if (auto less = CheaperVictims(trial, in_order, bound, *options.questions))
    best = std::move(less);
  return best;
}

}  // namespace dray::scheduler
