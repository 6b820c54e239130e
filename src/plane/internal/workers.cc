// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/workers.h"

#include <string>
#include <utility>

#include "base/uuid.h"
#include "controllers/all_controllers.h"
#include "hollow/hollow_nodes.h"
#include "plane/internal/certificate_signing.h"
#include "plane/internal/time_zones.h"
#include "scheduler/ids.h"
#include "scheduler/scheduler.h"
#include "threads/thread_pool.h"

namespace dray::plane::internal {
namespace {

using controllers::ControllerGroup;

// So many decisions between two looks at what has changed, fewer when bindings in the background
// wait for their turn meanwhile. Somebody's one pod waits for as long as that takes, two or three
// times on its way, while somebody else's thousands are decided.
constexpr int kDecisionsPerSync = 32;
constexpr std::size_t kWritesPerSync = 32;
constexpr int kDecisionsPerTurn = 8;

class RandomIds final : public scheduler::Ids {
 public:
  // Null: the system's.
  explicit RandomIds(base::RandomSource* random) : random_(random != nullptr ? random : &system_) {}
  std::string Uid() override { return base::NewUuid(*random_); }

 private:
  base::SystemRandomSource system_;
  base::RandomSource* const random_;
};

class Scheduling final : public SchedulerWorker {
 public:
  Scheduling(api::Cluster& cluster, const base::Clock& clock, const api::FeatureGates& gates,
             const scheduler::Config& config, SchedulerMetrics* metrics,
             scheduler::Background* background, base::RandomSource* random,
             const DecisionLogOptions& log, Between* between)
      : between_(between),
        decisions_(background == nullptr ? kDecisionsPerSync : kDecisionsPerTurn),
        metrics_(metrics),
        log_(log, metrics),
        ids_(random),
        pool_(threads::WorkersFor(config.parallelism)),
        scheduler_(cluster, clock, ids_,
                   {.config = config,
                    .gates = gates,
                    .observer = log_.LooksOn() ? static_cast<scheduler::Observer*>(&log_) : metrics,
                    .background = background,
                    .executor = &pool_}) {}

  bool Work() override {
    scheduler_.Sync();
    scheduler_.Tick();
    bool more = true;
    for (int i = 0; more && i < decisions_; ++i) {
      more = (between_ != nullptr ? between_->ScheduleOne(scheduler_) : scheduler_.ScheduleOne())
                 .has_value();
    }
    if (metrics_ != nullptr) metrics_->Publish(scheduler_);
    return more;
  }
  std::optional<std::chrono::nanoseconds> NextDue() const override { return scheduler_.NextDue(); }
  scheduler::Statistics statistics() const override { return scheduler_.statistics(); }
  Status Paused() const override { return scheduler_.Paused(); }

 private:
  Between* const between_;
  const int decisions_;
  SchedulerMetrics* const metrics_;
  SlowDecisions log_;
  RandomIds ids_;
  threads::ThreadPool pool_;
  scheduler::Scheduler scheduler_;
};

class ControllerWorker final : public Worker {
 public:
  ControllerWorker(api::Cluster& cluster, const base::Clock& clock, const api::FeatureGates& gates,
                   ControllerMetrics& metrics, ControllerParts parts)
      : metrics_(metrics) {
    const bool apart = parts.only.has_value() || !parts.controllers;
    const controllers::Source shared =
        apart ? controllers::Source::Gathered(cluster) : controllers::Source(cluster).Shared();
    if (parts.controllers) {
      controllers_ = controllers::MakeControllers(shared, clock,
                                                  {.gates = gates,
                                                   .service_accounts = !parts.authority.empty(),
                                                   .authority = parts.authority,
                                                   .time_zones = MachineTimeZones(),
                                                   .observer = &metrics,
                                                   .only = parts.only});
      const bool upkeep = parts.only.value_or(ControllerGroup::kUpkeep) == ControllerGroup::kUpkeep;
      if (parts.signer != nullptr && upkeep) {
        controllers_.push_back(std::make_unique<CertificateSigning>(
            shared, clock, *parts.authorizer, *parts.signer, parts.write_approval));
        controllers_.back()->Observe(&metrics);
      }
    }
    if (parts.nodes) {
      controllers_.push_back(std::make_unique<hollow::HollowNodes>(shared, clock));
      controllers_.back()->Observe(&metrics);
    }
    for (const auto& controller : controllers_) {
      controller->LetOthersInAfter(kWritesPerSync);
      if (parts.launch != nullptr) controller->Overlap(parts.launch, parts.most_under_way);
    }
  }

  bool Work() override {
    std::size_t writes = 0;
    for (const auto& controller : controllers_) writes += controller->Sync();
    metrics_.Publish(controllers_);
    return writes > 0;
  }
  std::optional<std::chrono::nanoseconds> NextDue() const override {
    return controllers::NextDue(controllers_);
  }

 private:
  ControllerMetrics& metrics_;
  controllers::ControllerList controllers_;
};

}  // namespace

std::unique_ptr<SchedulerWorker> MakeSchedulerWorker(
    api::Cluster& cluster, const base::Clock& clock, const api::FeatureGates& gates,
    const scheduler::Config& config, SchedulerMetrics* metrics, scheduler::Background* background,
    base::RandomSource* random, const DecisionLogOptions& log, Between* between) {
  return std::make_unique<Scheduling>(cluster, clock, gates, config, metrics, background, random,
                                      log, between);
}

std::unique_ptr<Worker> MakeControllerWorker(api::Cluster& cluster, const base::Clock& clock,
                                             const api::FeatureGates& gates,
                                             ControllerMetrics& metrics, ControllerParts parts) {
  return std::make_unique<ControllerWorker>(cluster, clock, gates, metrics, parts);
}

}  // namespace dray::plane::internal
