// SPDX-License-Identifier: Apache-2.0
//
// Rehearsal: a cluster in memory with its controllers and its scheduler, and a clock that is moved
// on only when somebody waits for it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/memory_cluster.h"
#include "base/clock.h"
#include "base/string_map.h"
#include "base/uuid.h"
#include "controllers/controller.h"
#include "planner/internal/write_guard.h"
#include "planner/plan.h"
#include "scheduler/scheduler.h"

namespace dray::planner::internal {

// Deployments, ReplicaSets and Jobs get pods, pods claims.
std::vector<std::unique_ptr<controllers::Controller>> MakeControllers(
    api::Cluster& cluster, const base::Clock& clock, const api::FeatureGates& gates);

// Until none of them has anything to do now. How much they wrote.
std::size_t Settle(const std::vector<std::unique_ptr<controllers::Controller>>& controllers);

// With a default profile for each scheduler that pods name and the configuration does not have, where these are taken
// to exist (PlanOptions::assume_schedulers); after the given ones.
PlanOptions WithSchedulersOf(const std::vector<api::Object>& objects, PlanOptions options);

// One thread.
class Rehearsal {
 public:
  // The options and the guard outlive it.
  Rehearsal(const PlanOptions& options, std::uint64_t seed, WriteGuard& guard);

  // The scheduler tries pods of the same importance in this order.
  Status Load(std::vector<api::Object> objects) { return cluster_.Load(std::move(objects)); }

  // Until nothing changes any more. Time goes by while pods back off, and once more as long as it
  // takes for every refused pod to be tried again, so that what is said of it is true in the end.
  void Run();
  // The same without controllers: they would give back what no pod uses.
  void RunScheduler();
  // Every pod that has not been tried is tried, without controllers and without time going by.
  void TryOnce() { Step(/*controllers=*/false); }

  api::MemoryCluster& cluster() { return cluster_; }
  const scheduler::Scheduler& scheduler() const { return *scheduler_; }
  // Where a pod will be that waits for its devices. Empty: it does not.
  std::string_view WaitsFor(std::string_view pod_key) const;

 private:
  class Ids final : public scheduler::Ids {
   public:
    explicit Ids(base::RandomSource& random) : random_(random) {}
    std::string Uid() override { return base::NewUuid(random_); }

   private:
    base::RandomSource& random_;
  };

  void RunWith(bool controllers);
  void RunWhileInTime();
  bool Expired() const;
  // Without time going by. Whether something was written.
  bool Step(bool controllers);
  void Advance(std::chrono::nanoseconds to);
  void Record(const std::vector<scheduler::Outcome>& outcomes);
  // When the next pod is over with its backoff, if that can still bring news.
  std::optional<std::chrono::nanoseconds> NextRetry(std::chrono::nanoseconds changed) const;

  const PlanOptions& options_;
  base::ManualClock clock_;
  base::SeededRandomSource random_;
  Ids ids_{random_};
  api::MemoryCluster cluster_;
  std::vector<std::unique_ptr<controllers::Controller>> controllers_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  base::StringMap<std::string> waiting_;  // node by pod
  std::size_t bound_ = 0;
};

}  // namespace dray::planner::internal
