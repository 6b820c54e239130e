// SPDX-License-Identifier: Apache-2.0
//
// Scheduler: one pod, from the queue to its node.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/seconds.h"
#include "fmt/format.h"
#include "scheduler/cycle_data.h"
#include "scheduler/internal/named_pod.h"
#include "scheduler/internal/scheduler_impl.h"

namespace dray::scheduler {
namespace {

// Longer than any client or proxy holds a request back.
constexpr std::chrono::seconds kRequestsArriveWithin{90};

using Code = PluginStatus::Code;

void Name(PluginStatus& status, const Plugin& plugin) {
  for (Reason& reason : status.reasons) {
    if (reason.plugin.empty()) reason.plugin = plugin.name();
  }
}

}  // namespace

std::optional<Outcome> Scheduler::Impl::ScheduleOne() {
  if (!more.empty()) {
    Outcome outcome = std::move(more.front());
    more.pop_front();
    return outcome;
  }
  if (std::optional<Outcome> outcome = ContinueOne()) return outcome;
  if (running.size() >= options.bindings_at_once) return std::nullopt;
  // Who knows that much may have changed without his knowledge does not decide.
  if (!watch->Stale().ok()) return std::nullopt;
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
    if (GroupOf(*known->pod) != nullptr) return AttemptGroup(std::move(*pod), *profile);
    return Attempt(std::move(*pod), *profile);
  }
  return std::nullopt;
}

Cycle::Environment Scheduler::Impl::EnvironmentOf(std::uint32_t profile) {
  return {.plugins = *profiles[profile].plugins,
          .world = world,
          .profile = profile,
          .placements = options.caches ? &placements : nullptr,
          .nominations = &nominations,
          .sweep = {options.executor, options.parallel_from}};
}

Timing Scheduler::Impl::MakeTiming(std::uint32_t profile) {
  const bool plugins = options.plugin_sampling > 0 && ++measured % options.plugin_sampling == 0;
  return {options.observer, clock, profiles[profile].scheduler_name, plugins};
}

void Scheduler::Impl::Observe(const Trial& trial, const Outcome& outcome) {
  if (options.observer == nullptr || outcome.kind == Outcome::Kind::kWaiting) return;
  using Result = AttemptReport::Result;
  const std::chrono::nanoseconds now = clock.Monotonic();
  options.observer->OnAttempt({.profile = profiles[trial.profile].scheduler_name,
                               .result = outcome.kind == Outcome::Kind::kBound ? Result::kScheduled
                                         : outcome.kind == Outcome::Kind::kError
                                             ? Result::kError
                                             : Result::kUnschedulable,
                               .took = now - trial.began,
                               .attempts = trial.attempts,
                               .since_added = now - trial.added});
}

std::uint64_t Scheduler::Impl::StepsOf(std::uint32_t profile) const {
  if (options.observer == nullptr || profiles[profile].devices == nullptr) return 0;
  return profiles[profile].devices->allocator_steps();
}

Outcome Scheduler::Impl::Attempt(QueuedPod pod, std::uint32_t profile) {
  ++statistics.attempts;
  Timing timing = MakeTiming(profile);
  const Trial trial{profile, pod.attempts, pod.added, timing.began()};
  attempt_began = trial.began;
  explaining = {};
  const std::uint64_t steps_before = StepsOf(profile);
  Cycle::Environment environment = EnvironmentOf(profile);
  if (options.observer != nullptr) environment.timing = &timing;
  Cycle cycle(environment, pod.pod);
  current.cycle = &cycle;
  NodeInfo* node = cycle.Choose();
  statistics.node_evaluations += cycle.evaluated();
  Outcome outcome = node == nullptr ? NoNode(std::move(pod), profile, cycle, timing)
                                    : Reserve(std::move(pod), profile, cycle, *node, timing);
  current.cycle = nullptr;
  if (options.observer != nullptr) {
    options.observer->OnDecision({.pod = outcome.pod,
                                  .node = outcome.node,
                                  .took = clock.Monotonic() - trial.began,
                                  .explaining = explaining,
                                  .nodes = cycle.evaluated(),
                                  .steps = StepsOf(profile) - steps_before});
  }
  Observe(trial, outcome);
  return outcome;
}

