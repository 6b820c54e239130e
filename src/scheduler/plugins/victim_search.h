// SPDX-License-Identifier: Apache-2.0
//
// Which of many pods have to go, asked of whoever knows whether somebody fits without some of them:
// one pod on a node (preemption_victims.h), or all pods of a group wherever they go.
//
// Whoever is kept never helps: if somebody fits without some pods, then also without more of them. Where
// that is not so (required affinity), what is found still fits, but may not be the least.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/pod_info.h"

namespace dray::scheduler {

class World;

// A pod, or, where the pods of a group go together (disruptionMode all), all of them that are on nodes.
struct PossibleVictim {
  std::shared_ptr<const PodInfo> pod;  // the most important of them
  bool kept = false;                   // a disruption budget would rather keep one of them
  std::vector<std::shared_ptr<const PodInfo>> others = {};
  std::size_t violating = 1;  // if `kept`: how many of them budgets would
  bool of_group = false;
};

// What is tried out. Begins and ends with everybody there.
class VictimTrial {
 public:
  virtual ~VictimTrial() = default;
  virtual void Take(const std::shared_ptr<const PodInfo>& victim) = 0;
  virtual void PutBack(const std::shared_ptr<const PodInfo>& victim) = 0;
  // Without those who are taken. What costs.
  virtual bool Fits() = 0;
};

// Higher priority, and of equal ones that which has run for longer.
bool MoreImportant(const PodInfo& a, const PodInfo& b);
// The same of pods that go together, and between these: a group before a single pod, more pods before fewer.
bool MoreImportant(const PossibleVictim& a, const PossibleVictim& b);

// In the order in which they are put back: first those that budgets keep, so that there is room for them
// before there is for others; of either the most important first. A budget lets the most important go
// first, as many as its status allows; as in Kubernetes. Those that go with one of them are added; all of them
// are left out where one is as important as `below`, or their group is.
std::vector<PossibleVictim> InOrderOfReprieve(std::vector<std::shared_ptr<const PodInfo>> pods,
                                              std::int32_t below, const World& world);

// What victims cost, by which Kubernetes chooses among nodes. Adding a victim never makes it less.
struct VictimCost {
  std::size_t violations = 0;  // victims that a disruption budget would rather keep
  std::int32_t highest = 0;    // priority
  std::int64_t sum = 0;        // of priorities, made positive
  std::size_t victims = 0;
  std::int64_t started = 0;  // of those with the highest priority, the first; the later the better

  VictimCost With(const PossibleVictim& victim) const;
  bool operator<(const VictimCost& other) const;
};

struct Victims {
  std::vector<PossibleVictim> pods;  // most important first
  VictimCost cost;
};

// Everybody of `victims`, by pod; most important first.
std::vector<std::shared_ptr<const PodInfo>> EverybodyOf(std::span<const PossibleVictim> victims);

// Kubernetes's: all go, and are put back one by one as long as it fits. Nothing: it does not fit even
// without all of them.
std::optional<Victims> Reprieve(VictimTrial& trial, std::span<const PossibleVictim> in_order);

struct VictimSearchOptions {
  // Only what costs less than this is wanted.
  const VictimCost* below = nullptr;
  // Questions that may be asked to find less than what Reprieve does; counts down. When there are none
  // left, what has been found by then is the answer.
  std::size_t* questions = nullptr;
};
// The victims that cost least, by VictimCost. Takes as many from the end as are needed, doubling; puts back
// as Reprieve does; then looks for less by branch and bound, among the last kMostSearched of those that
// could be part of it. `fits`: whether it would fit without all of them; where that is so and nothing is
// returned, nothing costs less than `below`.
inline constexpr std::size_t kMostSearched = 64;
std::optional<Victims> FewestVictims(VictimTrial& trial, std::span<const PossibleVictim> in_order,
                                     const VictimSearchOptions& options, bool& fits);

// Its parts. Takes as many from the end as are needed, doubling, and leaves them taken. Nothing: all of them are
// not enough, and nobody is taken.
std::optional<std::span<const PossibleVictim>> TakeEnough(VictimTrial& trial,
                                                          std::span<const PossibleVictim> in_order);
// Victims that cost less than `bound`, and the least of all unless the questions run out; nothing: none were
// found. Begins and ends with everybody there.
std::optional<Victims> CheaperVictims(VictimTrial& trial, std::span<const PossibleVictim> in_order,
                                      const VictimCost& bound, std::size_t& questions);
// What they cost, in their order of importance.
Victims MakeVictims(std::vector<PossibleVictim> pods);

}  // namespace dray::scheduler
