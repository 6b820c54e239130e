// SPDX-License-Identifier: Apache-2.0
#include "hollow/hollow_nodes.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "api/lease.h"
#include "api/pod_claims.h"
#include "api/resource_claim.h"
#include "controllers/node_lifecycle.h"
#include "controllers/pods.h"
#include "hollow/pod_life.h"

namespace dray::hollow {
namespace {

using controllers::KindOf;
using controllers::ObjectKey;

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kDefaultCapacity = {{
    {api::kResourceCpu, "32"},
    {api::kResourceMemory, "128Gi"},
    {api::kResourcePods, "110"},
    {api::kResourceEphemeralStorage, "100Gi"},
}};

std::array<const api::KindInfo*, 4> Kinds() {
  return {&KindOf<api::Node>(), &KindOf<api::Lease>(), &KindOf<api::Pod>(),
          &KindOf<api::ResourceClaim>()};
}

// Leases that last four renewals survive three that fail.
constexpr int kRenewalsPerLease = 4;
constexpr std::size_t kRenewalsPerSecond = 10;

// Names of pods and claims have no '/'.
std::string PathOf(const api::ObjectMeta& metadata) {
  return metadata.namespace_ + "/" + metadata.name;
}
ObjectKey PodAt(const std::string& path) {
  const auto slash = path.find('/');
  return ObjectKey::Of<api::Pod>(path.substr(0, slash), path.substr(slash + 1));
}

api::NodeCondition& ConditionOf(api::Node& node, std::string_view type) {
  auto& conditions = node.status.conditions;
  const auto it = std::ranges::find(conditions, type, &api::NodeCondition::type);
  if (it != conditions.end()) return *it;
  conditions.push_back({.type = std::string(type)});
  return conditions.back();
}

const api::NodeCondition* FindReady(const api::Node& node) {
  const auto& conditions = node.status.conditions;
  const auto it =
      std::ranges::find(conditions, api::kNodeReadyCondition, &api::NodeCondition::type);
  return it == conditions.end() ? nullptr : &*it;
}

constexpr std::string_view kRuntime = "hollow://1";

// Who says that it has another runtime has a kubelet.
bool IsHollow(const api::Node& node) {
  const std::string* label = node.metadata.labels.Find(kHollowLabel);
  if (label != nullptr && *label == "false") return false;
  const std::string& runtime = node.status.node_info.container_runtime_version;
  return runtime.empty() || runtime == kRuntime;
}

// Labels that a kubelet gives its node, and that pods choose nodes and spread by.
constexpr std::string_view kOs = "linux";
constexpr std::string_view kArchitecture = "amd64";
std::array<std::pair<std::string_view, std::string_view>, 3> OwnLabels(const api::Node& node) {
  return {{{api::kHostnameLabel, node.metadata.name},
           {"kubernetes.io/os", kOs},
           {"kubernetes.io/arch", kArchitecture}}};
}
// What somebody has put there stays. Whether there was something to do.
bool AddOwnLabels(api::Node& node) {
  bool added = false;
  for (const auto& [key, value] : OwnLabels(node)) {
    if (node.metadata.labels.contains(key)) continue;
    node.metadata.labels[key] = value;
    added = true;
  }
  return added;
}
bool HasOwnLabels(const api::Node& node) {
  return std::ranges::all_of(OwnLabels(node), [&](const auto& label) {
    return node.metadata.labels.contains(label.first);
  });
}

void FillIn(api::Node& node, const HollowOptions& options) {
  api::NodeStatus& status = node.status;
  if (status.capacity.empty()) {
    for (const auto& [name, amount] : kDefaultCapacity) {
      status.capacity[name] = *base::Quantity::Parse(amount);
    }
  }
  if (status.allocatable.empty()) status.allocatable = status.capacity;
  status.addresses = {{.type = "Hostname", .address = node.metadata.name}};
  api::NodeSystemInfo& info = status.node_info;
  info.kubelet_version = options.version;
  info.container_runtime_version = kRuntime;
  info.os_image = "none";
  info.operating_system = kOs;
  info.architecture = kArchitecture;
}

}  // namespace

HollowNodes::HollowNodes(const controllers::Source& source, const base::Clock& clock,
                         HollowOptions options)
    : Reconciler(source, clock, Kinds()), options_(std::move(options)) {}

void HollowNodes::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  // Time alone brings the next renewal; somebody may have deleted it.
  if (either.As<api::Lease>() != nullptr) {
    if (after == nullptr && either.metadata().namespace_ == controllers::kNodeLeaseNamespace) {
      queue().Add(ObjectKey::Of<api::Node>("", either.metadata().name));
    }
    return;
  }
  const std::string path = PathOf(either.metadata());
  if (either.As<api::Node>() != nullptr) {
    if (before == nullptr) ++nodes_;
    if (after == nullptr) --nodes_;
    if (after == nullptr) return;
    queue().Add(ObjectKey::Of(either));
    if (before != nullptr) return;
    for (const std::string& pod : pods_on_.At(either.metadata().name)) queue().Add(PodAt(pod));
    return;
  }
  if (either.As<api::ResourceClaim>() != nullptr) {
    for (const std::string& pod : waiting_for_.At(path)) queue().Add(PodAt(pod));
    return;
  }
  const auto each_claim = [&](const api::Pod& pod, auto&& use) {
    const api::ClaimsOfPod claims(pod);
    for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
      const auto name = claims.NameOf(entry);
      if (name) use(pod.metadata.namespace_ + "/" + std::string(*name));
    }
  };
  if (before != nullptr && !before->As<api::Pod>()->spec.node_name.empty()) {
    const api::Pod& pod = *before->As<api::Pod>();
    pods_on_.Remove(pod.spec.node_name, path);
    each_claim(pod, [&](const std::string& claim) { waiting_for_.Remove(claim, path); });
  }
  if (after == nullptr || after->As<api::Pod>()->spec.node_name.empty()) return;
  const api::Pod& pod = *after->As<api::Pod>();
  pods_on_.Add(pod.spec.node_name, path);
  if (!IsRunning(pod) && !controllers::IsTerminal(pod)) {
    each_claim(pod, [&](const std::string& claim) { waiting_for_.Add(claim, path); });
  }
  queue().Add(ObjectKey::Of(*after));
}