Outcome Scheduler::Impl::Reserve(QueuedPod pod, std::uint32_t profile, Cycle& cycle, NodeInfo& node,
                                 Timing& timing) {
  Binding binding{.pod = std::move(pod), .profile = profile, .node = node.name()};
  binding.began = attempt_began;
  binding.state = cycle.TakeState();
  ++changes;
  for (ReservePlugin* plugin : profiles[profile].plugins->reserve()) {
    PluginStatus status = timing.Ask(Phase::kReserve, *plugin, [&] {
      return plugin->Reserve(binding.state, *binding.pod.pod, node, world);
    });
    if (status.ok()) continue;
    timing.End(Phase::kReserve, status.code);
    Name(status, *plugin);
    Undo(binding);
    return Failed(std::move(binding.pod), profile, status, std::move(binding.node));
  }
  world.Assume(binding.pod.pod, node);
  NeedsNoOtherRoom(binding);
  timing.End(Phase::kReserve, Code::kSuccess);
  if (options.background == nullptr) {
    if (auto outcome = Conclude(binding, Write(binding, timing))) return std::move(*outcome);
  }
  Outcome waiting{.pod = binding.pod.pod->key, .kind = Outcome::Kind::kWaiting};
  waiting.node = binding.node;
  bindings.push_back(std::move(binding));
  if (options.background != nullptr) Launch(std::prev(bindings.end()));
  return waiting;
}

// What was kept for it on another node is not while it is being bound, which may take minutes.
void Scheduler::Impl::NeedsNoOtherRoom(const Binding& binding) {
  const auto found = std::ranges::find_if(nominations, [&](const Nomination& nomination) {
    return nomination.pod->key == binding.pod.pod->key;
  });
  if (found == nominations.end() || found->node == binding.node) return;
  LeaveRoom(*found->pod->pod, found->node);
  WakeForRoom();
}

PluginStatus Scheduler::Impl::Write(Binding& binding, Timing& timing) {
  const auto& plugins = profiles[binding.profile].plugins->pre_bind();
  const bool claims_in_doubt = binding.in_doubt && binding.next < plugins.size();
  if (binding.in_doubt) binding.state.Get<WaitsUntil>() = {};
  for (; binding.next < plugins.size(); ++binding.next) {
    PreBindPlugin& plugin = *plugins[binding.next];
    PluginStatus status = timing.Ask(Phase::kPreBind, plugin, [&] {
      return plugin.PreBind(binding.state, *binding.pod.pod, binding.node, world);
    });
    if (status.ok() || status.code == Code::kSkip) continue;
    timing.End(Phase::kPreBind, status.code);
    if (status.code != Code::kWait) Name(status, plugin);
    return status;
  }
  timing.End(Phase::kPreBind, Code::kSuccess);
  // What PreBind was in doubt about is known now; meanwhile the pod or the node may have gone.
  if (claims_in_doubt && (!StillWanted(binding) || world.FindNode(binding.node) == nullptr)) {
    return PluginStatus::Error(fmt::format("binding to {}: too late", binding.node));
  }
  // Unless it may be bound already.
  if (std::string why = binding.may_arrive_until ? "" : TwiceOf(*binding.pod.pod); !why.empty()) {
    return PluginStatus::Error(std::move(why));
  }
  // Nobody of a group is bound before all can be.
  if (binding.group != nullptr && !binding.group->open) {
    if (PluginStatus status = NominateInGroup(binding); !status.ok()) return status;
    binding.state.Get<WaitsUntil>() = {};
    binding.prebound = true;
    return {Code::kWait, {}};
  }
  PluginStatus bound = BindPod(binding);
  timing.End(Phase::kBind, bound.code);
  return bound;
}

