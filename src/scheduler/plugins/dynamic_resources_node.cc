// SPDX-License-Identifier: Apache-2.0
//
// DynamicResources: devices that take part of a node's own cpu, memory or huge pages
// (node_allocatable.h has the arithmetic).
//
// As in Kubernetes the devices are those that would be chosen anyway; when the node cannot carry
// them, it is refused, and no others are looked for.
#include <algorithm>

#include "api/json.h"
#include "fmt/format.h"
#include "scheduler/plugins/changes.h"
#include "scheduler/plugins/dynamic_resources.h"
#include "scheduler/plugins/node_allocatable.h"
#include "scheduler/plugins/pod_claims.h"

namespace dray::scheduler {
namespace {

// Numbers of footprints that are remembered; when there are more, pods ask about all nodes once.
constexpr std::size_t kMostFootprints = 4096;

class NoShareIds final : public allocator::ShareIds {
 public:
  std::string Next() override { return {}; }
};

bool AnyMore(const api::Node& before, const api::Node& after) {
  return std::ranges::any_of(after.status.allocatable, [&](const auto& entry) {
    const base::Quantity* had = before.status.allocatable.Find(entry.first.view());
    return had == nullptr || *had < entry.second;
  });
}

}  // namespace

PluginStatus DynamicResources::CheckSharing(const State& data, const PodInfo& pod,
                                            const NodeInfo& node) {
  NodeInfo* known = nullptr;
  for (const State::Claim& claim : data.claims) {
    if (claim.to_allocate || claim.claim->status.reserved_for.empty() ||
        ReservedFor(*claim.claim, *pod.pod)) {
      continue;
    }
    if (known == nullptr) {
      known = world_.node(node.index);
      if (Status refreshed = world_.RefreshDevices(*known); !refreshed.ok()) {
        return PluginStatus::Error(std::string(base::Message(refreshed)));
      }
    }
    if (!HasMappedDevice(*claim.claim->status.allocation, *known->devices)) continue;
    return PluginStatus::Unresolvable(
        {.code = "claim_of_another_pod",
         .text = fmt::format("node allocatable resource claim {} has a mapped device and cannot "
                             "be shared across pods",
                             claim.claim->metadata.name)});
  }
  return PluginStatus::Success();
}

PluginStatus DynamicResources::CheckNodeAllocatable(std::size_t worker, const State& data,
                                                    const Variant& variant, const PodInfo& pod,
                                                    const NodeInfo& node) {
  NodeInfo& known = *world_.node(node.index);
  if (Status refreshed = world_.RefreshDevices(known); !refreshed.ok()) {
    return PluginStatus::Error(std::string(base::Message(refreshed)));
  }
  if (!AnyNodeAllocatable(*known.devices)) return PluginStatus::Success();
  std::vector<api::AllocationResult> made;
  if (variant.plan.plan != nullptr) {
    NoShareIds ids;
    auto results = workers_[worker]->allocator.Build(ids);
    if (!results.ok()) return PluginStatus::Error(std::string(base::Message(results.status())));
    made = *std::move(results);
  }
  std::vector<ClaimWithDevices> claims;
  auto next = made.begin();
  for (const State::Claim& claim : data.claims) {
    if (!claim.to_allocate) {
      claims.push_back({claim.claim.get(), &*claim.claim->status.allocation});
    } else if (!claim.special) {
      claims.push_back({claim.claim.get(), &*next++});
    } else if (variant.claim != nullptr) {
      claims.push_back({variant.claim.get(), &*next++});
    }
    // A pod's status has no way to say what the claim for its extended resources takes.
    if (claim.special && !claims.empty() &&
        !NodeAllocatableUseOf(*pod.pod, std::span(claims).last(1), *known.devices).claims.empty()) {
      return PluginStatus::Unresolvable(
          {.code = "node_allocatable_unknown",
           .text = "devices that take part of the node's cpu or memory cannot serve extended "
                   "resources"});
    }
  }
  NodeAllocatableUse use = NodeAllocatableUseOf(*pod.pod, claims, *known.devices);
  if (!use.problem.empty()) {
    return PluginStatus::Unresolvable(
        {.code = "node_allocatable_unknown", .text = std::move(use.problem)});
  }
  if (use.claims.empty()) return PluginStatus::Success();
  return FitsWithClaims(*pod.pod, std::move(use.claims), node, world_.resource_names());
}

PluginStatus DynamicResources::ReserveNodeAllocatable(State& data, const PodInfo& pod,
                                                      const NodeInfo& node) {
  if (!node_allocatable_) return PluginStatus::Success();
  NodeInfo& known = *world_.node(node.index);
  if (Status refreshed = world_.RefreshDevices(known); !refreshed.ok()) {
    return PluginStatus::Error(std::string(base::Message(refreshed)));
  }
  std::vector<ClaimWithDevices> claims;
  for (const State::Claim& claim : data.claims) {
    if (claim.allocation) {
      claims.push_back({claim.claim.get(), &*claim.allocation});
    } else if (!claim.to_allocate) {
      claims.push_back({claim.claim.get(), &*claim.claim->status.allocation});
    }
  }
  NodeAllocatableUse use = NodeAllocatableUseOf(*pod.pod, claims, *known.devices);
  if (!use.problem.empty()) {
    return PluginStatus::Unschedulable(
        {.code = "node_allocatable_unknown", .text = std::move(use.problem)});
  }
  data.claims_take = std::move(use.claims);
  world_.SetNodeAllocatable(pod.key, data.claims_take);
  return PluginStatus::Success();
}

Status DynamicResources::WriteNodeAllocatable(State& data, const PodInfo& pod) {
  const auto& stored = pod.pod->status.node_allocatable_resource_claim_statuses;
  const bool left_over = stored && !stored->empty();
  if (data.claims_take.empty() && !left_over && !data.claims_take_written) return {};
  return writes_.SetNodeAllocatable(*pod.pod, data.claims_take);
}

// How many containers use which claim, and what is set for containers and the pod as a whole.
std::uint64_t DynamicResources::FootprintOf(const State& data, const api::Pod& pod) {
  std::string text =
      fmt::format("{}", data.variants.empty() ? 0 : data.variants.front()->plan.number);
  const api::ClaimsOfPod entries(pod);
  const auto place_of = [&](std::string_view entry_name) -> std::size_t {
    const auto entry =
        std::ranges::find(pod.spec.resource_claims, entry_name, &api::PodResourceClaim::name);
    if (entry == pod.spec.resource_claims.end()) return data.claims.size();
    const auto name = entries.NameOf(*entry);
    const auto claim = std::ranges::find_if(data.claims, [&](const State::Claim& known) {
      return name && known.claim->metadata.name == *name;
    });
    return static_cast<std::size_t>(claim - data.claims.begin());
  };
  for (const auto* list : {&pod.spec.init_containers, &pod.spec.containers}) {
    for (const api::Container& container : *list) {
      text.append("|").append(container.restart_policy.value_or(""));
      for (const auto& used : container.resources.claims) {
        text.append(fmt::format(",{}", place_of(used.name)));
      }
      api::ResourceRequirements amounts = container.resources;
      amounts.claims.clear();
      text.append(api::EncodeJson(amounts));
    }
  }
  if (pod.spec.resources) text.append(api::EncodeJson(*pod.spec.resources));
  if (footprints_.size() >= kMostFootprints) footprints_.clear();
  const auto [at, added] = footprints_.try_emplace(std::move(text), next_footprint_);
  if (added) --next_footprint_;
  return at->second;
}

// Room on nodes, which no claim and no slice tells of.
Hint DynamicResources::AfterRoomChange(const api::Change& change, const api::Object* old,
                                       const PodInfo& pod) const {
  const PodChange seen = ReadPodChange(pod, change, old);
  // Or a pod that was not bound after all gives back what was kept for it.
  const bool given_up = change.kind == api::Change::Kind::kDeleted && old == nullptr &&
                        change.object.As<api::Pod>() != nullptr;
  if (given_up || seen.kind == PodChange::Kind::kGone) return Hint::kQueue;
  if (seen.kind == PodChange::Kind::kChanged &&
      (seen.before->spec != seen.after->spec ||
       seen.before->status.node_allocatable_resource_claim_statuses !=
           seen.after->status.node_allocatable_resource_claim_statuses ||
       seen.before->status.container_statuses != seen.after->status.container_statuses)) {
    return Hint::kQueue;
  }
  const NodeChange node = ReadNodeChange(change, old);
  const bool more =
      node.before != nullptr && node.after != nullptr && AnyMore(*node.before, *node.after);
  return more ? Hint::kQueue : Hint::kSkip;
}

}  // namespace dray::scheduler
