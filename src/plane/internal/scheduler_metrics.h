// SPDX-License-Identifier: Apache-2.0
//
// What the scheduler does, as metrics: Kubernetes's names, and what nobody else has.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "metrics/registry.h"
#include "scheduler/observer.h"
#include "scheduler/scheduler.h"

namespace dray::plane::internal {

// An observer of one scheduler, on its thread; others read the metrics.
class SchedulerMetrics final : public scheduler::Observer {
 public:
  // Both outlive it.
  SchedulerMetrics(metrics::Registry& registry, const base::Clock& clock);

  void OnAttempt(const scheduler::AttemptReport& report) override;
  void OnPhase(std::string_view profile, scheduler::Phase phase, scheduler::PluginStatus::Code code,
               std::chrono::nanoseconds took) override;
  void OnPlugin(std::string_view plugin, scheduler::Phase phase, scheduler::PluginStatus::Code code,
                std::chrono::nanoseconds took) override;
  void OnRefusal(const scheduler::PodExplanation& explanation) override;
  void OnPreemption(std::size_t victims) override;
  void OnBindingConditions(std::string_view profile, std::string_view driver,
                           std::string_view status, std::chrono::nanoseconds waited) override;
  void OnGivenTwice(std::string_view device) override;
  void OnTakenBack(std::string_view device) override;

  // What is as it is now: queues, sizes, sums. Called after every turn of the scheduler; what takes
  // long is done once a second.
  void Publish(const scheduler::Scheduler& scheduler);

 private:
  static constexpr std::size_t kCodes = 6;
  static constexpr std::size_t kResults = 3;
  static constexpr std::size_t kAttempts = 16;  // the last: that many or more
  // What is looked up once and written often.
  struct Profile {
    std::string name;
    std::array<metrics::Counter*, kResults> attempts = {};
    std::array<metrics::Histogram*, kResults> durations = {};
    std::array<std::array<metrics::Histogram*, kCodes>, scheduler::kPhases> phases = {};
  };
  Profile& ProfileOf(std::string_view name);
  void PublishWaiting(const scheduler::Scheduler& scheduler);

  const base::Clock& clock_;
  metrics::Family<metrics::Counter>& attempts_;
  metrics::Family<metrics::Histogram>& durations_;
  metrics::Family<metrics::Histogram>& phases_;
  metrics::Family<metrics::Histogram>& plugins_;
  metrics::Family<metrics::Histogram>& sli_;
  metrics::Histogram& pod_attempts_;
  metrics::Family<metrics::Gauge>& pending_;
  metrics::Family<metrics::Gauge>& unschedulable_;
  metrics::Family<metrics::Gauge>& cache_size_;
  metrics::Gauge& paused_;
  metrics::Gauge& in_doubt_;
  metrics::Counter& given_twice_;
  metrics::Counter& taken_back_;
  metrics::Counter& preemptions_;
  metrics::Histogram& victims_;
  metrics::Family<metrics::Counter>& conditions_;
  metrics::Family<metrics::Histogram>& conditions_waited_;
  metrics::Family<metrics::Counter>& refusals_;
  metrics::Family<metrics::Counter>& device_refusals_;
  metrics::Counter& node_evaluations_;
  metrics::Counter& allocator_steps_;
  metrics::Family<metrics::Gauge>& expressions_;
  metrics::Counter& evaluations_;
  metrics::Counter& evaluation_errors_;
  metrics::Counter& evaluation_cost_;

  std::vector<std::unique_ptr<Profile>> profiles_;
  std::array<metrics::Histogram*, kAttempts> sli_by_attempts_ = {};
  std::optional<std::chrono::nanoseconds> published_;
};

}  // namespace dray::plane::internal
