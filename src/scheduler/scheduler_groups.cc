// SPDX-License-Identifier: Apache-2.0
//
// Groups of pods: who belongs to which, when their pods are in the queue, and what is said of them.
//
// Spec: KEP-4671. Members are in the queue all or none: as long as the group is not known, has fewer
// pods than it needs at once, or one of its pods is held back, nobody of it is tried.
#include <algorithm>
#include <utility>

#include "api/pod_claims.h"
#include "fmt/format.h"
#include "scheduler/internal/scheduler_impl.h"

namespace dray::scheduler {
namespace {

constexpr std::string_view kPlugin = "GangScheduling";

std::string GroupKey(std::string_view namespace_, std::string_view name) {
  return fmt::format("{}/{}", namespace_, name);
}

// Whether the group's status says so already. Once it was scheduled, it was.
bool IsSaid(const api::PodGroup& group, bool scheduled, std::string_view reason,
            std::string_view message) {
  const auto it = std::ranges::find(group.status.conditions, api::kGroupScheduledCondition,
                                    &api::Condition::type);
  if (it == group.status.conditions.end()) return false;
  return it->status == "True" || (!scheduled && it->reason == reason && it->message == message);
}

}  // namespace

Scheduler::Impl::Group* Scheduler::Impl::GroupOf(const api::Pod& pod) {
  const std::string_view name = api::GroupNameOf(pod);
  if (name.empty() || !options.gates.Enabled(api::Gate::kGenericWorkload)) return nullptr;
  return &groups[GroupKey(pod.metadata.namespace_, name)];
}

void Scheduler::Impl::TakeGroup(const api::Change& change) {
  const api::ObjectMeta& metadata = change.object.metadata();
  const std::string key = GroupKey(metadata.namespace_, metadata.name);
  Group& group = groups[key];
  const std::shared_ptr<const api::PodGroup> before = group.object;
  if (change.kind == api::Change::Kind::kDeleted) {
    group.object = nullptr;
  } else {
    const auto keep = std::make_shared<const api::Object>(change.object);
    group.object = {keep, keep->As<api::PodGroup>()};
  }
  AskGroup(group);
  // Fewer may be enough, of pods that were refused for want of room and that no plugin would wake.
  if (before != nullptr && group.object != nullptr &&
      api::MinCountOf(group.object->spec) < api::MinCountOf(before->spec)) {
    queue.WakeIf([&](const QueuedPod& pod) { return group.pods.contains(pod.pod->key); }, {});
  }
  if (group.object == nullptr && group.pods.empty()) groups.erase(key);
}

// Before the pod itself is taken in, which may put it into the queue.
void Scheduler::Impl::TakeMember(const api::Change& change) {
  const api::Pod& pod = *change.object.As<api::Pod>();
  Group* group = GroupOf(pod);
  if (group == nullptr) return;
  const std::string key = dray::scheduler::KeyOf(pod);
  const bool counts = change.kind != api::Change::Kind::kDeleted && !IsTerminated(pod) &&
                      (!pod.spec.node_name.empty() || ProfileOf(pod));
  if (counts && pod.spec.node_name.empty()) {
    group->pods.insert(key);
  } else {
    counts ? static_cast<void>(group->pods.insert(key)) : static_cast<void>(group->pods.erase(key));
    group->held.erase(key);
  }
  AskGroup(*group);
  if (group->object == nullptr && group->pods.empty()) {
    groups.erase(GroupKey(pod.metadata.namespace_, api::GroupNameOf(pod)));
  }
}

std::string Scheduler::Impl::WaitsFor(const Group& group) {
  if (group.object == nullptr) return "waiting for the pod group to appear";
  const auto least = static_cast<std::size_t>(std::max(0, api::MinCountOf(group.object->spec)));
  if (group.pods.size() < least) {
    return fmt::format(
        "waiting for minCount pods from a gang to appear in scheduling queue: {} of {}",
        group.pods.size(), least);
  }
  if (!group.held.empty()) {
    return fmt::format("waiting for pod {} of its group, which is held back", *group.held.begin());
  }
  return {};
}

void Scheduler::Impl::FindBegun() {
  if (groups.empty()) return;
  for (Nomination& nomination : nominations) {
    const Group* group = GroupOf(*nomination.pod->pod);
    if (group == nullptr || group->object == nullptr || group->pods.empty()) continue;
    const auto on_nodes = std::ranges::count_if(group->pods, [&](const std::string& key) {
      return !world.NodeOf(key).empty() && !world.Assumed(key);
    });
    nomination.begun = group->object->spec.scheduling_policy.gang && on_nodes > 0 &&
                       on_nodes < api::MinCountOf(group->object->spec);
  }
}

bool Scheduler::Impl::HasBegun(const Group& group) const {
  if (group.object == nullptr || !group.object->spec.scheduling_policy.gang) return false;
  const auto runs = std::ranges::count_if(group.pods, [&](const std::string& key) {
    return !world.NodeOf(key).empty() && std::ranges::none_of(bindings, [&](const Binding& one) {
      // Of one that has just failed the pod has gone back already.
      if (one.pod.pod == nullptr || one.pod.pod->key != key) return false;
      return one.group == nullptr || !one.group->open;
    });
  });
  return runs > 0 && runs < api::MinCountOf(group.object->spec);
}

void Scheduler::Impl::PutMember(const Group& group, const std::shared_ptr<const PodInfo>& pod) {
  const std::string why = WaitsFor(group);
  // Of a gang that cannot be placed now no room is kept.
  if (!why.empty()) {
    Withdraw(pod->key, "");
    EndHold(*pod);
  } else if (!world.Assumed(pod->key)) {
    Nominate(pod, NominatedNode(*pod));
  }
  if (why.empty()) {
    if (const auto found = refused.find(pod->key);
        found != refused.end() && !found->second.gated_by.empty()) {
      refused.erase(found);
    }
  } else {
    Refused& said = refused[pod->key];
    said.gated_by = kPlugin;
    said.explanation = {
        .pod = pod->key,
        .before = {{.plugin = std::string(kPlugin), .code = "group_incomplete", .text = why}}};
  }
  queue.Put(pod, /*gated=*/!why.empty());
}

void Scheduler::Impl::EnqueueMember(Group& group, const std::shared_ptr<const PodInfo>& pod) {
  group.held.erase(pod->key);
  PutMember(group, pod);
  AskGroup(group);
}

void Scheduler::Impl::AskGroup(Group& group) {
  const bool ready = WaitsFor(group).empty();
  if (ready == group.ready) return;
  group.ready = ready;
  for (const std::string& key : group.pods) {
    // Those that a plugin holds back stay so, and those in a cycle come back by themselves.
    if (group.held.contains(key) || !queue.Where(key)) continue;
    PutMember(group, world.FindPod(key));
  }
}

void Scheduler::Impl::TellGroup(const std::string& key, bool scheduled, std::string_view reason,
                                std::string message) {
  const auto found = groups.find(key);
  if (found == groups.end() || found->second.object == nullptr) return;
  if (IsSaid(*found->second.object, scheduled, reason, message)) return;
  api::PodGroup next = *found->second.object;
  const auto write = [this, scheduled, reason = std::string(reason), message = std::move(message),
                      next = std::move(next)]() mutable {
    const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::PodGroup>());
    for (int tries = 2; tries > 0; --tries) {
      auto& conditions = next.status.conditions;
      auto it = std::ranges::find(conditions, api::kGroupScheduledCondition, &api::Condition::type);
      if (it == conditions.end()) {
        conditions.push_back({.type = std::string(api::kGroupScheduledCondition)});
        it = std::prev(conditions.end());
      }
      const std::string_view status = scheduled ? "True" : "False";
      if (it->status != status) it->last_transition_time = clock.Now().TruncateToSeconds();
      it->status = status;
      it->reason = reason;
      it->message = message;
      const auto stored = cluster.UpdateStatus(api::Object::Of(next));
      if (stored.ok() || stored.status().code() != StatusCode::kAborted) return;
      const auto read = cluster.Find(kind, next.metadata.namespace_, next.metadata.name);
      if (!read.ok() || !read->has_value()) return;
      next = *(*read)->As<api::PodGroup>();
      if (IsSaid(next, scheduled, reason, message)) return;
    }
  };
  // What cannot be written now is said at the next attempt.
  if (options.background != nullptr) {
    options.background->Run(write);
  } else {
    auto now = write;
    now();
  }
}

}  // namespace dray::scheduler
