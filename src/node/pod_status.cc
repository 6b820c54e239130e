// SPDX-License-Identifier: Apache-2.0
#include "node/pod_status.h"

#include <algorithm>
#include <utility>

#include "api/pod_conditions.h"
#include "api/pod_qos.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

constexpr std::string_view kReadyToStart = "PodReadyToStartContainers";
constexpr std::string_view kContainerCreating = "ContainerCreating";
constexpr std::string_view kPodInitializing = "PodInitializing";
constexpr std::string_view kPodCompleted = "PodCompleted";
constexpr std::int32_t kLostExitCode = 137;

std::string IdOf(const PodView& view, const container::ContainerInfo& info) {
  return info.id.empty() ? std::string() : fmt::format("{}://{}", view.runtime, info.id);
}

std::optional<base::Time> Shown(base::Time time) {
  if (time == base::Time()) return std::nullopt;
  return time.TruncateToSeconds();
}

api::ContainerState Terminated(const PodView& view, const container::ContainerInfo& info) {
  api::ContainerState state;
  std::string reason = info.reason;
  if (reason.empty()) reason = info.exit_code == 0 ? "Completed" : "Error";
  state.terminated = api::ContainerStateTerminated{.exit_code = info.exit_code,
                                                   .reason = std::move(reason),
                                                   .message = info.message,
                                                   .started_at = Shown(info.started_at),
                                                   .finished_at = Shown(info.finished_at),
                                                   .container_id = IdOf(view, info)};
  return state;
}

api::ContainerStatus ContainerStatusOf(const PodView& view, const ContainerView& one,
                                       std::string_view waiting) {
  const api::Container& spec = *one.spec;
  api::ContainerStatus status{.name = spec.name,
                              .restart_count = one.restarts,
                              .image = spec.image,
                              .allocated_resources_status = one.devices};
  if (one.latest) {
    if (!one.latest->image.empty()) status.image = one.latest->image;
    status.image_id = one.latest->image_id;
    status.container_id = IdOf(view, *one.latest);
  }
  const bool debugs =
      std::ranges::any_of(view.ephemeral, [&](const ContainerView& e) { return e.spec == &spec; });
  // Of one for debugging nobody asks whether it is ready.
  if (!debugs) status.started = one.shown_running() && one.started;
  if (!one.stop_signal.empty()) status.stop_signal = one.stop_signal;
  if (!spec.resources.requests.empty() || !spec.resources.limits.empty() ||
      !spec.resources.claims.empty()) {
    status.allocated_resources = spec.resources.requests;
    status.resources = spec.resources;
  }
  if (one.shown_running()) {
    status.ready = one.ready;
    status.state.running = api::ContainerStateRunning{.started_at = Shown(one.latest->started_at)};
  } else if (one.exited() && (one.waiting_reason.empty() || view.ended)) {
    status.state = Terminated(view, *one.latest);
    // An init container that is through is ready for all that follows.
    status.ready = one.succeeded() && !IsSidecar(spec) &&
                   std::ranges::any_of(view.init, [&](const auto& i) { return i.spec == &spec; });
  } else if (view.ended) {
    // It never ran, or nobody knows how it ended; final statuses have no waiting containers.
    status.state.terminated = api::ContainerStateTerminated{
        .exit_code = kLostExitCode,
        .reason = "ContainerStatusUnknown",
        .message = "The container could not be located when the pod was terminated"};
  } else {
    const bool named = !one.waiting_reason.empty();
    status.state.waiting =
        api::ContainerStateWaiting{.reason = named ? one.waiting_reason : std::string(waiting),
                                   .message = one.waiting_message};
  }
  if (status.state.waiting && one.exited()) {
    status.last_state = Terminated(view, *one.latest);
  } else if (one.before) {
    status.last_state = Terminated(view, *one.before);
  }
  return status;
}

