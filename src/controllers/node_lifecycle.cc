// SPDX-License-Identifier: Apache-2.0
#include "controllers/node_lifecycle.h"

#include <algorithm>
#include <array>
#include <utility>

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

// Whether something was said that only whoever runs the node can say.
bool Reported(const api::Node& before, const api::Node& after) {
  return std::ranges::any_of(after.status.conditions, [&](const api::NodeCondition& condition) {
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
  if (after == nullptr) return Forget(before->metadata().name);
  const api::Node& node = *after->As<api::Node>();
  Watched& watched = nodes_[node.metadata.name];
  if (before == nullptr) {
    watched.heard = clock().Monotonic();
    ++zones_[watched.zone].nodes;
    // Which of the two was told first is chance.
    const auto* lease = view().Find<api::Lease>(kNodeLeaseNamespace, node.metadata.name);
    if (lease != nullptr) watched.patience = LastsFor(lease->spec);
  } else if (Reported(*before->As<api::Node>(), node)) {
    watched.heard = clock().Monotonic();
  }
  Count(watched, IsSilent(node), ZoneOf(node));
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
  const api::Object& either = after != nullptr ? *after : *before;
  const std::string path =
      fmt::format("{}/{}", either.metadata().namespace_, either.metadata().name);
  const auto node_of = [](const api::Object* pod) {
    return pod == nullptr ? std::string_view() : pod->As<api::Pod>()->spec.node_name;
  };
  if (node_of(before) != node_of(after)) {
    if (!node_of(before).empty()) pods_on_.Remove(node_of(before), path);
    if (!node_of(after).empty()) pods_on_.Add(node_of(after), path);
  }
  // Somebody may have said that it is ready where nobody can know.
  const auto node = nodes_.find(node_of(after));
  if (node != nodes_.end() && node->second.silent) queue().Add(ObjectKey::Of(either));
}

void NodeLifecycle::Count(Watched& watched, bool silent, std::string zone) {
  const bool moved = watched.zone != zone;
  if (!moved && watched.silent == silent) return;
  Zone& left = zones_[watched.zone];
  --left.nodes;
  if (watched.silent) --left.silent;
  if (left.nodes == 0) zones_.erase(watched.zone);
  watched.zone = std::move(zone);
  watched.silent = silent;
  Zone& joined = zones_[watched.zone];
  ++joined.nodes;
  if (silent) ++joined.silent;
  // The pace may be another one now, for everybody who waits.
  for (const auto& [name, other] : nodes_) {
    if (other.silent) queue().Add(ObjectKey::Of<api::Node>("", name));
  }
}

void NodeLifecycle::Forget(std::string_view name) {
  const auto node = nodes_.find(name);
  if (node == nodes_.end()) return;
  Zone& zone = zones_[node->second.zone];
  --zone.nodes;
  if (node->second.silent) --zone.silent;
  if (zone.nodes == 0) zones_.erase(node->second.zone);
  nodes_.erase(node);
}

Status NodeLifecycle::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr) return {};
  const api::Object object = *found;
  if (key.Is<api::Pod>()) return ReconcilePod(object);
  if (!key.Is<api::Node>()) return {};
  const auto watched = nodes_.find(key.name);
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
  const api::Object* now = view().Find(key);
  if (now == nullptr) return {};
  const api::Object marked = *now;
  DRAY_RETURN_IF_ERROR(SetTaints(marked));
  if (!IsSilent(*marked.As<api::Node>())) return {};
  for (const std::string& path : pods_on_.At(key.name)) {
    const auto slash = path.find('/');
    queue().Add(ObjectKey::Of<api::Pod>(path.substr(0, slash), path.substr(slash + 1)));
  }
  return {};
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
  const bool everybody = std::ranges::all_of(
      zones_, [](const auto& entry) { return entry.second.silent == entry.second.nodes; });
  if (everybody) return Pace::kNever;
  // All of one zone, others are well: it is the zone's nodes.
  if (zone.silent == zone.nodes) return Pace::kUsual;
  const bool most = zone.silent > 2 && 100 * zone.silent >= 55 * zone.nodes;
  if (!most) return Pace::kUsual;
  return zone.nodes > options_.large_zone ? Pace::kSlow : Pace::kNever;
}

bool NodeLifecycle::MayEvict(const api::Node& node) {
  const auto watched = nodes_.find(node.metadata.name);
  if (watched == nodes_.end()) return false;
  Zone& zone = zones_[watched->second.zone];
  const Pace pace = PaceOf(zone);
  if (pace == Pace::kNever) return false;
  const auto now = clock().Monotonic();
  if (now < zone.next_eviction) {
    queue().AddAfter(ObjectKey::Of<api::Node>("", node.metadata.name), zone.next_eviction - now);
    return false;
  }
  zone.next_eviction = now + (pace == Pace::kSlow ? options_.between_evictions_when_most_are_silent
                                                  : options_.between_evictions);
  return true;
}

Status NodeLifecycle::SetTaints(const api::Object& object) {
  const api::Node& node = *object.As<api::Node>();
  const base::Time now = clock().Now();
  std::vector<api::Taint> wanted = WantedTaints(node, now);
  if (!wanted.empty() &&
      (wanted[0].key == api::kNotReadyTaint || wanted[0].key == api::kUnreachableTaint)) {
    api::Taint evicting = wanted[0];
    evicting.effect = std::string(api::kTaintEffectNoExecute);
    const bool there = std::ranges::any_of(
        node.spec.taints, [&](const api::Taint& taint) { return Same(taint, evicting); });
    const auto watched = nodes_.find(node.metadata.name);
    const bool never =
        watched == nodes_.end() || PaceOf(zones_[watched->second.zone]) == Pace::kNever;
    // Silent in another way now: the pods' time counts on.
    const auto other = std::ranges::find_if(node.spec.taints, [&](const api::Taint& taint) {
      return IsOurs(taint) && taint.effect == api::kTaintEffectNoExecute && !Same(taint, evicting);
    });
    if (!there && other != node.spec.taints.end()) evicting.time_added = other->time_added;
    if (!never && (there || other != node.spec.taints.end() || MayEvict(node))) {
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
