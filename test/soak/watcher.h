// SPDX-License-Identifier: Apache-2.0
//
// Watcher: looks at a town after everything that a scheduler does in it, and complains. It knows
// what is stored and nothing else; sums and rules are the model's, not the scheduler's.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"
#include "soak/town.h"

namespace dray::soak {

// One thread.
class Watcher {
 public:
  // `preempts`: the scheduler sends pods away for devices.
  explicit Watcher(Town& town, bool preempts = false) : town_(town), preempts_(preempts) {}

  // What others have done is as it is.
  void Learn();
  // After each attempt: whatever has been allocated was free, right and for that node; a pod that
  // is bound has its claims and its room there.
  void After(const scheduler::Outcome& outcome);
  // No pod that waits would be taken by a scheduler that begins now and remembers nothing, and what
  // is said of it is what that one says; and the model finds no devices either. With `all`, pods
  // that back off count, too. False: some pod is on its way to a node, or has one kept for it, so
  // it cannot be said.
  bool CheckWaiting(scheduler::Scheduler& scheduler, bool all);
  void Complain(std::string text) { complaints_.push_back(std::move(text)); }

  const std::vector<std::string>& complaints() const { return complaints_; }
  std::uint64_t allocations() const { return allocations_; }
  std::uint64_t explanations() const { return explanations_; }
  std::uint64_t refusals_of_the_model() const { return model_refusals_; }

 private:
  void CheckAllocated(const std::string& node, std::vector<api::ResourceClaim> claims);
  void CheckExclusive();
  void CheckBound(const std::string& pod, const std::string& node);
  // Whoever is on a node has what it needs there, also if nobody says that it was bound.
  void CheckClaims(const api::Pod& pod);
  bool ServedByDevicePlugins(const api::Pod& pod) const;
  void CheckReasons(const api::Pod& pod, const scheduler::PodExplanation& explanation);

  Town& town_;
  const bool preempts_;
  std::map<std::string, api::Object> known_;  // claims with devices, by uid
  std::set<std::string> waited_;              // pods whose binding did
  std::set<std::string> on_nodes_;            // uids of pods that were seen there
  std::vector<std::string> complaints_;
  std::uint64_t allocations_ = 0;
  std::uint64_t explanations_ = 0;
  std::uint64_t model_refusals_ = 0;
};

}  // namespace dray::soak
