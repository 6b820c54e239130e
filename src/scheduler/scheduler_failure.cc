// SPDX-License-Identifier: Apache-2.0
//
// Scheduler: pods that got no node, what they are told and when they are tried again.
#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "fmt/format.h"
#include "scheduler/internal/named_pod.h"
#include "scheduler/internal/scheduler_impl.h"

namespace dray::scheduler {
namespace {

using Code = PluginStatus::Code;

// Kinds of refused pods that are told apart; beyond that it is begun anew.
constexpr std::size_t kMostAlike = 4096;
constexpr std::string_view kSchedulerError = "SchedulerError";
constexpr std::string_view kPreemption = "DefaultPreemption";

std::string Join(const std::vector<Reason>& reasons) {
  std::string text;
  for (const Reason& reason : reasons) text.append(text.empty() ? "" : ", ").append(reason.text);
  return text;
}

}  // namespace

Outcome Scheduler::Impl::NoNode(QueuedPod pod, std::uint32_t profile, Cycle& cycle,
                                Timing& timing) {
  if (cycle.status().code == Code::kError) {
    return Failed(std::move(pod), profile, cycle.status(), {});
  }
  ++statistics.unschedulable;
  const std::shared_ptr<const PodInfo> info = pod.pod;
  in_vain.Refused(info->key);
  const std::string in_vain_before = in_vain.WhyNot(*info);
  PodExplanation explanation{.pod = info->key};
  const std::chrono::nanoseconds before =
      options.observer == nullptr ? timing.began() : timing.Now();
  if (options.explain) {
    cycle.Explain(explanation);
  } else {
    explanation.nodes = world.nodes().size();
  }
  if (options.observer != nullptr) explaining = timing.Now() - before;
  std::vector<std::string> refused_by = cycle.RefusedBy();

  timing.Restart();
  bool retry = false;
  std::optional<std::string> nominated;
  std::optional<DeviceHold> held;
  if (const DeviceHold* hold = world.holds().Find(*info)) held = *hold;
  for (PostFilterPlugin* plugin : profiles[profile].plugins->post_filters()) {
    if (!in_vain_before.empty() && plugin->name() == kPreemption) {
      explanation.after.push_back({.plugin = std::string(kPreemption),
                                   .code = "preemption",
                                   .text = fmt::format("preemption: {}", in_vain_before)});
      continue;
    }
    PostFilterResult result;
    timing.Ask(Phase::kPostFilter, *plugin, [&] {
      result = plugin->PostFilter(cycle.state(), *info, world);
      return PluginStatus{result.status.code, {}};
    });
    if (options.observer != nullptr && result.victims) {
      options.observer->OnPreemption(*result.victims);
    }
    for (Reason& reason : result.status.reasons) {
      reason.plugin = plugin->name();
      explanation.after.push_back(std::move(reason));
    }
    if (!result.nominated_node.empty()) nominated = std::move(result.nominated_node);
    // It could not be done now, and no change will say when it can.
    if (result.status.code == Code::kError) retry = true;
    // Room is being made: what that needs, another plugin need not try to make once more.
    if (result.status.ok()) {
      retry = !nominated.has_value();
      break;
    }
  }
  timing.End(Phase::kPostFilter, nominated ? Code::kSuccess : Code::kUnschedulable);
  const bool has_room =
      !info->pod->status.nominated_node_name.empty() || world.holds().Find(*info) != nullptr;
  // Nor is it kept for one whose claims have gone, whoever is still leaving for it.
  const bool kept = has_room && NominationHolds(*info) && !IsHeldBack(*info);
  if (nominated) {
    Nominate(info, *nominated);
  } else if (!info->pod->status.nominated_node_name.empty() && !kept) {
    nominated = "";
    Nominate(info, "");
  }
  // A hold without a nomination is none.
  if (const DeviceHold* hold = world.holds().Find(*info);
      hold != nullptr && !kept && (!nominated || *nominated != hold->node)) {
    EndHold(*info);
  } else if (held && (hold == nullptr || DevicesOf(*hold) != DevicesOf(*held))) {
    // Broken, or others in its place.
    LeaveRoom(*info->pod, held->node);
  }
  WakeForRoom();

  const std::string message = EventMessage(explanation);
  Tell(info, profile,
       {.reason = std::string(api::kReasonUnschedulable),
        .message = message,
        .nominated = std::move(nominated)});
  if (options.observer != nullptr) options.observer->OnRefusal(explanation);
  Refused& why = refused[info->key];
  why.explanation = std::move(explanation);
  why.gated_by.clear();
  why.as_of = changes;
  pod.alike = Alike(*info, refused_by, cycle);
  queue.Back(std::move(pod), std::move(refused_by), retry);
  return {.pod = info->key, .kind = Outcome::Kind::kUnschedulable, .message = message};
}

// After a node was chosen, or because something could not be found out.
Outcome Scheduler::Impl::Failed(QueuedPod pod, std::uint32_t profile, const PluginStatus& status,
                                std::string node) {
  const std::shared_ptr<const PodInfo> info = pod.pod;
  const bool error = status.code == Code::kError;
  error ? ++statistics.errors : ++statistics.unschedulable;
  const std::string message = Join(status.reasons);
  PodExplanation explanation{.pod = info->key, .nodes = world.nodes().size()};
  std::vector<std::string> refused_by;
  if (error) {
    explanation.error = message;
  } else {
    explanation.groups.push_back({.nodes = 1, .examples = {node}, .reasons = status.reasons});
    for (const Reason& reason : status.reasons) refused_by.push_back(reason.plugin);
  }
  if (!node.empty()) in_vain.FailedOnNode(*info);
  std::optional<std::string> nominated;
  if (GiveRoomUp(*info, message)) nominated = "";
  Tell(info, profile,
       {.reason = std::string(error ? kSchedulerError : api::kReasonUnschedulable),
        .message = error ? message : EventMessage(explanation),
        .nominated = std::move(nominated)});
  if (options.observer != nullptr) options.observer->OnRefusal(explanation);
  Refused& why = refused[info->key];
  why.explanation = std::move(explanation);
  why.gated_by.clear();
  why.as_of = changes;
  pod.alike = 0;
  // Other nodes have not been asked whether they would do, so it is tried again by itself.
  queue.Back(std::move(pod), std::move(refused_by), /*retry=*/true);
  return {.pod = info->key,
          .kind = error ? Outcome::Kind::kError : Outcome::Kind::kUnschedulable,
          .node = std::move(node),
          .message = message};
}

std::uint64_t Scheduler::Impl::Alike(const PodInfo& pod, const std::vector<std::string>& refused_by,
                                     const Cycle& cycle) {
  std::optional<PlacementKey> key = cycle.Alike();
  if (!key) return 0;
  std::string beside = pod.pod->metadata.namespace_;
  for (const auto& [label, value] : pod.pod->metadata.labels) {
    beside.append("\n").append(label.view()).append("=").append(value);
  }
  for (const std::string& plugin : refused_by) beside.append("\n").append(plugin);
  key->classes.push_back(absl::HashOf(beside));
  if (alike.size() >= kMostAlike) alike.clear();
  const auto [found, added] = alike.try_emplace(*std::move(key));
  AlikePods& pods = found->second;
  const auto same = [&](const PodInfo& other) {
    const api::ObjectMeta& a = pod.pod->metadata;
    const api::ObjectMeta& b = other.pod->metadata;
    return SameShape(pod, other) && a.namespace_ == b.namespace_ && a.labels == b.labels;
  };
  if (added || pods.refused_by != refused_by || !same(*pods.example)) {
    pods = {++alike_numbers, world.FindPod(pod.key), refused_by};
  }
  return pods.number;
}

void Scheduler::Impl::BringUpToDate(Refused& why) {
  PodExplanation& explanation = why.explanation;
  // What went wrong in an attempt stays true, and a gated pod is asked about when that may help it.
  if (why.as_of == changes || !why.gated_by.empty() || !explanation.error.empty()) return;
  const std::shared_ptr<const PodInfo> pod = world.FindPod(explanation.pod);
  if (pod == nullptr || world.Assumed(pod->key)) return;
  const std::optional<std::uint32_t> profile = ProfileOf(*pod->pod);
  if (!profile) return;
  // What is said of a group is as of its attempt: whether all of it fits is not asked for an explanation, and
  // what one of its pods lacks says nothing about the others.
  const Group* group = GroupOf(*pod->pod);
  if (group != nullptr && (explanation.groups.empty() || group->object == nullptr ||
                           group->object->spec.scheduling_constraints)) {
    return;
  }
  why.as_of = changes;
  Cycle cycle(EnvironmentOf(*profile), pod);
  if (group != nullptr) cycle.state().Get<GroupOfPod>().group = group->object;
  current.cycle = &cycle;
  PodExplanation now{.pod = pod->key, .nodes = world.nodes().size()};
  if (const NodeInfo* node = cycle.Choose()) {
    current.cycle = nullptr;
    if (group != nullptr) return;
    now.before.push_back(
        {.code = "fits_now",
         .text = fmt::format("node {} would take it now; it is tried again soon", node->name())});
  } else if (cycle.status().code == Code::kError) {
    now.error = Join(cycle.status().reasons);
  } else {
    cycle.Explain(now);
    now.after = std::move(explanation.after);
  }
  current.cycle = nullptr;
  explanation = std::move(now);
}

// Nothing that was said already is said again.
void Scheduler::Impl::Tell(const std::shared_ptr<const PodInfo>& pod, std::uint32_t profile,
                           internal::Report report) {
  std::string& said = refused[pod->key].message;
  if (said != report.message) {
    cluster.Note({.about = NamedOf(*pod->pod),
                  .type = "Warning",
                  .reason = "FailedScheduling",
                  .message = report.message,
                  .component = profiles[profile].scheduler_name,
                  .action = "Scheduling"});
    said = report.message;
  }
  // A node that could not be written into the pod's status yet: as things are now.
  if (!report.nominated && reports.Nominates(pod->key)) {
    const auto found = std::ranges::find_if(
        nominations, [&](const Nomination& nomination) { return nomination.pod->key == pod->key; });
    report.nominated = found == nominations.end() ? "" : found->node;
  }
  reports.Tell(pod, std::move(report));
}

void Scheduler::Impl::Nominate(const std::shared_ptr<const PodInfo>& pod, std::string_view node) {
  const auto found = std::ranges::find_if(
      nominations, [&](const Nomination& nomination) { return nomination.pod->key == pod->key; });
  if (found != nominations.end() && found->node == node && !node.empty()) {
    found->pod = pod;
    return;
  }
  Withdraw(pod->key, node);
  if (!node.empty()) nominations.push_back({pod, std::string(node)});
}

void Scheduler::Impl::Withdraw(std::string_view key, std::string_view node) {
  const auto found = std::ranges::find_if(
      nominations, [&](const Nomination& nomination) { return nomination.pod->key == key; });
  if (found == nominations.end()) return;
  if (found->node != node) LeaveRoom(*found->pod->pod, found->node);
  nominations.erase(found);
}

// What is held for it in memory goes before what its status says: that may not be written yet.
std::string Scheduler::Impl::NominatedNode(const PodInfo& pod) const {
  const std::string& stored = pod.pod->status.nominated_node_name;
  const DeviceHold* hold = world.holds().Find(pod);
  return stored.empty() && hold != nullptr ? hold->node : stored;
}

void Scheduler::Impl::EndHold(const PodInfo& pod) {
  const DeviceHold* hold = world.holds().Find(pod);
  if (hold == nullptr) return;
  const bool others = !HasWhatWasHeld(*hold, world);
  const std::string node = hold->node;
  world.holds().Remove(pod.key);
  if (others) LeaveRoom(*pod.pod, node);
}

void Scheduler::Impl::LeaveRoom(api::Pod pod, std::string_view node) {
  ++changes;
  pod.spec.node_name = node;
  room_left.push_back({.change = {api::Change::Kind::kDeleted, api::Object::Of(std::move(pod))}});
}

void Scheduler::Impl::WakeForRoom() {
  if (room_left.empty()) return;
  WakePods(std::exchange(room_left, {}));
}

// As long as pods that were sent away for it have not gone.
bool Scheduler::Impl::NominationHolds(const PodInfo& pod) const {
  const DeviceHold* hold = world.holds().Find(pod);
  if (hold != nullptr && StateOf(*hold, world) == HoldState::kPending) return true;
  return AreLeaving(pod, pod.pod->status.nominated_node_name);
}

bool Scheduler::Impl::AreLeaving(const PodInfo& pod, std::string_view name) const {
  const NodeInfo* node = world.FindNode(name);
  return node != nullptr && std::ranges::any_of(node->pods, [&](const auto& other) {
           return other->priority < pod.priority && other->pod->metadata.deletion_timestamp;
         });
}

bool Scheduler::Impl::GiveRoomUp(const PodInfo& pod, std::string_view why) {
  const std::shared_ptr<const PodInfo> now = world.FindPod(pod.key);
  if (now == nullptr || now->pod->metadata.uid != pod.pod->metadata.uid) return false;
  const auto found = std::ranges::find_if(
      nominations, [&](const Nomination& nomination) { return nomination.pod->key == pod.key; });
  const bool nominated = found != nominations.end();
  if (!nominated && world.holds().Find(pod) == nullptr) return false;
  if (NominationHolds(*now) || (nominated && AreLeaving(*now, found->node))) return false;
  const Group* group = GroupOf(*now->pod);
  if (group != nullptr && HasBegun(*group)) return false;
  if (!in_vain.Failed(*now, why)) return false;
  Nominate(now, "");
  EndHold(*now);
  WakeForRoom();
  return true;
}

}  // namespace dray::scheduler
