// SPDX-License-Identifier: Apache-2.0
//
// World: pods, where they count, and their priorities.
#include <algorithm>
#include <limits>
#include <utility>

#include "api/pod_claims.h"
#include "base/check.h"
#include "scheduler/internal/world_impl.h"

namespace dray::scheduler {
namespace {

constexpr std::int32_t kSystemClusterCritical = 2'000'000'000;
constexpr std::int32_t kSystemNodeCritical = 2'000'001'000;

// Whether a node with the one is to everybody as a node with the other.
bool CountsAlike(const PodInfo& a, const PodInfo& b) {
  return a.requests == b.requests && a.non_zero == b.non_zero && a.host_ports == b.host_ports &&
         a.priority == b.priority && a.pod->metadata.uid == b.pod->metadata.uid &&
         a.pod->metadata.labels == b.pod->metadata.labels &&
         a.pod->metadata.deletion_timestamp == b.pod->metadata.deletion_timestamp &&
         a.pod->spec.affinity == b.pod->spec.affinity;
}

std::int32_t LowestPriority(const NodeInfo& node) {
  std::int32_t lowest = std::numeric_limits<std::int32_t>::max();
  for (const auto& pod : node.pods) lowest = std::min(lowest, pod->priority);
  return lowest;
}

}  // namespace

void World::Impl::Count(NodeEntry& node, const std::shared_ptr<const PodInfo>& pod) {
  NodeInfo& info = node.info;
  info.pods.push_back(pod);
  info.requested.Add(pod->requests);
  info.non_zero.Add(pod->non_zero);
  info.ports.insert(info.ports.end(), pod->host_ports.begin(), pod->host_ports.end());
  info.lowest_priority = std::min(info.lowest_priority, pod->priority);
  info.pods_with_affinity += pod->has_affinity ? 1 : 0;
  info.pods_with_anti_affinity += pod->has_required_anti_affinity ? 1 : 0;
  with_affinity += pod->has_affinity ? 1 : 0;
  with_anti_affinity += pod->has_required_anti_affinity ? 1 : 0;
  Touch(info, /*eases=*/false);
}

void World::Impl::Discount(NodeEntry& node, const PodInfo& pod) {
  NodeInfo& info = node.info;
  const auto at = std::ranges::find(info.pods, &pod, &std::shared_ptr<const PodInfo>::get);
  DRAY_CHECK(at != info.pods.end(), "a pod is not where it counts");
  // `pod` may live no longer than this list's pointer to it.
  const std::shared_ptr<const PodInfo> keep = std::move(*at);
  info.pods.erase(at);
  info.requested.Subtract(pod.requests);
  info.non_zero.Subtract(pod.non_zero);
  for (const HostPort& port : pod.host_ports) {
    const auto found = std::ranges::find(info.ports, port);
    if (found != info.ports.end()) info.ports.erase(found);
  }
  if (pod.priority == info.lowest_priority) info.lowest_priority = LowestPriority(info);
  info.pods_with_affinity -= pod.has_affinity ? 1 : 0;
  info.pods_with_anti_affinity -= pod.has_required_anti_affinity ? 1 : 0;
  with_affinity -= pod.has_affinity ? 1 : 0;
  with_anti_affinity -= pod.has_required_anti_affinity ? 1 : 0;
  Touch(info);
}

// The pod as `info` says, counted on `to` and nowhere else.
void World::Impl::PlacePod(PodEntry& entry, std::shared_ptr<const PodInfo> info, NodeEntry* to) {
  NodeEntry* const from = std::exchange(entry.on, to);
  if (from != nullptr) Discount(*from, *entry.info);
  entry.info = std::move(info);
  if (to != nullptr) Count(*to, entry.info);
  if (from != nullptr && from != to) DropIfUnused(*from);
}

void World::Impl::SetAssumed(PodEntry& entry, bool assumed) {
  if (entry.assumed == assumed) return;
  entry.assumed = assumed;
  assumed ? ++assumed_pods : --assumed_pods;
}

void World::Impl::PutPod(std::shared_ptr<const api::Pod> pod) {
  const std::string key = KeyOf(*pod);
  const std::string node = IsTerminated(*pod) ? std::string() : pod->spec.node_name;
  const bool bound = !pod->spec.node_name.empty();
  PodEntry& entry = pods[key];
  if (entry.info != nullptr) IndexPod(*entry.info->pod, key, false);
  IndexPod(*pod, key, true);

  // Another pod of the same name: what was assumed was the old one.
  const bool other = entry.info != nullptr && entry.info->pod->metadata.uid != pod->metadata.uid;
  const bool stays_assumed = entry.assumed && !bound && !other && !IsTerminated(*pod);
  if (!stays_assumed) entry.claims_take.clear();
  auto info = InfoOf(std::move(pod), entry.claims_take);
  const bool same_place =
      entry.on != nullptr && (stays_assumed || (!node.empty() && entry.on->name == node));
  SetAssumed(entry, stays_assumed);
  if (same_place && CountsAlike(*entry.info, *info)) {
    // Usually what was assumed has been stored. Nothing to be decided anew, so no new version.
    auto& pods_there = entry.on->info.pods;
    *std::ranges::find(pods_there, entry.info) = info;
    entry.info = std::move(info);
    return;
  }
  NodeEntry* to = nullptr;
  if (same_place) {
    to = entry.on;
  } else if (!node.empty()) {
    to = &EntryOf(node);
  }
  PlacePod(entry, std::move(info), to);
}

// What a pod without a node has in its status is left from an attempt that failed.
std::shared_ptr<const PodInfo> World::Impl::InfoOf(std::shared_ptr<const api::Pod> pod,
                                                   const NodeAllocatable& claims_take) {
  const std::int32_t priority = world.PriorityOf(*pod);
  if (claims_take.empty()) {
    const bool counts = !pod->spec.node_name.empty() &&
                        world.gates().Enabled(api::Gate::kDRANodeAllocatableResources);
    return PodInfo::From(std::move(pod), world.resource_names_, priority, counts);
  }
  auto with_claims = std::make_shared<api::Pod>(*pod);
  with_claims->status.node_allocatable_resource_claim_statuses = claims_take;
  auto info = std::make_shared<PodInfo>(
      *PodInfo::From(std::move(with_claims), world.resource_names_, priority, true));
  info->pod = std::move(pod);  // as it is stored
  return info;
}

void World::Impl::RemovePod(std::string_view key) {
  const auto found = pods.find(key);
  if (found == pods.end()) return;
  IndexPod(*found->second.info->pod, found->first, false);
  SetAssumed(found->second, false);
  PlacePod(found->second, found->second.info, nullptr);
  pods.erase(found);
}

void World::Impl::IndexPod(const api::Pod& pod, const std::string& key, bool add) {
  const auto mark_in = [&](auto& index, std::string name) {
    if (add) {
      index[std::move(name)].insert(key);
      return;
    }
    const auto found = index.find(name);
    if (found == index.end()) return;
    found->second.erase(key);
    if (found->second.empty()) index.erase(found);
  };
  if (const std::string group = GroupKeyOf(pod); !group.empty()) mark_in(pods_of_group, group);
  const auto mark = [&](const std::string& claim) {
    mark_in(pods_of_claim, pod.metadata.namespace_ + "/" + claim);
  };
  for (const api::PodResourceClaim& claim : pod.spec.resource_claims) {
    if (claim.resource_claim_name) mark(*claim.resource_claim_name);
  }
  if (pod.status.resource_claim_statuses) {
    for (const api::PodResourceClaimStatus& status : *pod.status.resource_claim_statuses) {
      if (status.resource_claim_name) mark(*status.resource_claim_name);
    }
  }
  if (pod.status.extended_resource_claim_status) {
    mark(pod.status.extended_resource_claim_status->resource_claim_name);
  }
}

std::string World::Impl::GroupKeyOf(const api::Pod& pod) const {
  const std::string_view name = api::GroupNameOf(pod);
  if (name.empty() || !world.gates().Enabled(api::Gate::kGenericWorkload)) return {};
  return pod.metadata.namespace_ + "/" + std::string(name);
}

std::shared_ptr<const api::PodGroup> World::GroupOf(const api::Pod& pod) const {
  const auto found = impl_->groups.find(impl_->GroupKeyOf(pod));
  return found == impl_->groups.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<const PodInfo>> World::PlacedOfGroup(const api::Pod& pod) const {
  std::vector<std::shared_ptr<const PodInfo>> placed;
  const auto found = impl_->pods_of_group.find(impl_->GroupKeyOf(pod));
  if (found == impl_->pods_of_group.end()) return placed;
  for (const std::string& key : found->second) {
    if (!NodeOf(key).empty()) placed.push_back(FindPod(key));
  }
  return placed;
}

// Priorities are numbers in the pods of a server with admission. Without one, as in files, they
// follow the classes whenever those come.
void World::Impl::PriorityClassesChanged() {
  std::vector<std::shared_ptr<const api::Pod>> changed;
  for (const auto& [key, entry] : pods) {
    if (!entry.info->pod->spec.priority &&
        world.PriorityOf(*entry.info->pod) != entry.info->priority) {
      changed.push_back(entry.info->pod);
    }
  }
  // By name, so that versions do not depend on the order of a hash table.
  std::ranges::sort(changed, {}, [](const auto& pod) { return KeyOf(*pod); });
  for (auto& pod : changed) PutPod(std::move(pod));
}

std::shared_ptr<const PodInfo> World::FindPod(std::string_view key) const {
  const auto found = impl_->pods.find(key);
  return found == impl_->pods.end() ? nullptr : found->second.info;
}

void World::Assume(const std::shared_ptr<const PodInfo>& pod, NodeInfo& node) {
  Impl::PodEntry& entry = impl_->pods[pod->key];
  if (entry.info == nullptr) impl_->IndexPod(*pod->pod, pod->key, true);
  impl_->SetAssumed(entry, true);
  impl_->PlacePod(entry, entry.info == nullptr ? pod : entry.info, impl_->nodes[node.index].get());
}

void World::Forget(std::string_view pod_key) {
  const auto found = impl_->pods.find(pod_key);
  if (found == impl_->pods.end() || !found->second.assumed) return;
  impl_->SetAssumed(found->second, false);
  impl_->PlacePod(found->second, found->second.info, nullptr);
}

void World::SetAside(std::string_view pod_key) {
  const auto found = impl_->pods.find(pod_key);
  if (found == impl_->pods.end() || found->second.on == nullptr) return;
  Impl::PodEntry& entry = found->second;
  const std::string node = entry.on->name;
  impl_->order_before.try_emplace(node, entry.on->info.pods);
  impl_->aside.emplace(pod_key, node);
  impl_->PlacePod(entry, entry.info, nullptr);
}

void World::BringBack(std::string_view pod_key) {
  const auto at = impl_->aside.find(pod_key);
  if (at == impl_->aside.end()) return;
  const std::string node = std::move(at->second);
  impl_->aside.erase(at);
  Impl::PodEntry& entry = impl_->pods.find(pod_key)->second;
  impl_->PlacePod(entry, entry.info, &impl_->EntryOf(node));
  // As if it had never been away: of equals the first on a node decides here and there.
  const auto before = impl_->order_before.find(node);
  const bool all_back = std::ranges::all_of(
      before->second, [&](const auto& pod) { return !impl_->aside.contains(pod->key); });
  if (!all_back) return;
  absl::flat_hash_map<const PodInfo*, std::size_t> places;
  for (const auto& pod : before->second) places.emplace(pod.get(), places.size());
  std::ranges::stable_sort(entry.on->info.pods, {}, [&](const auto& pod) {
    const auto known = places.find(pod.get());
    return known == places.end() ? places.size() : known->second;
  });
  impl_->order_before.erase(before);
}

void World::SetNodeAllocatable(std::string_view pod_key, NodeAllocatable claims_take) {
  const auto found = impl_->pods.find(pod_key);
  if (found == impl_->pods.end()) return;
  Impl::PodEntry& entry = found->second;
  if (entry.claims_take == claims_take || !entry.info->pod->spec.node_name.empty()) return;
  entry.claims_take = std::move(claims_take);
  impl_->PlacePod(entry, impl_->InfoOf(entry.info->pod, entry.claims_take), entry.on);
}

bool World::Assumed(std::string_view pod_key) const {
  const auto found = impl_->pods.find(pod_key);
  return found != impl_->pods.end() && found->second.assumed;
}

std::string_view World::NodeOf(std::string_view pod_key) const {
  const auto found = impl_->pods.find(pod_key);
  if (found == impl_->pods.end() || found->second.on == nullptr) return {};
  return found->second.on->name;
}

std::size_t World::pods() const { return impl_->pods.size(); }
std::size_t World::assumed_pods() const { return impl_->assumed_pods; }
std::size_t World::pods_with_affinity() const { return impl_->with_affinity; }
std::size_t World::pods_with_anti_affinity() const { return impl_->with_anti_affinity; }

std::int32_t World::PriorityOf(const api::Pod& pod) const {
  return pod.spec.priority ? *pod.spec.priority : impl_->PriorityOf(pod.spec.priority_class_name);
}

std::int32_t World::PriorityOf(const api::PodGroup& group) const {
  return group.spec.priority ? *group.spec.priority
                             : impl_->PriorityOf(group.spec.priority_class_name);
}

bool World::NeverPreempts(const api::Pod& pod) const {
  if (pod.spec.preemption_policy) return pod.spec.preemption_policy == api::kPreemptNever;
  if (pod.spec.priority_class_name.empty() && pod.spec.priority) return false;
  const api::PriorityClass* found = impl_->FindPriority(pod.spec.priority_class_name);
  return found != nullptr && found->preemption_policy == api::kPreemptNever;
}

bool World::NeverPreempts(const api::PodGroup& group) const {
  if (group.spec.preemption_policy) return group.spec.preemption_policy == api::kPreemptNever;
  if (group.spec.priority_class_name.empty() && group.spec.priority) return false;
  const api::PriorityClass* found = impl_->FindPriority(group.spec.priority_class_name);
  return found != nullptr && found->preemption_policy == api::kPreemptNever;
}

const api::PriorityClass* World::Impl::FindPriority(const std::string& name) const {
  if (!name.empty()) {
    const auto found = priorities.find(name);
    return found == priorities.end() ? nullptr : found->second.get();
  }
  // Of several defaults the lowest counts, as at admission.
  const api::PriorityClass* lowest = nullptr;
  for (const auto& [class_name, priority] : priorities) {
    if (!priority->global_default) continue;
    if (lowest == nullptr || priority->value < lowest->value) lowest = priority.get();
  }
  return lowest;
}

std::int32_t World::Impl::PriorityOf(const std::string& name) const {
  if (const api::PriorityClass* found = FindPriority(name)) return found->value;
  if (name == "system-node-critical") return kSystemNodeCritical;
  if (name == "system-cluster-critical") return kSystemClusterCritical;
  return 0;
}

}  // namespace dray::scheduler
