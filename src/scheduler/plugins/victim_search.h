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

struct PossibleVictim {
  std::shared_ptr<const PodInfo> pod;
  bool kept = false;  // a disruption budget would rather keep it
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

// In the order in which they are put back: first those that budgets keep, so that there is room for them
// before there is for others; of either the most important first. A budget lets the most important go
// first, as many as its status allows; as in Kubernetes.
std::vector<PossibleVictim> InOrderOfReprieve(std::vector<std::shared_ptr<const PodInfo>> pods,
                                              const World& world);

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

}  // namespace dray::scheduler