// A nomination that may have been stored, or is stored although the group is given up, takes nothing away
// that the next attempt would not give back: so nothing of it is in doubt, it is only written again.
PluginStatus Scheduler::Impl::NominateInGroup(Binding& binding) {
  constexpr int kTries = 5;
  if (binding.nominated || binding.group->total < 2) return PluginStatus::Success();
  const api::ObjectMeta& pod = binding.pod.pod->pod->metadata;
  api::Pod changed = *binding.pod.pod->pod;
  for (int left = kTries; left > 0; --left) {
    if (changed.status.nominated_node_name == binding.node) {
      binding.nominated = true;
      return PluginStatus::Success();
    }
    changed.status.nominated_node_name = binding.node;
    const auto written = cluster.UpdateStatus(api::Object::Of(changed));
    if (written.ok()) continue;
    if (!api::MayHaveHappened(written.status()) &&
        written.status().code() != StatusCode::kAborted) {
      return PluginStatus::Error(
          fmt::format("nominating node {}: {}", binding.node, base::Message(written.status())));
    }
    const auto read =
        cluster.Find(api::HubKind(api::TypeInfoOf<api::Pod>()), pod.namespace_, pod.name);
    if (!read.ok()) break;
    if (!read->has_value() || (*read)->metadata().uid != pod.uid) {
      return PluginStatus::Error(fmt::format("nominating node {}: the pod is gone", binding.node));
    }
    changed = *(*read)->As<api::Pod>();
  }
  binding.state.Get<WaitsUntil>() = {.time = clock.Now() + kDoubtNap};
  return {Code::kWait, {}};
}

PluginStatus Scheduler::Impl::BindPod(Binding& binding) {
  const api::ObjectMeta& pod = binding.pod.pod->pod->metadata;
  const Status bound = cluster.Bind(pod.namespace_, pod.name, pod.uid, binding.node);
  if (bound.ok()) return PluginStatus::Success();
  const PluginStatus failed =
      PluginStatus::Error(fmt::format("binding to {}: {}", binding.node, base::Message(bound)));
  if (api::MayHaveHappened(bound)) {
    binding.may_arrive_until = clock.Monotonic() + kRequestsArriveWithin;
  }
  // What became of the last request says nothing about one before it.
  const bool unknown = binding.may_arrive_until && clock.Monotonic() < *binding.may_arrive_until;
  // A refusal may be of a request that was sent twice, and done the first time. The pod knows.
  if (!binding.may_arrive_until && bound.code() != StatusCode::kAlreadyExists &&
      bound.code() != StatusCode::kAborted) {
    return failed;
  }
  const auto read =
      cluster.Find(api::HubKind(api::TypeInfoOf<api::Pod>()), pod.namespace_, pod.name);
  const api::Object* now = read.ok() && read->has_value() ? &**read : nullptr;
  if (now != nullptr && now->metadata().uid != pod.uid) now = nullptr;
  const std::string_view node = now == nullptr ? "" : now->As<api::Pod>()->spec.node_name;
  if (node == binding.node) return PluginStatus::Success();
  // Where it is on no node, what was sent may still arrive.
  const bool in_doubt = !read.ok() || (unknown && now != nullptr && node.empty());
  if (!in_doubt) return failed;
  // Whatever was answered, the pod has not been seen since.
  if (!binding.may_arrive_until) {
    binding.may_arrive_until = clock.Monotonic() + kRequestsArriveWithin;
  }
  binding.state.Get<WaitsUntil>() = {.time = clock.Now() + kDoubtNap, .in_doubt = true};
  return {Code::kWait, {}};
}