Status HollowNodes::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr) return {};
  const api::Object object = *found;
  return key.Is<api::Node>() ? ReconcileNode(object) : ReconcilePod(object);
}

Status HollowNodes::ReconcileNode(const api::Object& object) {
  const api::Node& node = *object.As<api::Node>();
  if (!IsHollow(node)) return {};
  DRAY_RETURN_IF_ERROR(ReconcileLease(object));
  if (!HasOwnLabels(node)) {
    DRAY_RETURN_IF_ERROR(view().EditObject(
        object, [](api::Object& edited) { return AddOwnLabels(*edited.Mutable<api::Node>()); }));
    const api::Object* labelled = view().Find(ObjectKey::Of(object));
    if (labelled == nullptr) return {};
    const api::Object now_labelled = *labelled;
    return ReconcileStatus(now_labelled);
  }
  return ReconcileStatus(object);
}

// Nodes that were made together do not write together.
std::chrono::seconds HollowNodes::Spread(std::chrono::seconds every, const std::string& name) {
  return every - std::chrono::seconds(std::hash<std::string>()(name) % (every.count() / 2 + 1));
}

std::chrono::seconds HollowNodes::AtMost(std::chrono::seconds every) const {
  return std::max(every, std::chrono::seconds(nodes_ / kRenewalsPerSecond));
}

Status HollowNodes::ReconcileStatus(const api::Object& object) {
  const api::Node& node = *object.As<api::Node>();
  const base::Time now = clock().Now();
  const std::chrono::seconds every = AtMost(options_.heartbeat);
  const std::chrono::seconds heartbeat =
      every == options_.heartbeat ? every : Spread(every, node.metadata.name);
  const api::NodeCondition* ready = FindReady(node);
  const bool fresh = ready != nullptr && ready->status == "True" && ready->last_heartbeat_time &&
                     now < *ready->last_heartbeat_time + heartbeat;
  if (fresh && !node.status.allocatable.empty()) {
    queue().AddAfter(ObjectKey::Of(object), *ready->last_heartbeat_time + heartbeat - now);
    return {};
  }
  queue().AddAfter(ObjectKey::Of(object), heartbeat);
  return view().EditStatus(object, [&](api::Object& edited) {
    api::Node& next = *edited.Mutable<api::Node>();
    FillIn(next, options_);
    api::NodeCondition& condition = ConditionOf(next, api::kNodeReadyCondition);
    if (condition.status != "True" || !condition.last_transition_time) {
      condition.last_transition_time = now.TruncateToSeconds();
    }
    condition.status = "True";
    condition.reason = "KubeletReady";
    condition.message = "simulated node is ready";
    condition.last_heartbeat_time = now.TruncateToSeconds();
    return true;
  });
}

