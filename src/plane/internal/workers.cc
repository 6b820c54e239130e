// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/workers.h"

#include <string>
#include <utility>

#include "base/uuid.h"
#include "controllers/all_controllers.h"
#include "hollow/hollow_nodes.h"
#include "scheduler/ids.h"
#include "scheduler/scheduler.h"

namespace dray::plane::internal {
namespace {

// So many decisions between two looks at what has changed.
constexpr int kDecisionsPerSync = 256;

class RandomIds final : public scheduler::Ids {
 public:
  std::string Uid() override { return base::NewUuid(random_); }

 private:
  base::SystemRandomSource random_;
};

class SchedulerWorker final : public Worker {
 public:
  SchedulerWorker(api::Cluster& cluster, const base::Clock& clock, const api::FeatureGates& gates,
                  const scheduler::Config& config, SchedulerMetrics& metrics)
      : metrics_(metrics),
        scheduler_(cluster, clock, ids_, {.config = config, .gates = gates, .observer = &metrics}) {
  }

  bool Work() override {
    scheduler_.Sync();
    scheduler_.Tick();
    bool more = true;
    for (int i = 0; more && i < kDecisionsPerSync; ++i) {
      more = scheduler_.ScheduleOne().has_value();
    }
    metrics_.Publish(scheduler_);
    return more;
  }
  std::optional<std::chrono::nanoseconds> NextDue() const override { return scheduler_.NextDue(); }

 private:
  SchedulerMetrics& metrics_;
  RandomIds ids_;
  scheduler::Scheduler scheduler_;
};

class ControllerWorker final : public Worker {
 public:
  ControllerWorker(api::Cluster& cluster, const base::Clock& clock, const api::FeatureGates& gates,
                   ControllerMetrics& metrics)
      : metrics_(metrics) {
    const controllers::Source shared = controllers::Source(cluster).Shared();
    controllers_ =
        controllers::MakeControllers(shared, clock, {.gates = gates, .observer = &metrics});
    controllers_.push_back(std::make_unique<hollow::HollowNodes>(shared, clock));
    controllers_.back()->Observe(&metrics);
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

std::unique_ptr<Worker> MakeSchedulerWorker(api::Cluster& cluster, const base::Clock& clock,
                                            const api::FeatureGates& gates,
                                            const scheduler::Config& config,
                                            SchedulerMetrics& metrics) {
  return std::make_unique<SchedulerWorker>(cluster, clock, gates, config, metrics);
}

std::unique_ptr<Worker> MakeControllerWorker(api::Cluster& cluster, const base::Clock& clock,
                                             const api::FeatureGates& gates,
                                             ControllerMetrics& metrics) {
  return std::make_unique<ControllerWorker>(cluster, clock, gates, metrics);
}

}  // namespace dray::plane::internal
