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
                  const scheduler::Config& config)
      : scheduler_(cluster, clock, ids_, {.config = config, .gates = gates}) {}

  bool Work() override {
    scheduler_.Sync();
    scheduler_.Tick();
    for (int i = 0; i < kDecisionsPerSync; ++i) {
      if (!scheduler_.ScheduleOne()) return false;
    }
    return true;
  }
  std::optional<std::chrono::nanoseconds> NextDue() const override { return scheduler_.NextDue(); }

 private:
  RandomIds ids_;
  scheduler::Scheduler scheduler_;
};

class ControllerWorker final : public Worker {
 public:
  ControllerWorker(api::Cluster& cluster, const base::Clock& clock,
                   const api::FeatureGates& gates) {
    const controllers::Source shared = controllers::Source(cluster).Shared();
    controllers_ = controllers::MakeControllers(shared, clock, {.gates = gates});
    controllers_.push_back(std::make_unique<hollow::HollowNodes>(shared, clock));
  }

  bool Work() override {
    std::size_t writes = 0;
    for (const auto& controller : controllers_) writes += controller->Sync();
    return writes > 0;
  }
  std::optional<std::chrono::nanoseconds> NextDue() const override {
    return controllers::NextDue(controllers_);
  }

 private:
  controllers::ControllerList controllers_;
};

}  // namespace

std::unique_ptr<Worker> MakeSchedulerWorker(api::Cluster& cluster, const base::Clock& clock,
                                            const api::FeatureGates& gates,
                                            const scheduler::Config& config) {
  return std::make_unique<SchedulerWorker>(cluster, clock, gates, config);
}

std::unique_ptr<Worker> MakeControllerWorker(api::Cluster& cluster, const base::Clock& clock,
                                             const api::FeatureGates& gates) {
  return std::make_unique<ControllerWorker>(cluster, clock, gates);
}

}  // namespace dray::plane::internal