Status HollowNodes::ReconcileLease(const api::Object& node) {
  const std::string& name = node.metadata().name;
  const std::chrono::seconds every = AtMost(options_.renewal);
  const std::chrono::seconds due_after = Spread(every, name);
  const base::Time now = clock().Now();
  const auto renew = [&](api::LeaseSpec& lease) {
    lease.holder_identity = name;
    lease.lease_duration_seconds = static_cast<std::int32_t>(kRenewalsPerLease * every.count());
    lease.renew_time = api::MicroTime{now};
  };
  const ObjectKey key = ObjectKey::Of<api::Lease>(controllers::kNodeLeaseNamespace, name);
  const api::Object* found = view().Find(key);
  if (found == nullptr) {
    queue().AddAfter(ObjectKey::Of(node), due_after);
    api::Lease lease;
    lease.metadata.namespace_ = std::string(controllers::kNodeLeaseNamespace);
    lease.metadata.name = name;
    lease.metadata.owner_references.push_back(
        {.api_version = "v1", .kind = "Node", .name = name, .uid = node.metadata().uid});
    renew(lease.spec);
    const Status made = view().Create(api::Object::Of(std::move(lease))).status();
    // Somebody was faster, or there is no place for leases here: it is asked again at its time.
    const bool fine = made.ok() || made.code() == StatusCode::kAlreadyExists ||
                      made.code() == StatusCode::kNotFound;
    return fine ? Status() : made;
  }
  const auto& renewed = found->As<api::Lease>()->spec.renew_time;
  const base::Time due = renewed ? renewed->time + due_after : now;
  if (now < due) {
    queue().AddAfter(ObjectKey::Of(node), due - now);
    return {};
  }
  queue().AddAfter(ObjectKey::Of(node), due_after);
  const api::Object lease = *found;
  const Status written = view().EditObject(lease, [&](api::Object& edited) {
    renew(edited.Mutable<api::Lease>()->spec);
    return true;
  });
  return written.code() == StatusCode::kNotFound ? Status() : written;
}

bool HollowNodes::RunsHere(const api::Pod& pod) const {
  if (pod.spec.node_name.empty()) return false;
  const auto* node = view().Find<api::Node>("", pod.spec.node_name);
  return node != nullptr && IsHollow(*node);
}

bool HollowNodes::HasItsClaims(const api::Pod& pod) const {
  const api::ClaimsOfPod claims(pod);
  return std::ranges::all_of(pod.spec.resource_claims, [&](const api::PodResourceClaim& entry) {
    const auto name = claims.NameOf(entry);
    // Nothing may be behind an entry on purpose; a template whose claim is not made yet is not
    // that.
    if (!name) return claims.FindStatus(entry) != nullptr;
    const auto* claim = view().Find<api::ResourceClaim>(pod.metadata.namespace_, *name);
    return claim != nullptr && claim->status.allocation.has_value() &&
           api::ReservedFor(*claim, pod);
  });
}

Status HollowNodes::SetStatus(const api::Object& object, void (*change)(api::Pod&, base::Time)) {
  const base::Time now = clock().Now();
  const Status written = view().EditStatus(object, [&](api::Object& edited) {
    if (controllers::IsTerminal(*edited.As<api::Pod>())) return false;
    change(*edited.Mutable<api::Pod>(), now);
    return true;
  });
  return written.code() == StatusCode::kNotFound ? Status() : written;
}

// A hollow container ends as soon as it is told. The end is written before the pod goes, so that
// owners can count it.
Status HollowNodes::Terminate(const api::Object& object) {
  if (!controllers::IsTerminal(*object.As<api::Pod>())) {
    DRAY_RETURN_IF_ERROR(
        SetStatus(object, [](api::Pod& pod, base::Time now) { End(pod, 0, now); }));
  }
  return view().Delete(object);
}

Status HollowNodes::ReconcilePod(const api::Object& object) {
  const api::Pod& pod = *object.As<api::Pod>();
  if (!RunsHere(pod)) return {};
  if (pod.metadata.deletion_timestamp) return Terminate(object);
  if (controllers::IsTerminal(pod)) return {};
  if (!IsRunning(pod)) {
    if (!HasItsClaims(pod)) return {};
    return SetStatus(object, Start);
  }
  const auto end = EndOf(pod);
  if (!end) return {};
  const base::Time now = clock().Now();
  if (now < *end) {
    queue().AddAfter(ObjectKey::Of(object), *end - now);
    return {};
  }
  return SetStatus(object, EndOrRestart);
}

}  // namespace dray::hollow
