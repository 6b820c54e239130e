// SPDX-License-Identifier: Apache-2.0
#include "controllers/node_lifecycle.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "api/lease.h"
#include "api/pod.h"
#include "api/pod_conditions.h"
#include "api/resource_slice.h"
#include "controllers/pods.h"
#include "controllers/workload_pods.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";
constexpr std::string_view kUnknown = "Unknown";

// What a kubelet reports and nobody can know when it is silent.
constexpr std::array<std::string_view, 4> kReported = {api::kNodeReadyCondition, "MemoryPressure",
                                                       "DiskPressure", "PIDPressure"};

struct ConditionTaint {
  std::string_view condition;
  std::string_view taint;
};
// Conditions that, when True, keep new pods away.
constexpr std::array<ConditionTaint, 4> kPressures = {{
    {"MemoryPressure", "node.kubernetes.io/memory-pressure"},
    {"DiskPressure", "node.kubernetes.io/disk-pressure"},
    {"PIDPressure", "node.kubernetes.io/pid-pressure"},
    {"NetworkUnavailable", "node.kubernetes.io/network-unavailable"},
}};

std::array<const api::KindInfo*, 3> Kinds() {
  return {&KindOf<api::Node>(), &KindOf<api::Lease>(), &KindOf<api::Pod>()};
}

const api::NodeCondition* FindCondition(const api::Node& node, std::string_view type) {
  const auto& conditions = node.status.conditions;
  const auto it = std::ranges::find(conditions, type, &api::NodeCondition::type);
  return it == conditions.end() ? nullptr : &*it;
}

std::string_view StatusOf(const api::Node& node, std::string_view type) {
  const api::NodeCondition* condition = FindCondition(node, type);
  return condition == nullptr ? kUnknown : std::string_view(condition->status);
}

bool IsSilent(const api::Node& node) {
  const api::NodeCondition* ready = FindCondition(node, api::kNodeReadyCondition);
  return ready != nullptr && ready->status != "True";
}

std::chrono::nanoseconds LastsFor(const api::LeaseSpec& lease) {
  return std::chrono::seconds(std::max(lease.lease_duration_seconds.value_or(0), 1));
}

std::string ZoneOf(const api::Node& node) {
  const std::string* zone = node.metadata.labels.Find(kZoneLabel);
  return zone == nullptr ? std::string() : *zone;
}

// Whether something was said that only whoever runs the node can say; that nobody knows is said here.
bool Reported(const api::Node& before, const api::Node& after) {
  return std::ranges::any_of(after.status.conditions, [&](const api::NodeCondition& condition) {
    if (condition.status == kUnknown) return false;
    const api::NodeCondition* old = FindCondition(before, condition.type);
    return old == nullptr || old->last_heartbeat_time != condition.last_heartbeat_time;
  });
}

bool IsOurs(const api::Taint& taint) {
  if (taint.key == api::kNotReadyTaint || taint.key == api::kUnreachableTaint) {
    return taint.effect == api::kTaintEffectNoSchedule ||
           taint.effect == api::kTaintEffectNoExecute;
  }
  if (taint.effect != api::kTaintEffectNoSchedule) return false;
  return taint.key == api::kUnschedulableTaint ||
         std::ranges::find(kPressures, taint.key, &ConditionTaint::taint) != kPressures.end();
}

bool Same(const api::Taint& a, const api::Taint& b) {
  return a.key == b.key && a.effect == b.effect;
}

// The taints that conditions ask for, apart from those that drive pods away.
std::vector<api::Taint> WantedTaints(const api::Node& node, base::Time now) {
  std::vector<api::Taint> wanted;
  const auto add = [&](std::string_view key) {
    wanted.push_back({.key = std::string(key),
                      .effect = std::string(api::kTaintEffectNoSchedule),
                      .time_added = now.TruncateToSeconds()});
  };
  if (FindCondition(node, api::kNodeReadyCondition) != nullptr) {
    const std::string_view ready = StatusOf(node, api::kNodeReadyCondition);
    if (ready == "False") add(api::kNotReadyTaint);
    if (ready == kUnknown) add(api::kUnreachableTaint);
  }
  for (const ConditionTaint& pressure : kPressures) {
    if (StatusOf(node, pressure.condition) == "True") add(pressure.taint);
  }
  if (node.spec.unschedulable) add(api::kUnschedulableTaint);
  return wanted;
}

}  // namespace