std::string PhaseOf(const PodView& view) {
  if (view.verdict && view.ended) return std::string(api::kPodFailed);
  int failed_init = 0;
  int pending_init = 0;
  const bool main_began = std::ranges::any_of(
      view.main, [](const ContainerView& one) { return one.latest.has_value(); });
  for (const ContainerView& one : view.init) {
    if (IsSidecar(*one.spec)) {
      if (!one.started && !main_began) ++pending_init;
    } else if (one.exited() && !one.succeeded()) {
      ++failed_init;
    } else if (!one.succeeded() && !main_began) {
      ++pending_init;
    }
  }
  int running = 0;
  int stopped = 0;
  int succeeded = 0;
  int waiting = 0;
  for (const ContainerView& one : view.main) {
    if (one.shown_running()) {
      ++running;
    } else if (one.starting && one.before) {
      ++stopped;  // it ran before, and will again
    } else if (one.exited()) {
      ++stopped;
      if (one.succeeded()) ++succeeded;
    } else {
      ++waiting;
    }
  }
  if (view.ended) {
    const bool well = failed_init == 0 && waiting == 0 && running == 0 && stopped == succeeded;
    return std::string(well ? api::kPodSucceeded : api::kPodFailed);
  }
  // Whatever containers say: as long as claims are prepared the pod is not over.
  if (failed_init > 0 || pending_init > 0) return std::string(api::kPodPending);
  if (waiting > 0) return std::string(api::kPodPending);
  return std::string(running + stopped > 0 ? api::kPodRunning : api::kPodPending);
}

void Set(api::PodStatus& status, const PodView& view, std::string_view type, bool value,
         std::string_view reason = {}, std::string message = {}) {
  api::PodCondition condition{.type = std::string(type),
                              .observed_generation = view.pod->metadata.generation,
                              .status = value ? "True" : "False",
                              .last_transition_time = view.now.TruncateToSeconds(),
                              .reason = std::string(reason),
                              .message = std::move(message)};
  api::SetCondition(status, std::move(condition));
}

std::string Names(const std::vector<std::string>& names) {
  return fmt::format("[{}]", fmt::join(names, " "));
}

void SetConditions(api::PodStatus& status, const PodView& view) {
  const bool completed = status.phase == api::kPodSucceeded;
  const std::string_view over =
      completed
          ? kPodCompleted
          : (status.phase == api::kPodFailed ? std::string_view("PodFailed") : std::string_view());
  Set(status, view, kReadyToStart, view.sandbox.has_value() && !view.ended);
  std::vector<std::string> incomplete;
  for (const ContainerView& one : view.init) {
    const bool through = IsSidecar(*one.spec) ? one.started || Initialized(view) : one.succeeded();
    if (!through) incomplete.push_back(one.spec->name);
  }
  if (Initialized(view) || completed) {
    Set(status, view, api::kPodInitializedCondition, true, completed ? kPodCompleted : "");
  } else {
    Set(status, view, api::kPodInitializedCondition, false, "ContainersNotInitialized",
        "containers with incomplete status: " + Names(incomplete));
  }
  std::vector<std::string> unready;
  for (const ContainerView& one : view.init) {
    if (IsSidecar(*one.spec) && !(one.running() && one.ready)) unready.push_back(one.spec->name);
  }
  for (const ContainerView& one : view.main) {
    if (!(one.running() && one.ready)) unready.push_back(one.spec->name);
  }
  const auto gate_open = [&](const api::PodReadinessGate& gate) {
    return std::ranges::any_of(view.pod->status.conditions, [&](const api::PodCondition& c) {
      return c.type == gate.condition_type && c.status == "True";
    });
  };
  const bool gates = std::ranges::all_of(view.pod->spec.readiness_gates, gate_open);
  if (!over.empty()) {
    Set(status, view, api::kPodReadyCondition, false, over);
    Set(status, view, api::kContainersReadyCondition, false, over);
  } else if (!unready.empty()) {
    const std::string message = "containers with unready status: " + Names(unready);
    Set(status, view, api::kPodReadyCondition, false, "ContainersNotReady", message);
    Set(status, view, api::kContainersReadyCondition, false, "ContainersNotReady", message);
  } else {
    Set(status, view, api::kPodReadyCondition, gates, gates ? "" : "ReadinessGatesNotReady",
        gates ? "" : "a readiness gate of the pod is not True");
    Set(status, view, api::kContainersReadyCondition, true);
  }
}

}  // namespace

bool IsSidecar(const api::Container& container) {
  return container.restart_policy == api::kRestartPolicyAlways;
}

bool Restarts(const api::PodSpec& spec, const api::Container& container, bool is_init,
              std::int32_t exit_code) {
  for (const api::ContainerRestartRule& rule : container.restart_policy_rules) {
    if (!rule.exit_codes || rule.action != "Restart") continue;
    const bool listed =
        std::ranges::find(rule.exit_codes->values, exit_code) != rule.exit_codes->values.end();
    if (listed == (rule.exit_codes->operator_ == "In")) return true;
  }
  const std::string_view policy =
      container.restart_policy ? std::string_view(*container.restart_policy) : spec.restart_policy;
  if (policy == api::kRestartPolicyNever) return false;
  // An init container that is through is not started again, whatever the pod's policy is.
  if (is_init && !IsSidecar(container)) return exit_code != 0;
  return policy == api::kRestartPolicyOnFailure ? exit_code != 0 : true;
}

