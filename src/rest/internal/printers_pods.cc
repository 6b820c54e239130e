// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "api/pod.h"
#include "fmt/format.h"
#include "rest/internal/printers.h"

namespace dray::rest::internal {
namespace {

struct PodSummary {
  std::string reason;
  std::int64_t ready = 0;
  std::int64_t containers = 0;
  std::int64_t restarts = 0;
  std::optional<base::Time> last_restart;

  void Restarted(const api::ContainerStatus& status) {
    restarts += status.restart_count;
    if (!status.last_state.terminated.has_value()) return;
    const auto& at = status.last_state.terminated->finished_at;
    if (at && (!last_restart || *last_restart < *at)) last_restart = at;
  }
};

std::string EndOf(const api::ContainerStateTerminated& end) {
  if (!end.reason.empty()) return end.reason;
  if (end.signal != 0) return fmt::format("Signal:{}", end.signal);
  return fmt::format("ExitCode:{}", end.exit_code);
}

bool HasCondition(const api::Pod& pod, std::string_view type) {
  return std::ranges::any_of(pod.status.conditions, [&](const api::PodCondition& condition) {
    return condition.type == type && condition.status == "True";
  });
}

bool IsSidecar(const api::Pod& pod, std::string_view name) {
  return std::ranges::any_of(pod.spec.init_containers, [&](const api::Container& container) {
    return container.name == name && container.restart_policy == "Always";
  });
}

// Whether the pod is still getting ready, and then why.
bool Initializing(const api::Pod& pod, PodSummary& summary) {
  for (std::size_t i = 0; i < pod.status.init_container_statuses.size(); ++i) {
    const api::ContainerStatus& status = pod.status.init_container_statuses[i];
    const auto& ended = status.state.terminated;
    if (ended.has_value() && ended->exit_code == 0) continue;
    if (IsSidecar(pod, status.name) && status.started.value_or(false)) {
      if (status.ready) ++summary.ready;
      continue;
    }
    if (ended.has_value()) {
      summary.reason = "Init:" + EndOf(*ended);
    } else if (status.state.waiting.has_value() && !status.state.waiting->reason.empty() &&
               status.state.waiting->reason != "PodInitializing") {
      summary.reason = "Init:" + status.state.waiting->reason;
    } else {
      summary.reason = fmt::format("Init:{}/{}", i, pod.spec.init_containers.size());
    }
    return true;
  }
  return false;
}

void Running(const api::Pod& pod, PodSummary& summary) {
  bool running = false;
  std::string failure;
  for (auto it = pod.status.container_statuses.rbegin(); it != pod.status.container_statuses.rend();
       ++it) {
    summary.Restarted(*it);
    if (it->state.waiting.has_value() && !it->state.waiting->reason.empty()) {
      summary.reason = it->state.waiting->reason;
    } else if (it->state.terminated.has_value()) {
      summary.reason = EndOf(*it->state.terminated);
      if (it->state.terminated->exit_code != 0) failure = summary.reason;
    } else if (it->ready && it->state.running.has_value()) {
      running = true;
      ++summary.ready;
    }
  }
  if (summary.reason != "Completed") return;
  if (running && HasCondition(pod, api::kPodReadyCondition)) {
    summary.reason = "Running";
  } else if (!failure.empty()) {
    summary.reason = failure;
  } else if (running) {
    summary.reason = "NotReady";
  }
}

PodSummary Summarize(const api::Pod& pod) {
  PodSummary summary;
  summary.containers = static_cast<std::int64_t>(pod.spec.containers.size());
  for (const api::Container& container : pod.spec.init_containers) {
    if (container.restart_policy == "Always") ++summary.containers;
  }
  summary.reason = pod.status.reason.empty() ? pod.status.phase : pod.status.reason;
  for (const api::PodCondition& condition : pod.status.conditions) {
    if (condition.type == api::kPodScheduledCondition &&
        condition.reason == api::kReasonSchedulingGated) {
      summary.reason = api::kReasonSchedulingGated;
    }
  }
  const bool initializing = Initializing(pod, summary);
  const bool initialized = !initializing || HasCondition(pod, api::kPodInitializedCondition);
  for (const api::ContainerStatus& status : pod.status.init_container_statuses) {
    if (!initialized || IsSidecar(pod, status.name)) summary.Restarted(status);
  }
  if (initialized) Running(pod, summary);
  const bool over = pod.status.phase == api::kPodSucceeded || pod.status.phase == api::kPodFailed;
  if (pod.metadata.deletion_timestamp && !over) summary.reason = "Terminating";
  return summary;
}

std::string ReadinessGates(const api::Pod& pod) {
  if (pod.spec.readiness_gates.empty()) return "<none>";
  const auto met = std::ranges::count_if(pod.spec.readiness_gates, [&](const auto& gate) {
    return HasCondition(pod, gate.condition_type);
  });
  return fmt::format("{}/{}", met, pod.spec.readiness_gates.size());
}

}  // namespace

Printer PodPrinter() {
  return {{kNameColumn,
           {.name = "Ready", .description = "How many of its containers are ready."},
           {.name = "Status", .description = "What the pod is doing, or why it is not."},
           {.name = "Restarts", .description = "How often containers were started again."},
           kAgeColumn,
           {.name = "IP", .description = "Its address.", .priority = 1},
           {.name = "Node", .description = "Where it runs.", .priority = 1},
           {.name = "Nominated Node",
            .description = "The node where pods are preempted for it.",
            .priority = 1},
           {.name = "Readiness Gates", .description = "How many are met.", .priority = 1}},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::Pod& pod = *object.As<api::Pod>();
            const PodSummary summary = Summarize(pod);
            std::string restarts = fmt::format("{}", summary.restarts);
            if (summary.restarts > 0 && summary.last_restart) {
              restarts += fmt::format(" ({} ago)", Since(summary.last_restart, context.now));
            }
            return {pod.metadata.name,
                    fmt::format("{}/{}", summary.ready, summary.containers),
                    summary.reason,
                    restarts,
                    AgeOf(object, context),
                    OrNone(pod.status.pod_ip),
                    OrNone(pod.spec.node_name),
                    OrNone(pod.status.nominated_node_name),
                    ReadinessGates(pod)};
          }};
}

}  // namespace dray::rest::internal