NodeLifecycle::NodeLifecycle(const Source& source, const base::Clock& clock,
                             NodeLifecycleOptions options)
    : Reconciler(source, clock, Kinds()), options_(options) {}

void NodeLifecycle::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  if (either.As<api::Node>() != nullptr) return OnNode(before, after);
  if (either.As<api::Lease>() != nullptr) return OnLease(before, after);
  OnPod(before, after);
}

void NodeLifecycle::OnNode(const api::Object* before, const api::Object* after) {
  if (after == nullptr) {
    const auto gone = nodes_.find(before->metadata().name);
    if (gone == nodes_.end()) return;
    Count(gone->first, gone->second, false, std::nullopt);
    nodes_.erase(gone);
    return;
  }
  const api::Node& node = *after->As<api::Node>();
  Watched& watched = nodes_[node.metadata.name];
  if (before == nullptr) {
    watched.heard = clock().Monotonic();
    // Which of the two was told first is chance.
    const auto* lease = view().Find<api::Lease>(kNodeLeaseNamespace, node.metadata.name);
    if (lease != nullptr) watched.patience = LastsFor(lease->spec);
  } else if (Reported(*before->As<api::Node>(), node)) {
    watched.heard = clock().Monotonic();
  }
  Count(node.metadata.name, watched, IsSilent(node), ZoneOf(node));
  queue().Add(ObjectKey::Of(*after));
}

void NodeLifecycle::OnLease(const api::Object* before, const api::Object* after) {
  if (after == nullptr || after->metadata().namespace_ != kNodeLeaseNamespace) return;
  const auto node = nodes_.find(after->metadata().name);
  if (node == nodes_.end()) return;
  const api::LeaseSpec& lease = after->As<api::Lease>()->spec;
  const bool first =
      std::exchange(node->second.patience, LastsFor(lease)) == std::chrono::nanoseconds(0);
  if (before == nullptr || before->As<api::Lease>()->spec.renew_time != lease.renew_time) {
    node->second.heard = clock().Monotonic();
  }
  // From now on somebody has promised to report. Later renewals only move the time at which it is
  // looked at, which is found out then.
  if (first) queue().Add(ObjectKey::Of<api::Node>("", after->metadata().name));
}

void NodeLifecycle::OnPod(const api::Object* before, const api::Object* after) {
  pods_.OnChange(before, after);
  // Somebody may have said that it is ready where nobody can know.
  const auto node = nodes_.find(NodeOf(after));
  if (node != nodes_.end() && node->second.silent) {
    queue().Add(ObjectKey::Of(after != nullptr ? *after : *before));
  }
}

void NodeLifecycle::Count(std::string_view name, Watched& watched, bool silent,
                          std::optional<std::string> zone) {
  if (watched.zone == zone && watched.silent == silent) return;
  LeaveLine(watched);
  const bool nobody_was_heard = NobodyIsHeard();
  const auto left = watched.zone ? zones_.find(*watched.zone) : zones_.end();
  const auto joined = zone ? zones_.try_emplace(*zone).first : zones_.end();
  const auto never = [this](auto found) {
    return found != zones_.end() && PaceOf(found->second) == Pace::kNever;
  };
  const bool left_was_stopped = never(left);
  const bool joined_was_stopped = never(joined);
  if (left != zones_.end()) {
    --counted_;
    --left->second.nodes;
    silent_ -= left->second.silent.erase(std::string(name));
  }
  if (joined != zones_.end()) {
    ++counted_;
    ++joined->second.nodes;
    if (silent && joined->second.silent.emplace(name).second) ++silent_;
  }
  const bool fell_silent = silent && !watched.silent;
  watched.zone = std::move(zone);
  watched.silent = silent;

  // That nobody can say any more whether its pods are ready is news once for each of them.
  if (fell_silent) {
    for (const ObjectKey& pod : pods_.On(name)) queue().Add(pod);
  }
  // Whether anybody may be driven away at all may have changed for all who are silent. How fast
  // makes no difference to them before it is their turn.
  const auto look_again = [this](const Zone& changed) {
    for (const std::string& node : changed.silent) queue().Add(ObjectKey::Of<api::Node>("", node));
  };
  if (nobody_was_heard != NobodyIsHeard()) {
    for (const auto& [_, changed] : zones_) look_again(changed);
  } else {
    if (never(left) != left_was_stopped) look_again(left->second);
    if (joined != left && never(joined) != joined_was_stopped) look_again(joined->second);
  }
  if (left != zones_.end() && left->second.nodes == 0) zones_.erase(left);
}

