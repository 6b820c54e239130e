// SPDX-License-Identifier: Apache-2.0
//
// DynamicResources: before any node is looked at.
#include "scheduler/plugins/dynamic_resources.h"

#include <algorithm>

#include "fmt/format.h"
#include "scheduler/plugins/pod_claims.h"
#include "scheduler/plugins/special_claim.h"

namespace dray::scheduler {
namespace {

PluginStatus Refuse(std::string_view code, std::string text) {
  return PluginStatus::Unresolvable({.code = std::string(code), .text = std::move(text)});
}

// What every device must pass in a profile that is limited to drivers; empty: it is not.
std::string DriverLimit(const std::vector<std::string>& drivers) {
  std::string list;
  for (const std::string& driver : drivers) {
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", driver);
  }
  return list.empty() ? list : fmt::format("device.driver in [{}]", list);
}

}  // namespace

DynamicResources::DynamicResources(World& world, api::Cluster& cluster, const base::Clock& clock,
                                   Ids& ids, DynamicResourcesOptions options)
    : world_(world),
      cluster_(cluster),
      clock_(clock),
      ids_(ids),
      options_(std::move(options)),
      extended_resources_(world.gates().Enabled(api::Gate::kDRAExtendedResource)),
      binding_conditions_(world.features().device_binding_and_status),
      prioritized_list_(world.features().prioritized_list),
      node_allocatable_(world.gates().Enabled(api::Gate::kDRANodeAllocatableResources)),
      group_claims_(world.gates().Enabled(api::Gate::kDRAWorkloadResourceClaims)),
      writes_(cluster, clock, binding_conditions_),
      plans_(kPlans, DriverLimit(options_.args.drivers)),
      shards_(kNodeShards) {
  for (std::size_t i = 0; i < std::max<std::size_t>(1, options_.workers); ++i) {
    workers_.push_back(std::make_unique<Worker>());
  }
}

PluginStatus DynamicResources::PreEnqueue(const PodInfo& pod) {
  if (pod.pod->spec.resource_claims.empty()) return PluginStatus::Success();
  PodClaims found = ClaimsOf(*pod.pod, world_);
  if (found.problem.empty()) return PluginStatus::Success();
  return Refuse("claims_not_ready", std::move(found.problem));
}

PluginStatus DynamicResources::PreFilter(CycleState& state, const PodInfo& pod, World&) {
  State& data = state.Get<State>();
  data = {};
  PodClaims found = ClaimsOf(*pod.pod, world_);
  if (!found.problem.empty()) return Refuse("claims_not_ready", std::move(found.problem));
  for (ClaimPointer& claim : found.claims) {
    if (auto shared = claim->status.allocation ? nullptr : FindShared(*claim)) {
      auto taken = std::make_shared<api::ResourceClaim>(*claim);
      taken->status.allocation = shared->allocation;
      data.claims.push_back({.claim = std::move(taken), .shared = std::move(shared)});
      continue;
    }
    const bool allocated = claim->status.allocation.has_value();
    auto refused = allocated ? CheckAllocated(*claim, pod) : CheckPending(*claim);
    if (refused.has_value()) return *std::move(refused);
    if (!group_claims_ && api::OwningGroup(claim->metadata) != nullptr) {
      return Refuse("group_claims_off",
                    fmt::format("claim {} is a PodGroup claim but the DRAWorkloadResourceClaims "
                                "feature is disabled",
                                KeyOf(claim->metadata)));
    }
    const bool idle = allocated && claim->status.reserved_for.empty();
    data.claims.push_back({.claim = std::move(claim), .to_allocate = !allocated, .idle = idle});
  }
  if (extended_resources_) AddSpecial(data, *pod.pod);
  for (const ExtendedResource& resource : data.resources) {
    if (resource.device_class.empty() || Serves(resource.device_class)) continue;
    return Refuse("class_of_others",
                  fmt::format("resource {}: scheduler {} does not serve device class {}",
                              resource.name, options_.component, resource.device_class));
  }
  if (std::string wrong = WrongAmount(*pod.pod, data.resources); !wrong.empty()) {
    return Refuse("invalid_amount", std::move(wrong));
  }
  if (data.claims.empty()) return PluginStatus::Skip();
  FitShards();
  hint_verdicts_.FitTo(world_.node_indices());
  // Most nodes are alike, and without extended resources all of them.
  const base::MutexLock lock(variants_);
  data.usual = &MakeVariant(data, pod, AllByClass(data));
  if (node_allocatable_) data.footprint = FootprintOf(data, *pod.pod);
  return PluginStatus::Success();
}

// What all shards together may keep is shared out among those that have nodes; a few nodes do not
// get all of it.
void DynamicResources::FitShards() {
  const std::size_t nodes = world_.node_indices();
  if (nodes == fitted_) return;
  fitted_ = nodes;
  const std::size_t shards = ShardsOf(nodes);
  const std::size_t most = std::max<std::size_t>(1, MostOfAShard(nodes));
  for (Shard& shard : shards_) {
    // A node mostly has one slice, or a few.
    shard.verdicts.FitTo(most, std::min(kVerdicts / shards, 256 * most));
    shard.scores.set_capacity(std::min(kScores / shards, 1024 * most));
  }
}

std::optional<PluginStatus> DynamicResources::CheckAllocated(const api::ResourceClaim& claim,
                                                             const PodInfo& pod) {
  if (ReservedFor(claim, *pod.pod)) return std::nullopt;
  if (const DeviceHold* hold = world_.holds().GivenBackFor(claim, pod, world_)) {
    return Refuse("claim_given_back_for",
                  fmt::format("resourceclaim {} is being given back for pod {}",
                              claim.metadata.name, hold->pod));
  }
  if (claim.status.reserved_for.size() < api::kResourceClaimReservedForMaxSize) return std::nullopt;
  return Refuse("claim_in_use", "resourceclaim in use");
}

// A claim that is broken is broken on every node; a class that is missing may come.
std::optional<PluginStatus> DynamicResources::CheckPending(const api::ResourceClaim& claim) {
  if (world_.ledger().InFlight(claim.metadata.uid)) {
    return Refuse("claim_in_flight",
                  fmt::format("resource claim {} is in the process of being allocated",
                              KeyOf(claim.metadata)));
  }
  for (const api::DeviceRequest& request : claim.spec.devices.requests) {
    if (request.exactly.has_value()) {
      if (auto refused = CheckClass(request.exactly->device_class_name, request.name)) {
        return refused;
      }
      continue;
    }
    const auto wrong = [&](std::string_view what) {
      return Refuse("invalid_claim", fmt::format("resource claim {}, request {}: {}",
                                                 KeyOf(claim.metadata), request.name, what));
    };
    if (request.first_available.empty()) return wrong("unknown request type");
    if (!prioritized_list_) {
      return wrong("has subrequests, but the DRAPrioritizedList feature is disabled");
    }
    for (const api::DeviceSubRequest& sub : request.first_available) {
      if (auto refused =
              CheckClass(sub.device_class_name, fmt::format("{}/{}", request.name, sub.name))) {
        return refused;
      }
    }
  }
  return std::nullopt;
}

bool DynamicResources::Serves(std::string_view device_class) const {
  const std::vector<std::string>& served = options_.args.device_classes;
  return served.empty() || std::ranges::find(served, device_class) != served.end();
}

std::optional<PluginStatus> DynamicResources::CheckClass(std::string_view device_class,
                                                         std::string_view request) {
  if (device_class.empty()) {
    return PluginStatus::Error(fmt::format("request {}: unsupported request type", request));
  }
  if (!Serves(device_class)) {
    return Refuse("class_of_others",
                  fmt::format("request {}: scheduler {} does not serve device class {}", request,
                              options_.component, device_class));
  }
  if (world_.FindClass(device_class) != nullptr) return std::nullopt;
  return Refuse("class_missing",
                fmt::format("request {}: device class {} does not exist", request, device_class));
}

// One that an earlier attempt has stored is used again, as far as it still is what nodes need
// (KEP-5004 "Failure handling"); Kubernetes deletes it and makes another.
void DynamicResources::AddSpecial(State& data, const api::Pod& pod) {
  data.resources = ExtendedResourcesOf(pod, world_.extended_resources());
  if (data.resources.empty()) return;
  ClaimPointer claim = world_.FindExtendedResourceClaim(pod);
  if (claim == nullptr) {
    claim = std::make_shared<const api::ResourceClaim>(MakeSpecialClaim(pod));
  }
  const bool allocated = claim->status.allocation.has_value();
  data.claims.push_back({.claim = std::move(claim), .special = true, .to_allocate = !allocated});
}

std::vector<bool> DynamicResources::AllByClass(const State& data) {
  std::vector<bool> by_class;
  for (const ExtendedResource& resource : data.resources) {
    by_class.push_back(!resource.device_class.empty());
  }
  return by_class;
}

bool DynamicResources::Local(const CycleState& state, const PodInfo&) const {
  const State* data = state.Find<State>();
  if (data == nullptr) return true;
  return std::ranges::all_of(data->claims, [](const State::Claim& claim) {
    return claim.to_allocate && (!claim.special || !Stored(*claim.claim));
  });
}

// The fewer devices are left, the less fits: what was taken makes nothing possible. A search that gave up may
// find with fewer devices what it did not find with more.
bool DynamicResources::Lasts(std::span<const Reason> reasons) const {
  return !node_allocatable_ && reasons.size() == 1 &&
         reasons.front().code == "cannot_allocate_claims";
}

// What all claims together ask for where classes serve every resource. That says it for nodes that
// serve some by device plugins, too: how many of each resource is part of the pod's shape.
std::uint64_t DynamicResources::ClassOf(const CycleState& state, const PodInfo&) const {
  const State* data = state.Find<State>();
  if (data == nullptr || data->variants.empty()) return 0;
  return node_allocatable_ ? data->footprint : data->variants.front()->plan.number;
}

}  // namespace dray::scheduler