std::optional<Outcome> Scheduler::Impl::Conclude(Binding& binding, const PluginStatus& written) {
  const std::string& key = binding.pod.pod->key;
  binding.in_doubt = false;
  running.erase(key);
  if (written.code == Code::kWait) {
    binding.due.reset();
    if (binding.group != nullptr && binding.prebound && !binding.group->open) {
      GroupCommit& group = *binding.group;
      ++group.ready;
      if (!group.failed && group.ready < group.total) return std::nullopt;
      look_at_bindings = look_again = true;
      if (!group.failed) {
        group.why = WhyTooFew(group);
        group.failed = !group.why.empty();
      }
      // One that was counted has gone: this one is undone with the others.
      if (group.failed) return std::nullopt;
      group.open = true;
      TellGroup(group.group, true, api::kGroupScheduled, "");
    }
    const WaitsUntil& waits = binding.state.Get<WaitsUntil>();
    if (waits.time) {
      binding.due = clock.Monotonic() + base::Bounded(*waits.time - clock.Now());
      some_are_due = true;
    }
    binding.in_doubt = waits.in_doubt;
    if (binding.in_doubt) running.insert(key);
    // What it waits for is of no use any more.
    if (!binding.in_doubt && binding.group != nullptr && binding.group->failed) {
      look_at_bindings = look_again = true;
    }
    return std::nullopt;
  }
  if (written.ok()) return Finish(binding);
  if (binding.group != nullptr && !binding.group->open && !binding.group->failed) {
    binding.group->failed = true;
    binding.group->why = written.reasons.empty() ? "" : written.reasons.front().text;
    look_at_bindings = look_again = true;
  }
  Undo(binding);
  return Failed(std::move(binding.pod), binding.profile, written, std::move(binding.node));
}

Outcome Scheduler::Impl::Finish(Binding& binding) {
  const api::Pod& pod = *binding.pod.pod->pod;
  ++statistics.bound;
  const std::string key = binding.pod.pod->key;
  cluster.Note({.about = NamedOf(pod),
                .type = "Normal",
                .reason = "Scheduled",
                .message = fmt::format("Successfully assigned {} to {}", key, binding.node),
                .component = profiles[binding.profile].scheduler_name,
                .action = "Binding"});
  queue.Done(key);
  refused.erase(key);
  reports.Forget(key);
  in_vain.Forget(key);
  Withdraw(key, binding.node);
  EndHold(*binding.pod.pod);
  WakeForRoom();
  return {.pod = key, .kind = Outcome::Kind::kBound, .node = binding.node};
}

void Scheduler::Impl::Undo(Binding& binding) {
  const auto& plugins = profiles[binding.profile].plugins->reserve();
  for (auto plugin = plugins.rbegin(); plugin != plugins.rend(); ++plugin) {
    (*plugin)->Unreserve(binding.state, *binding.pod.pod, world);
  }
  world.Forget(binding.pod.pod->key);
  LeaveRoom(*binding.pod.pod->pod, binding.node);
  WakeForRoom();
}

std::optional<std::chrono::nanoseconds> Scheduler::Impl::BindingDue() const {
  // Hundreds may be on their way, and this is asked for each change: most often none of them waits for a time.
  if (!some_are_due) return std::nullopt;
  some_are_due =
      std::ranges::any_of(bindings, [](const Binding& binding) { return binding.due.has_value(); });
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
  ++launched;
  running.insert(binding->pod.pod->key);
  options.background->Run([this, binding] {
    Timing timing = MakeTiming(binding->profile);
    binding->written = Write(*binding, timing);
    written.push_back(binding);
  });
}

std::optional<Outcome> Scheduler::Impl::TakeWritten() {
  while (!written.empty()) {
    const BindingIterator it = written.front();
    written.pop_front();
    it->running = false;
    --launched;
    const std::shared_ptr<const PodInfo> pod = it->pod.pod;
    const Trial trial = TrialOf(*it);
    running.erase(pod->key);
    std::optional<Outcome> outcome;
    const bool in_doubt = it->written.code == Code::kWait && it->state.Get<WaitsUntil>().in_doubt;
    if (it->written.ok() || in_doubt || StillWanted(*it)) {
      outcome = Conclude(*it, it->written);
      if (!outcome) continue;
    } else {
      if (it->group != nullptr && !it->group->open) {
        it->group->failed = look_at_bindings = true;
        it->group->why = fmt::format("pod {} is gone", pod->key);
      }
      Undo(*it);
      queue.Done(pod->key);
    }
    bindings.erase(it);
    LetSuccessorIn(*pod);
    if (!outcome) continue;
    Observe(trial, *outcome);
    return outcome;
  }
  return std::nullopt;
}

