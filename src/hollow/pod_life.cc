// SPDX-License-Identifier: Apache-2.0
#include "hollow/pod_life.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace dray::hollow {
namespace {

constexpr std::string_view kReadyToStart = "PodReadyToStartContainers";
constexpr std::string_view kPodCompleted = "PodCompleted";

void SetCondition(api::Pod& pod, std::string_view type, bool value, std::string_view reason,
                  base::Time now) {
  auto& conditions = pod.status.conditions;
  auto it = std::ranges::find(conditions, type, &api::PodCondition::type);
  if (it == conditions.end()) {
    conditions.push_back({.type = std::string(type)});
    it = std::prev(conditions.end());
  }
  const std::string_view status = value ? "True" : "False";
  if (it->status != status) it->last_transition_time = now.TruncateToSeconds();
  it->status = status;
  it->reason = reason;
  it->message.clear();
}

// FNV-1a: the same on every machine and after every restart.
std::uint32_t HashOf(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

// Looks like an address of a pod network. Nobody can be reached there, so that two pods may by
// chance have the same.
std::string AddressOf(std::string_view uid) {
  const std::uint32_t hash = HashOf(uid);
  return fmt::format("10.{}.{}.{}", hash >> 16 & 0xff, hash >> 8 & 0xff, 1 + hash % 254);
}

api::ContainerStatus StatusOf(const api::Pod& pod, const api::Container& container) {
  return {.name = container.name,
          .image = container.image,
          .image_id = container.image,
          .container_id = fmt::format("hollow://{}/{}", pod.metadata.uid, container.name)};
}

api::ContainerState Terminated(const api::ContainerState& state, std::int32_t exit_code,
                               base::Time now) {
  const api::ContainerStateRunning* running = state.running ? &*state.running : nullptr;
  api::ContainerState ended;
  ended.terminated = api::ContainerStateTerminated{
      .exit_code = exit_code,
      .reason = exit_code == 0 ? "Completed" : "Error",
      .started_at = running != nullptr ? running->started_at : now.TruncateToSeconds(),
      .finished_at = now.TruncateToSeconds()};
  return ended;
}

api::ContainerState Running(base::Time now) {
  api::ContainerState state;
  state.running = api::ContainerStateRunning{.started_at = now.TruncateToSeconds()};
  return state;
}

}  // namespace

std::optional<std::chrono::nanoseconds> RunTimeOf(const api::Pod& pod) {
  if (const std::string* text = pod.metadata.annotations.Find(kRunsForAnnotation)) {
    const auto parsed = base::ParseGoDuration(*text);
    if (parsed.ok() && *parsed >= std::chrono::nanoseconds(0)) return *parsed;
  }
  const std::string& policy = pod.spec.restart_policy;
  const bool ends = policy == api::kRestartPolicyNever || policy == api::kRestartPolicyOnFailure;
  return ends ? std::optional<std::chrono::nanoseconds>(kDefaultRunTime) : std::nullopt;
}

std::int32_t ExitCodeOf(const api::Pod& pod) {
  const std::string* text = pod.metadata.annotations.Find(kExitCodeAnnotation);
  std::int32_t code = 0;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), code);
  return code;
}

bool IsRunning(const api::Pod& pod) { return pod.status.phase == api::kPodRunning; }

std::optional<base::Time> EndOf(const api::Pod& pod) {
  const auto run_time = RunTimeOf(pod);
  if (!run_time) return std::nullopt;
  base::Time since = pod.status.start_time.value_or(base::Time());
  for (const api::ContainerStatus& container : pod.status.container_statuses) {
    if (container.state.running && container.state.running->started_at) {
      since = std::max(since, *container.state.running->started_at);
    }
  }
  return since + *run_time;
}

void Start(api::Pod& pod, base::Time now) {
  api::PodStatus& status = pod.status;
  status.phase = api::kPodRunning;
  status.start_time = now.TruncateToSeconds();
  status.pod_ip = AddressOf(pod.metadata.uid);
  status.pod_ips = {{.ip = status.pod_ip}};
  status.host_ip = AddressOf(pod.spec.node_name);
  status.host_ips = {{.ip = status.host_ip}};
  status.init_container_statuses.clear();
  for (const api::Container& container : pod.spec.init_containers) {
    api::ContainerStatus& made =
        status.init_container_statuses.emplace_back(StatusOf(pod, container));
    // A sidecar goes on beside the containers.
    const bool sidecar = container.restart_policy == api::kRestartPolicyAlways;
    made.ready = true;
    made.started = sidecar;
    made.state = sidecar ? Running(now) : Terminated({}, 0, now);
  }
  status.container_statuses.clear();
  for (const api::Container& container : pod.spec.containers) {
    api::ContainerStatus& made = status.container_statuses.emplace_back(StatusOf(pod, container));
    made.ready = true;
    made.started = true;
    made.state = Running(now);
  }
  SetCondition(pod, kReadyToStart, true, "", now);
  SetCondition(pod, api::kPodInitializedCondition, true, "", now);
  SetCondition(pod, api::kPodReadyCondition, true, "", now);
  SetCondition(pod, api::kContainersReadyCondition, true, "", now);
}

void End(api::Pod& pod, std::int32_t exit_code, base::Time now) {
  api::PodStatus& status = pod.status;
  status.phase = exit_code == 0 ? api::kPodSucceeded : api::kPodFailed;
  for (auto* list : {&status.init_container_statuses, &status.container_statuses}) {
    for (api::ContainerStatus& container : *list) {
      container.started = false;
      if (!container.state.running) continue;
      container.state = Terminated(container.state, exit_code, now);
      container.ready = false;
    }
  }
  const std::string_view reason = exit_code == 0 ? kPodCompleted : "PodFailed";
  SetCondition(pod, kReadyToStart, false, "", now);
  SetCondition(pod, api::kPodInitializedCondition, true,
               exit_code == 0 ? kPodCompleted : std::string_view(), now);
  SetCondition(pod, api::kPodReadyCondition, false, reason, now);
  SetCondition(pod, api::kContainersReadyCondition, false, reason, now);
}

void EndOrRestart(api::Pod& pod, base::Time now) {
  const std::int32_t exit_code = ExitCodeOf(pod);
  const std::string& policy = pod.spec.restart_policy;
  const bool again = policy == api::kRestartPolicyAlways ||
                     (policy == api::kRestartPolicyOnFailure && exit_code != 0);
  if (!again) return End(pod, exit_code, now);
  for (api::ContainerStatus& container : pod.status.container_statuses) {
    container.last_state = Terminated(container.state, exit_code, now);
    container.state = Running(now);
    ++container.restart_count;
  }
}

}  // namespace dray::hollow
