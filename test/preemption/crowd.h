// SPDX-License-Identifier: Apache-2.0
//
// A small cluster full of pods with devices, and what it would cost to make room in it, by trying
// everything. Shares no code with the scheduler's search for victims.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "api/disruption_budget.h"
#include "api/memory_cluster.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "model/dice.h"
#include "scheduler/ids.h"
#include "scheduler/scheduler.h"

namespace dray::preemption {

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

class CountedIds final : public scheduler::Ids {
 public:
  std::string Uid() override { return "00000000-0000-4000-8000-" + std::to_string(next_++); }

 private:
  std::uint64_t next_ = 100'000'000'000;
};

// Violations, highest priority, sum of priorities, number, start of the first of the most important
// (negative: the later the better).
using Cost = std::tuple<int, int, long, int, long>;

struct Choice {
  std::string node;
  std::set<std::string> victims;  // names
};

// One thread.
class Crowd {
 public:
  explicit Crowd(std::uint64_t seed);

  // Pods of several priorities, on nodes as far as they fit.
  void Fill();
  // Somebody important. Its name.
  std::string AddPreemptor();
  // With preemption by device, or without.
  scheduler::Scheduler& Start(bool devices);

  // Whether the pod would fit on the node without these.
  bool Fits(const std::string& pod, const std::string& node,
            const std::set<std::string>& without) const;
  // What the choice costs. Nothing: somebody is in it who must not be.
  std::optional<Cost> CostOf(const std::string& pod, const Choice& choice) const;
  // The least of all choices that help.
  std::optional<Cost> Least(const std::string& pod) const;

  // Claims that nobody uses any more are given back.
  void GiveBack();

  template <typename T>
  std::vector<T> All() const {
    std::vector<T> all;
    for (const api::Object& object : cluster_.All(KindOf<T>())) all.push_back(*object.As<T>());
    return all;
  }
  std::optional<api::Pod> Find(const std::string& pod) const;
  std::set<std::string> Pods() const;
  base::ManualClock& clock() { return clock_; }
  scheduler::Scheduler& scheduler() { return *scheduler_; }

 private:
  template <typename T>
  void Create(T object);
  void AddNodes();
  void AddFabric();
  api::ResourceSlice DevicesOf(const std::string& node);
  api::ResourceClaim MakeClaim(const std::string& name);
  // `devices`: so many as an extended resource.
  void AddPod(const std::string& name, int priority, const std::vector<std::string>& claims,
              int devices);
  // Who may be sent away for the pod on the node, most important first.
  std::vector<api::Pod> Possible(const api::Pod& pod, const std::string& node) const;
  std::vector<api::Pod> UsersOf(const api::ResourceClaim& claim) const;

  model::Dice dice_;
  base::ManualClock clock_{base::Time::FromUnix(1'000'000)};
  base::SeededRandomSource random_;
  api::MemoryCluster cluster_;
  CountedIds ids_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  bool fabric_ = false;
  int pods_ = 0;
};

}  // namespace dray::preemption