bool Initialized(const PodView& view) {
  if (std::ranges::any_of(view.main,
                          [](const ContainerView& one) { return one.latest.has_value(); })) {
    return true;
  }
  return std::ranges::all_of(view.init, [](const ContainerView& one) {
    return IsSidecar(*one.spec) ? one.running() && one.started : one.succeeded();
  });
}

api::PodStatus StatusOf(const PodView& view) {
  api::PodStatus status = view.pod->status;
  status.observed_generation = view.pod->metadata.generation;
  status.phase = PhaseOf(view);
  if (view.verdict) {
    status.reason = view.verdict->reason;
    status.message = view.verdict->message;
  }
  if (!status.start_time) status.start_time = view.now.TruncateToSeconds();
  if (!view.host_ips.empty()) {
    status.host_ip = view.host_ips.front();
    status.host_ips.clear();
    for (const std::string& ip : view.host_ips) status.host_ips.push_back({.ip = ip});
  }
  std::vector<std::string> ips;
  if (view.sandbox) ips = view.sandbox->ips;
  if (view.pod->spec.host_network && view.sandbox) ips = view.host_ips;
  if (!ips.empty()) {
    status.pod_ip = ips.front();
    status.pod_ips.clear();
    for (const std::string& ip : ips) status.pod_ips.push_back({.ip = ip});
  }
  if (status.qos_class.empty()) status.qos_class = api::QosClassOf(view.pod->spec);
  // A pod that was never let in has no containers to speak of.
  const bool let_in =
      !view.verdict || view.sandbox || !view.pod->status.container_statuses.empty() ||
      std::ranges::any_of(view.main, [](const auto& one) { return one.latest.has_value(); });
  status.init_container_statuses.clear();
  status.container_statuses.clear();
  if (let_in) {
    const std::string_view main_waits =
        view.init.empty() || Initialized(view) ? kContainerCreating : kPodInitializing;
    for (const ContainerView& one : view.init) {
      status.init_container_statuses.push_back(
          ContainerStatusOf(view, one, view.sandbox ? kPodInitializing : kContainerCreating));
    }
    for (const ContainerView& one : view.main) {
      status.container_statuses.push_back(ContainerStatusOf(view, one, main_waits));
    }
    status.ephemeral_container_statuses.clear();
    for (const ContainerView& one : view.ephemeral) {
      status.ephemeral_container_statuses.push_back(
          ContainerStatusOf(view, one, kContainerCreating));
    }
  }
  SetConditions(status, view);
  return status;
}

std::optional<container::ContainerInfo> InfoFrom(const api::ContainerStatus& status,
                                                 std::string_view runtime) {
  const auto id_of = [&](const std::string& text) {
    const std::string prefix = fmt::format("{}://", runtime);
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
  };
  container::ContainerInfo info;
  info.name = status.name;
  info.attempt = static_cast<std::uint32_t>(status.restart_count);
  info.state = container::ContainerState::kExited;
  info.image = status.image;
  info.image_id = status.image_id;
  info.id = id_of(status.container_id);
  if (status.state.terminated) {
    info.exit_code = status.state.terminated->exit_code;
    info.reason = status.state.terminated->reason;
    info.message = status.state.terminated->message;
    info.started_at = status.state.terminated->started_at.value_or(base::Time());
    info.finished_at = status.state.terminated->finished_at.value_or(base::Time());
    return info;
  }
  if (status.state.running) {
    // It ran when this was written, and the runtime does not know it any more.
    info.exit_code = kLostExitCode;
    info.reason = "ContainerStatusUnknown";
    info.message = "The container could not be located when the agent started";
    info.started_at = status.state.running->started_at.value_or(base::Time());
    info.finished_at = info.started_at;
    return info;
  }
  if (status.last_state.terminated && !status.container_id.empty()) {
    const api::ContainerStateTerminated& last = *status.last_state.terminated;
    info.exit_code = last.exit_code;
    info.reason = last.reason;
    info.message = last.message;
    info.started_at = last.started_at.value_or(base::Time());
    info.finished_at = last.finished_at.value_or(base::Time());
    return info;
  }
  return std::nullopt;
}

bool IsTerminal(const api::PodStatus& status) {
  return status.phase == api::kPodSucceeded || status.phase == api::kPodFailed;
}

}  // namespace dray::node