Status NodeLifecycle::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr) return {};
  const api::Object object = *found;
  if (key.Is<api::Pod>()) return ReconcilePod(object);
  if (!key.Is<api::Node>()) return {};
  Status done = ReconcileNode(key, object);
  // Nobody waits for one that cannot be written: it joins the line again when it is tried again.
  const auto watched = nodes_.find(key.name);
  if (!done.ok() && watched != nodes_.end()) LeaveLine(watched->second);
  return done;
}

Status NodeLifecycle::ReconcileNode(const ObjectKey& key, const api::Object& object) {
  auto watched = nodes_.find(key.name);
  if (watched == nodes_.end()) return {};
  if (watched->second.patience > std::chrono::nanoseconds(0)) {
    const std::chrono::nanoseconds patience =
        std::max<std::chrono::nanoseconds>(options_.grace, watched->second.patience);
    const auto due = watched->second.heard + patience;
    if (clock().Monotonic() < due) {
      queue().AddAfter(key, due - clock().Monotonic());
    } else {
      DRAY_RETURN_IF_ERROR(MarkUnknown(object));
    }
  }
  // What was written may have shown that it is gone, or another one.
  const api::Object* now = view().Find(key);
  watched = nodes_.find(key.name);
  if (now == nullptr || watched == nodes_.end()) return {};
  const api::Object marked = *now;
  return SetTaints(marked, watched->second);
}

// What was never reported is Unknown for another reason than what is not reported any more.
Status NodeLifecycle::MarkUnknown(const api::Object& object) {
  const base::Time now = clock().Now();
  bool was_ready = false;
  const Status written = view().EditStatus(object, [&](api::Object& edited) {
    was_ready = StatusOf(*edited.As<api::Node>(), api::kNodeReadyCondition) == "True";
    api::Node& node = *edited.Mutable<api::Node>();
    auto& conditions = node.status.conditions;
    bool changed = false;
    for (const std::string_view type : kReported) {
      const auto it = std::ranges::find(conditions, type, &api::NodeCondition::type);
      if (it == conditions.end()) {
        conditions.push_back({.type = std::string(type),
                              .status = std::string(kUnknown),
                              .last_heartbeat_time = node.metadata.creation_timestamp,
                              .last_transition_time = now.TruncateToSeconds(),
                              .reason = "NodeStatusNeverUpdated",
                              .message = "Kubelet never posted node status."});
        changed = true;
      } else if (it->status != kUnknown) {
        it->status = kUnknown;
        it->reason = "NodeStatusUnknown";
        it->message = "Kubelet stopped posting node status.";
        it->last_transition_time = now.TruncateToSeconds();
        changed = true;
      }
    }
    return changed;
  });
  if (written.code() == StatusCode::kNotFound) return {};
  DRAY_RETURN_IF_ERROR(written);
  if (was_ready) {
    Tell(view(), object,
         {.component = name(),
          .reason = "NodeNotReady",
          .message = fmt::format("Node {} status is now: NodeNotReady", object.metadata().name)});
  }
  return {};
}

NodeLifecycle::Pace NodeLifecycle::PaceOf(const Zone& zone) const {
  if (NobodyIsHeard()) return Pace::kNever;
  // All of one zone, others are well: it is the zone's nodes.
  const std::size_t silent = zone.silent.size();
  if (silent == zone.nodes) return Pace::kUsual;
  const bool most = silent > 2 && 100 * silent >= 55 * zone.nodes;
  if (!most) return Pace::kUsual;
  return zone.nodes > options_.large_zone ? Pace::kSlow : Pace::kNever;
}

bool NodeLifecycle::MayEvict(std::string_view name, Watched& watched) {
  Zone& zone = zones_.find(*watched.zone)->second;
  if (!watched.turn) {
    watched.turn = turns_++;
    zone.line.emplace(*watched.turn, name);
  }
  if (zone.line.begin()->first != *watched.turn) return false;
  const auto now = clock().Monotonic();
  if (now < zone.next_eviction) {
    CallFirst(zone);
    return false;
  }
  zone.next_eviction =
      now + (PaceOf(zone) == Pace::kSlow ? options_.between_evictions_when_most_are_silent
                                         : options_.between_evictions);
  LeaveLine(watched);
  return true;
}

