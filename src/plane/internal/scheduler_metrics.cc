// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/scheduler_metrics.h"

#include <algorithm>
#include <set>
#include <utility>

#include "allocator/explanation.h"
#include "fmt/format.h"
#include "plane/internal/measures.h"

namespace dray::plane::internal {
namespace {

using scheduler::AttemptReport;
using scheduler::QueueName;

constexpr std::chrono::seconds kWaitingEvery{1};

// Kubernetes's bounds go on downwards: most of what is measured here is done before its first.
constexpr double kFiner = 64;

std::string_view NameOf(AttemptReport::Result result) {
  switch (result) {
    case AttemptReport::Result::kScheduled:
      return "scheduled";
    case AttemptReport::Result::kUnschedulable:
      return "unschedulable";
    case AttemptReport::Result::kError:
      return "error";
  }
  return "";
}

}  // namespace

SchedulerMetrics::SchedulerMetrics(metrics::Registry& registry, const base::Clock& clock)
    : clock_(clock),
      attempts_(registry.Counters({"scheduler_schedule_attempts_total",
                                   "Attempts to schedule a pod, by result.",
                                   {"result", "profile"}})),
      durations_(registry.Histograms({"scheduler_scheduling_attempt_duration_seconds",
                                      "Duration of a scheduling attempt, binding included.",
                                      {"result", "profile"}},
                                     metrics::ExponentialBounds(0.001 / kFiner, 2, 21))),
      phases_(
          registry.Histograms({"scheduler_framework_extension_point_duration_seconds",
                               "Time of all plugins of an extension point together in one attempt.",
                               {"extension_point", "status", "profile"}},
                              metrics::ExponentialBounds(0.0001 / kFiner, 2, 18))),
      plugins_(
          registry.Histograms({"scheduler_plugin_execution_duration_seconds",
                               "Duration of a plugin call; sampled in one of sixteen attempts.",
                               {"plugin", "extension_point", "status"}},
                              metrics::ExponentialBounds(0.00001 / kFiner, 2, 20))),
      sli_(registry.Histograms(
          {"scheduler_pod_scheduling_sli_duration_seconds",
           "Time from a pod entering the scheduling queue to its node assignment.",
           {"attempts"}},
          metrics::ExponentialBounds(0.01 / kFiner, 2, 26))),
      pod_attempts_(registry
                        .Histograms({"scheduler_pod_scheduling_attempts",
                                     "Number of attempts to schedule a pod.",
                                     {}},
                                    metrics::ExponentialBounds(1, 2, 5))
                        .With({})),
      pending_(registry.Gauges({"scheduler_pending_pods", "Pending pods, by queue.", {"queue"}})),
      unschedulable_(registry.Gauges(
          {"scheduler_unschedulable_pods",
           "Pending pods that a plugin rejected; a pod counts once for each plugin.",
           {"plugin", "profile"}})),
      cache_size_(registry.Gauges({"scheduler_cache_size",
                                   "Objects in the scheduler's cache: nodes, pods, assumed_pods.",
                                   {"type"}})),
      paused_(registry
                  .Gauges({"dray_scheduler_paused",
                           "1 while scheduling is paused because the API server cannot be reached.",
                           {}})
                  .With({})),
      in_doubt_(registry
                    .Gauges({"dray_scheduler_bindings_in_doubt",
                             "Pods being bound for which it is unknown whether a write succeeded.",
                             {}})
                    .With({})),
      given_twice_(registry
                       .Counters({"dray_scheduler_devices_given_twice_total",
                                  "Devices found allocated to two claims by two schedulers.",
                                  {}})
                       .With({})),
      taken_back_(registry
                      .Counters({"dray_scheduler_devices_taken_back_total",
                                 "Of these, devices whose allocation by this scheduler was undone.",
                                 {}})
                      .With({})),
      preemptions_(
          registry.Counters({"scheduler_preemption_attempts_total", "Preemption attempts.", {}})
              .With({})),
      victims_(
          registry
              .Histograms({"scheduler_preemption_victims", "Pods preempted per preemption.", {}},
                          metrics::ExponentialBounds(1, 2, 7))
              .With({})),
      conditions_(registry.Counters(
          {"scheduler_dra_bindingconditions_allocations_total",
           "Scheduling attempts that waited for binding conditions of devices, by outcome.",
           {"profile", "driver", "status"}})),
      conditions_waited_(
          registry.Histograms({"scheduler_dra_bindingconditions_wait_duration_seconds",
                               "Time that pods waited for binding conditions of devices.",
                               {"profile", "driver", "status"}},
                              metrics::ExponentialBounds(0.1, 2, 14))),
      refusals_(registry.Counters({"dray_scheduling_refusals_total",
                                   "Attempts in which nodes or the pod were rejected, by reason; a "
                                   "reason counts once per attempt.",
                                   {"plugin", "reason"}})),
      device_refusals_(
          registry.Counters({"dray_device_refusals_total",
                             "Devices that could not be allocated for a rejected request, by "
                             "reason; of identical nodes only one is counted.",
                             {"reason"}})),
      node_evaluations_(
          registry
              .Counters({"dray_scheduler_node_evaluations_total",
                         "Nodes evaluated by filter plugins; cached results are not counted.",
                         {}})
              .With({})),
      allocator_steps_(registry
                           .Counters({"dray_allocator_steps_total",
                                      "Devices tried in the search for allocations.",
                                      {}})
                           .With({})),
      expressions_(registry.Gauges(
          {"dray_expressions", "CEL expressions of claims and classes in the cache.", {"state"}})),
      evaluations_(registry
                       .Counters({"dray_expression_evaluations_total",
                                  "CEL evaluations on devices; cached results are not counted.",
                                  {}})
                       .With({})),
      evaluation_errors_(
          registry.Counters({"dray_expression_errors_total", "CEL evaluations that failed.", {}})
              .With({})),
      evaluation_cost_(
          registry
              .Counters({"dray_expression_cost_total",
                         "Total cost of CEL evaluations, in the units of the cost limit.",
                         {}})
              .With({})) {}

SchedulerMetrics::Profile& SchedulerMetrics::ProfileOf(std::string_view name) {
  for (const auto& profile : profiles_) {
    if (profile->name == name) return *profile;
  }
  auto profile = std::make_unique<Profile>();
  profile->name = name;
  for (std::size_t i = 0; i < kResults; ++i) {
    const std::string_view result = NameOf(static_cast<AttemptReport::Result>(i));
    profile->attempts[i] = &attempts_.With({result, name});
    profile->durations[i] = &durations_.With({result, name});
  }
  return *profiles_.emplace_back(std::move(profile));
}

void SchedulerMetrics::OnAttempt(const AttemptReport& report) {
  Profile& profile = ProfileOf(report.profile);
  const auto result = static_cast<std::size_t>(report.result);
  profile.attempts[result]->Add();
  profile.durations[result]->Observe(Seconds(report.took));
  if (report.result != AttemptReport::Result::kScheduled) return;
  pod_attempts_.Observe(report.attempts);
  const std::size_t attempts = std::clamp<std::size_t>(report.attempts, 1, kAttempts - 1);
  metrics::Histogram*& sli = sli_by_attempts_[attempts];
  if (sli == nullptr) {
    sli = &sli_.With({attempts == kAttempts - 1 ? "15+" : fmt::format_int(attempts).str()});
  }
  sli->Observe(Seconds(report.since_added));
}

void SchedulerMetrics::OnPhase(std::string_view profile, scheduler::Phase phase,
                               scheduler::PluginStatus::Code code, std::chrono::nanoseconds took) {
  metrics::Histogram*& histogram =
      ProfileOf(profile).phases[static_cast<std::size_t>(phase)][static_cast<std::size_t>(code)];
  if (histogram == nullptr) {
    histogram = &phases_.With({scheduler::NameOf(phase), scheduler::NameOf(code), profile});
  }
  histogram->Observe(Seconds(took));
}

void SchedulerMetrics::OnPlugin(std::string_view plugin, scheduler::Phase phase,
                                scheduler::PluginStatus::Code code, std::chrono::nanoseconds took) {
  plugins_.With({plugin, scheduler::NameOf(phase), scheduler::NameOf(code)}).Observe(Seconds(took));
}

void SchedulerMetrics::OnRefusal(const scheduler::PodExplanation& explanation) {
  std::set<std::pair<std::string_view, std::string_view>> reasons;
  const auto take = [&](const std::vector<scheduler::Reason>& list) {
    for (const scheduler::Reason& reason : list) {
      reasons.emplace(reason.plugin, reason.code);
      if (reason.devices == nullptr) continue;
      for (const auto& claim : reason.devices->claims) {
        for (const auto& request : claim.requests) {
          for (const auto& alternative : request.alternatives) {
            for (const allocator::Drop& drop : alternative.drops) {
              device_refusals_.With({allocator::CodeOf(drop.reason)})
                  .Add(static_cast<std::uint64_t>(drop.devices));
            }
          }
        }
      }
    }
  };
  take(explanation.before);
  for (const scheduler::NodeGroup& group : explanation.groups) take(group.reasons);
  if (!explanation.error.empty()) reasons.emplace("", "error");
  for (const auto& [plugin, reason] : reasons) refusals_.With({plugin, reason}).Add();
}

void SchedulerMetrics::OnPreemption(std::size_t victims) {
  preemptions_.Add();
  if (victims > 0) victims_.Observe(static_cast<double>(victims));
}

void SchedulerMetrics::OnBindingConditions(std::string_view profile, std::string_view driver,
                                           std::string_view status,
                                           std::chrono::nanoseconds waited) {
  conditions_.With({profile, driver, status}).Add();
  conditions_waited_.With({profile, driver, status}).Observe(Seconds(waited));
}

void SchedulerMetrics::OnGivenTwice(std::string_view) { given_twice_.Add(); }
void SchedulerMetrics::OnTakenBack(std::string_view) { taken_back_.Add(); }

void SchedulerMetrics::Publish(const scheduler::Scheduler& scheduler) {
  constexpr std::pair<QueueName, std::string_view> kQueues[] = {
      {QueueName::kActive, "active"},
      {QueueName::kBackoff, "backoff"},
      {QueueName::kUnschedulable, "unschedulable"},
      {QueueName::kGated, "gated"}};
  for (const auto& [queue, name] : kQueues) {
    pending_.With({name}).Set(static_cast<double>(scheduler.queue().size(queue)));
  }
  const scheduler::World& world = scheduler.world();
  cache_size_.With({"nodes"}).Set(static_cast<double>(world.nodes().size()));
  cache_size_.With({"pods"}).Set(static_cast<double>(world.pods()));
  cache_size_.With({"assumed_pods"}).Set(static_cast<double>(world.assumed_pods()));
  paused_.Set(scheduler.Paused().ok() ? 0 : 1);
  in_doubt_.Set(static_cast<double>(scheduler.in_doubt()));
  const std::chrono::nanoseconds now = clock_.Monotonic();
  if (published_ && now - *published_ < kWaitingEvery) return;
  published_ = now;
  PublishWaiting(scheduler);
  const scheduler::Statistics& statistics = scheduler.statistics();
  Raise(node_evaluations_, statistics.node_evaluations);
  Raise(allocator_steps_, statistics.allocator_steps);
  const allocator::ExpressionStatistics& known = statistics.expressions;
  expressions_.With({"compiled"}).Set(static_cast<double>(known.compiled - known.broken));
  expressions_.With({"broken"}).Set(static_cast<double>(known.broken));
  Raise(evaluations_, known.evaluations.evaluations);
  Raise(evaluation_errors_, known.evaluations.errors);
  Raise(evaluation_cost_, known.evaluations.cost);
}

void SchedulerMetrics::PublishWaiting(const scheduler::Scheduler& scheduler) {
  const auto waiting = scheduler.WaitingByPlugin();
  for (const auto& [labels, gauge] : unschedulable_.All()) {
    const bool still = std::ranges::any_of(waiting, [&labels = labels](const auto& one) {
      return one.plugin == labels[0] && one.profile == labels[1];
    });
    if (!still) unschedulable_.With({labels[0], labels[1]}).Set(0);
  }
  for (const auto& one : waiting) {
    unschedulable_.With({one.plugin, one.profile}).Set(static_cast<double>(one.pods));
  }
}

}  // namespace dray::plane::internal