void Scheduler::Impl::LetSuccessorIn(const PodInfo& pod) {
  const std::shared_ptr<const PodInfo> now = world.FindPod(pod.key);
  if (now != nullptr && now->pod->metadata.uid != pod.pod->metadata.uid &&
      now->pod->spec.node_name.empty() && !IsTerminated(*now->pod) && ProfileOf(*now->pod)) {
    Enqueue(now);
  }
}

// Looks at each binding once after something has changed. The first that comes to an end.
std::optional<Outcome> Scheduler::Impl::ContinueOne() {
  if (std::optional<Outcome> outcome = TakeWritten()) return outcome;
  if (!look_at_bindings) return std::nullopt;
  // What is in doubt is settled by reading; everything else needs a picture that is true.
  const bool stale = !watch->Stale().ok();
  // All are on their way, as they mostly are.
  if (launched == bindings.size()) {
    look_at_bindings = stale;
    return std::nullopt;
  }
  for (auto it = bindings.begin(); it != bindings.end();) {
    if (it->running || (stale && !it->in_doubt)) {
      ++it;
      continue;
    }
    // What one of a group has lost, the others do not keep.
    if (it->group != nullptr && it->group->failed && !it->in_doubt) {
      Binding binding = std::move(*it);
      bindings.erase(it);
      Undo(binding);
      const Trial trial = TrialOf(binding);
      Outcome outcome =
          Failed(std::move(binding.pod), binding.profile,
                 PluginStatus::Error(fmt::format(
                     "failed to schedule other pod from a pod group: {}", binding.group->why)),
                 std::move(binding.node));
      Observe(trial, outcome);
      return outcome;
    }
    if (it->group != nullptr && !it->group->open && !it->in_doubt &&
        (!StillWanted(*it) || world.FindNode(it->node) == nullptr)) {
      it->group->failed = true;
      it->group->why = fmt::format("pod {} or its node is gone", it->pod.pod->key);
      look_again = true;
    } else if (it->prebound && !it->group->open) {
      ++it;
      continue;
    }
    if (!it->in_doubt && !StillWanted(*it)) {
      Undo(*it);
      queue.Done(it->pod.pod->key);
      it = bindings.erase(it);
      continue;
    }
    if (!it->in_doubt && world.FindNode(it->node) == nullptr) {
      Binding binding = std::move(*it);
      bindings.erase(it);
      Undo(binding);
      const PluginStatus status = PluginStatus::Unschedulable(
          {.code = "node_gone", .text = fmt::format("node {} is gone", binding.node)});
      const Trial trial = TrialOf(binding);
      Outcome outcome =
          Failed(std::move(binding.pod), binding.profile, status, std::move(binding.node));
      Observe(trial, outcome);
      return outcome;
    }
    const auto asked = it++;
    if (options.background != nullptr) {
      Launch(asked);
      continue;
    }
    const Trial trial = TrialOf(*asked);
    const std::shared_ptr<const PodInfo> pod = asked->pod.pod;
    Timing timing = MakeTiming(asked->profile);
    const PluginStatus written = Write(*asked, timing);
    // One that was in doubt may have become unwanted meanwhile.
    const bool unwanted = !written.ok() && written.code != Code::kWait && !StillWanted(*asked);
    std::optional<Outcome> outcome;
    if (unwanted) {
      if (asked->group != nullptr && !asked->group->open) {
        asked->group->failed = look_again = true;
        asked->group->why = fmt::format("pod {} is gone", pod->key);
      }
      Undo(*asked);
      queue.Done(pod->key);
      running.erase(pod->key);
    } else {
      outcome = Conclude(*asked, written);
      if (!outcome) continue;
    }
    bindings.erase(asked);
    LetSuccessorIn(*pod);
    if (unwanted) continue;
    Observe(trial, *outcome);
    return outcome;
  }
  look_at_bindings = stale;
  // A group may have come to where it is bound, or given up.
  if (std::exchange(look_again, false)) {
    look_at_bindings = true;
    return ContinueOne();
  }
  return std::nullopt;
}

}  // namespace dray::scheduler