void NodeLifecycle::LeaveLine(Watched& watched) {
  if (!watched.turn) return;
  Zone& zone = zones_.find(*watched.zone)->second;
  const auto place = zone.line.find(*std::exchange(watched.turn, std::nullopt));
  const bool first = place == zone.line.begin();
  zone.line.erase(place);
  if (first) CallFirst(zone);
}

void NodeLifecycle::CallFirst(const Zone& zone) {
  if (zone.line.empty()) return;
  queue().AddAfter(ObjectKey::Of<api::Node>("", zone.line.begin()->second),
                   zone.next_eviction - clock().Monotonic());
}

Status NodeLifecycle::SetTaints(const api::Object& object, Watched& watched) {
  const api::Node& node = *object.As<api::Node>();
  const base::Time now = clock().Now();
  std::vector<api::Taint> wanted = WantedTaints(node, now);
  if (!wanted.empty() &&
      (wanted[0].key == api::kNotReadyTaint || wanted[0].key == api::kUnreachableTaint)) {
    api::Taint evicting = wanted[0];
    evicting.effect = std::string(api::kTaintEffectNoExecute);
    const bool there = std::ranges::any_of(
        node.spec.taints, [&](const api::Taint& taint) { return Same(taint, evicting); });
    // Silent in another way now: the pods' time counts on.
    const auto other = std::ranges::find_if(node.spec.taints, [&](const api::Taint& taint) {
      return IsOurs(taint) && taint.effect == api::kTaintEffectNoExecute && !Same(taint, evicting);
    });
    const bool has_one = there || other != node.spec.taints.end();
    if (!there && other != node.spec.taints.end()) evicting.time_added = other->time_added;
    const bool never = PaceOf(zones_.find(*watched.zone)->second) == Pace::kNever;
    if (never || has_one) LeaveLine(watched);
    if (!never && (has_one || MayEvict(node.metadata.name, watched))) {
      wanted.push_back(std::move(evicting));
    }
  }
  const Status written = view().EditObject(object, [&](api::Object& edited) {
    std::vector<api::Taint> next;
    const std::vector<api::Taint>& taints = edited.As<api::Node>()->spec.taints;
    const auto same_as = [](const api::Taint& one) {
      return [&one](const api::Taint& other) { return Same(one, other); };
    };
    // What is there stays as it is, with the time since when.
    for (const api::Taint& taint : taints) {
      if (!IsOurs(taint) || std::ranges::any_of(wanted, same_as(taint))) next.push_back(taint);
    }
    for (const api::Taint& taint : wanted) {
      if (std::ranges::none_of(next, same_as(taint))) next.push_back(taint);
    }
    if (next == taints) return false;
    edited.Mutable<api::Node>()->spec.taints = std::move(next);
    return true;
  });
  return written.code() == StatusCode::kNotFound ? Status() : written;
}

// Nobody knows whether it is ready, so that nobody should be sent there.
Status NodeLifecycle::ReconcilePod(const api::Object& object) {
  const api::Pod& pod = *object.As<api::Pod>();
  const auto* node = view().Find<api::Node>("", pod.spec.node_name);
  if (node == nullptr || !IsSilent(*node) || IsTerminal(pod)) return {};
  if (!ReadySince(pod)) return {};
  const base::Time now = clock().Now();
  const Status written = view().EditStatus(object, [&](api::Object& edited) {
    if (!ReadySince(*edited.As<api::Pod>())) return false;
    auto& conditions = edited.Mutable<api::Pod>()->status.conditions;
    const auto ready =
        std::ranges::find(conditions, api::kPodReadyCondition, &api::PodCondition::type);
    if (ready == conditions.end()) return false;
    ready->status = "False";
    ready->last_transition_time = now.TruncateToSeconds();
    return true;
  });
  if (written.code() == StatusCode::kNotFound) return {};
  DRAY_RETURN_IF_ERROR(written);
  Tell(view(), object,
       {.component = name(),
        .warning = true,
        .reason = "NodeNotReady",
        .message = "Node is not ready"});
  return {};
}

}  // namespace dray::controllers
