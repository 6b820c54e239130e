// SPDX-License-Identifier: Apache-2.0
//
// A node full of devices with every feature that the allocator's instances have (test/model): partitions, groups,
// shares, lists, derived attributes, taints, prioritized lists, admin access, several requests with constraints. Pods
// use them, some of them on another node, some in groups that go together; and somebody comes, alone or as a gang.
// What would fit, and whom that would cost, is found by trying everything with the slow model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "api/memory_cluster.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "model/dice.h"
#include "model/instance.h"
#include "scheduler/device_cluster_for_test.h"
#include "scheduler/scheduler.h"

namespace dray::preemption {

struct HouseOptions {
  bool gang = false;    // the claims that are wanted are those of several pods
  bool devices = true;  // pods may be sent away for devices
  bool holders = true;  // somebody has devices
};

// Violations, highest priority, sum of priorities, number, start of the first of the most important
// (negative: the later the better).
using HouseCost = std::tuple<int, int, long, int, long>;
std::string Shown(const HouseCost& cost);

// One thread.
class House {
 public:
  House(std::uint64_t seed, const HouseOptions& options);

  // False: the model does not answer (an expression fails, or it takes too long), so that nothing can be held
  // against it.
  bool known() const { return known_; }

  // Whether enough of those who come fit without these pods.
  bool Fits(const std::set<std::string>& without);
  // Nothing: somebody is in it who must not be.
  std::optional<HouseCost> CostOf(const std::set<std::string>& victims) const;
  // The least of all sets that help.
  std::optional<HouseCost> Least();

  void Run();
  void GiveBack();
  std::set<std::string> Pods() const;
  // How many of those who come have a node.
  std::size_t Bound() const;
  std::size_t least() const { return least_; }
  std::size_t comers() const { return comers_.size(); }
  std::size_t rooms_kept() const { return scheduler_->rooms_kept(); }
  // What is said of those who come, and what is where.
  std::string Told() const;
  const model::Instance& instance() const { return instance_; }

 private:
  struct Holder {
    std::string name;
    int priority = 0;
    int cpu = 1;
    long start = 0;
    bool elsewhere = false;
    bool of_group = false;  // of the one whose pods go together
    std::optional<std::string> budget;
    std::vector<std::string> claims;
  };
  struct Comer {
    std::string name;
    int cpu = 1;
    std::vector<std::size_t> claims;  // of the instance
    int extended = 0;  // devices of a class by its name as a resource: the last of `claims`
    std::string extended_class;
  };

  template <typename T>
  void Create(T object);
  void MakeInstance(std::uint64_t seed);
  void AddHolders(bool holders);
  void AddComers(bool gang);
  void Load();
  api::Pod PodOf(const std::string& name, int priority, int cpu,
                 const std::vector<std::string>& claims) const;
  // In the order in which budgets let them go.
  std::vector<const Holder*> Possible() const;
  bool Place(std::size_t comer, std::size_t placed, int cpu, std::vector<std::size_t>& claims,
             const model::Instance& without);

  HouseOptions options_;
  model::Dice dice_;
  model::Instance instance_;
  std::set<std::string> kept_;  // claims that nobody gives back
  std::vector<Holder> holders_;
  std::map<std::string, int> budgets_;
  std::vector<Comer> comers_;
  std::size_t least_ = 1;
  int priority_ = 3;
  bool never_ = false;
  int cpu_ = 0;
  bool known_ = true;

  base::ManualClock clock_{base::Time::FromUnix(1'000'000)};
  base::SeededRandomSource random_{1};
  std::unique_ptr<api::MemoryCluster> cluster_;
  scheduler::CountedIds ids_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
};

}  // namespace dray::preemption
