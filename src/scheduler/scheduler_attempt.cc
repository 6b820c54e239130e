// SPDX-License-Identifier: Apache-2.0
//
// Scheduler: one pod, from the queue to its node.
#include <algorithm>
#include <iterator>
#include <utility>

#include "fmt/format.h"
#include "scheduler/cycle_data.h"
#include "scheduler/internal/scheduler_impl.h"

namespace dray::scheduler {
namespace {

using Code = PluginStatus::Code;

void Name(PluginStatus& status, const Plugin& plugin) {
  for (Reason& reason : status.reasons) {
    if (reason.plugin.empty()) reason.plugin = plugin.name();
  }
}

}  // namespace

std::optional<Outcome> Scheduler::Impl::ScheduleOne() {
  if (std::optional<Outcome> outcome = ContinueOne()) return outcome;
  if (running.size() >= options.bindings_at_once) return std::nullopt;
  while (std::optional<QueuedPod> pod = queue.Pop()) {
    const std::shared_ptr<const PodInfo> known = world.FindPod(pod->pod->key);
    // Deleted, being deleted, bound by somebody or assumed: nothing to be done for it. Or one by
    // that name is still being bound: then it comes after that one.
    if (known == nullptr || known->pod->metadata.deletion_timestamp ||
        !known->pod->spec.node_name.empty() || world.Assumed(known->key) ||
        running.contains(known->key)) {
      queue.Done(pod->pod->key);
      continue;
    }
    pod->pod = known;
    const std::optional<std::uint32_t> profile = ProfileOf(*known->pod);
    return Attempt(std::move(*pod), *profile);
  }
  return std::nullopt;
}

Cycle::Environment Scheduler::Impl::EnvironmentOf(std::uint32_t profile) {
  return {.plugins = *profiles[profile].plugins,
          .world = world,
          .profile = profile,
          .placements = options.caches ? &placements : nullptr,
          .nominations = &nominations};
}

Outcome Scheduler::Impl::Attempt(QueuedPod pod, std::uint32_t profile) {
  ++statistics.attempts;
  Cycle cycle(EnvironmentOf(profile), pod.pod);
  current.cycle = &cycle;
  NodeInfo* node = cycle.Choose();
  statistics.node_evaluations += cycle.evaluated();
  Outcome outcome = node == nullptr ? NoNode(std::move(pod), profile, cycle)
                                    : Reserve(std::move(pod), profile, cycle, *node);
  current.cycle = nullptr;
  return outcome;
}

Outcome Scheduler::Impl::Reserve(QueuedPod pod, std::uint32_t profile, Cycle& cycle,
                                 NodeInfo& node) {
  Binding binding{.pod = std::move(pod), .profile = profile, .node = node.name()};
  binding.state = cycle.TakeState();
  ++changes;
  for (ReservePlugin* plugin : profiles[profile].plugins->reserve()) {
    PluginStatus status = plugin->Reserve(binding.state, *binding.pod.pod, node, world);
    if (status.ok()) continue;
    Name(status, *plugin);
    Undo(binding);
    return Failed(std::move(binding.pod), profile, status, std::move(binding.node));
  }
  world.Assume(binding.pod.pod, node);
  if (options.background == nullptr) {
    if (auto outcome = Conclude(binding, Write(binding))) return std::move(*outcome);
  }
  Outcome waiting{.pod = binding.pod.pod->key, .kind = Outcome::Kind::kWaiting};
  waiting.node = binding.node;
  bindings.push_back(std::move(binding));
  if (options.background != nullptr) Launch(std::prev(bindings.end()));
  return waiting;
}

PluginStatus Scheduler::Impl::Write(Binding& binding) {
  const auto& plugins = profiles[binding.profile].plugins->pre_bind();
  for (; binding.next < plugins.size(); ++binding.next) {
    PluginStatus status =
        plugins[binding.next]->PreBind(binding.state, *binding.pod.pod, binding.node, world);
    if (status.ok() || status.code == Code::kSkip) continue;
    if (status.code != Code::kWait) Name(status, *plugins[binding.next]);
    return status;
  }
  const api::ObjectMeta& pod = binding.pod.pod->pod->metadata;
  const Status bound = cluster.Bind(pod.namespace_, pod.name, pod.uid, binding.node);
  if (bound.ok()) return PluginStatus::Success();
  return PluginStatus::Error(fmt::format("binding to {}: {}", binding.node, base::Message(bound)));
}

std::optional<Outcome> Scheduler::Impl::Conclude(Binding& binding, const PluginStatus& written) {
  if (written.code == Code::kWait) {
    const std::optional<base::Time> until = binding.state.Get<WaitsUntil>().time;
    binding.due.reset();
    if (until) binding.due = clock.Monotonic() + (*until - clock.Now());
    return std::nullopt;
  }
  if (written.ok()) return Finish(binding);
  Undo(binding);
  return Failed(std::move(binding.pod), binding.profile, written, std::move(binding.node));
}

Outcome Scheduler::Impl::Finish(Binding& binding) {
  const api::Pod& pod = *binding.pod.pod->pod;
  ++statistics.bound;
  const std::string key = binding.pod.pod->key;
  cluster.Note({.about = api::Object::Of(pod),
                .type = "Normal",
                .reason = "Scheduled",
                .message = fmt::format("Successfully assigned {} to {}", key, binding.node),
                .component = profiles[binding.profile].scheduler_name,
                .action = "Binding"});
  queue.Done(key);
  refused.erase(key);
  Withdraw(key, binding.node);
  WakeForRoom();
  return {.pod = key, .kind = Outcome::Kind::kBound, .node = binding.node};
}

void Scheduler::Impl::Undo(Binding& binding) {
  const auto& plugins = profiles[binding.profile].plugins->reserve();
  for (auto plugin = plugins.rbegin(); plugin != plugins.rend(); ++plugin) {
    (*plugin)->Unreserve(binding.state, *binding.pod.pod, world);
  }
  world.Forget(binding.pod.pod->key);
  // What becomes of its claims is seen.
  LeaveRoom(*binding.pod.pod->pod, binding.node);
  WakeForRoom();
}

std::optional<std::chrono::nanoseconds> Scheduler::Impl::BindingDue() const {
  std::optional<std::chrono::nanoseconds> first;
  for (const Binding& binding : bindings) {
    if (!binding.running && binding.due && (!first || *binding.due < *first)) first = binding.due;
  }
  return first;
}

bool Scheduler::Impl::StillWanted(const Binding& binding) const {
  const std::shared_ptr<const PodInfo> known = world.FindPod(binding.pod.pod->key);
  return known != nullptr && known->pod->metadata.uid == binding.pod.pod->pod->metadata.uid &&
         known->pod->spec.node_name.empty() && !known->pod->metadata.deletion_timestamp &&
         !IsTerminated(*known->pod);
}

void Scheduler::Impl::Launch(BindingIterator binding) {
  binding->running = true;
  running.insert(binding->pod.pod->key);
  options.background->Run([this, binding] {
    binding->written = Write(*binding);
    written.push_back(binding);
  });
}

std::optional<Outcome> Scheduler::Impl::TakeWritten() {
  while (!written.empty()) {
    const BindingIterator it = written.front();
    written.pop_front();
    it->running = false;
    const std::shared_ptr<const PodInfo> pod = it->pod.pod;
    running.erase(pod->key);
    std::optional<Outcome> outcome;
    if (it->written.ok() || StillWanted(*it)) {
      outcome = Conclude(*it, it->written);
      if (!outcome) continue;
    } else {
      Undo(*it);
      queue.Done(pod->key);
    }
    bindings.erase(it);
    // Another one by that name had to wait.
    const std::shared_ptr<const PodInfo> now = world.FindPod(pod->key);
    if (now != nullptr && now->pod->metadata.uid != pod->pod->metadata.uid &&
        now->pod->spec.node_name.empty() && !IsTerminated(*now->pod) && ProfileOf(*now->pod)) {
      Enqueue(now);
    }
    if (outcome) return outcome;
  }
  return std::nullopt;
}

// Looks at each binding once after something has changed. The first that comes to an end.
std::optional<Outcome> Scheduler::Impl::ContinueOne() {
  if (std::optional<Outcome> outcome = TakeWritten()) return outcome;
  if (!look_at_bindings) return std::nullopt;
  for (auto it = bindings.begin(); it != bindings.end();) {
    if (it->running) {
      ++it;
      continue;
    }
    if (!StillWanted(*it)) {
      Undo(*it);
      queue.Done(it->pod.pod->key);
      it = bindings.erase(it);
      continue;
    }
    if (world.FindNode(it->node) == nullptr) {
      Binding binding = std::move(*it);
      bindings.erase(it);
      Undo(binding);
      const PluginStatus status = PluginStatus::Unschedulable(
          {.code = "node_gone", .text = fmt::format("node {} is gone", binding.node)});
      return Failed(std::move(binding.pod), binding.profile, status, std::move(binding.node));
    }
    const auto asked = it++;
    if (options.background != nullptr) {
      Launch(asked);
      continue;
    }
    std::optional<Outcome> outcome = Conclude(*asked, Write(*asked));
    if (!outcome) continue;
    bindings.erase(asked);
    return outcome;
  }
  look_at_bindings = false;
  return std::nullopt;
}

}  // namespace dray::scheduler
