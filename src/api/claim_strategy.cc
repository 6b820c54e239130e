// SPDX-License-Identifier: Apache-2.0
//
// ResourceClaim and ResourceClaimTemplate between decoding and validation.
#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "api/internal/gated_features.h"
#include "api/internal/strategies.h"

namespace dray::api::internal {
namespace {

// `exactly` and every `firstAvailable` entry; most of their fields are the same, so `f` is generic.
template <typename Spec, typename F>
void ForEachRequest(Spec& spec, F f) {
  for (auto& request : spec.devices.requests) {
    if (request.exactly) f(*request.exactly);
    for (auto& alternative : request.first_available) f(alternative);
  }
}
template <typename F>
bool AnyRequest(const ResourceClaimSpec& spec, F f) {
  bool any = false;
  ForEachRequest(spec, [&](const auto& request) { any = any || f(request); });
  return any;
}

bool UsesPrioritizedList(const ResourceClaimSpec& spec) {
  return std::ranges::any_of(spec.devices.requests, [](const DeviceRequest& request) {
    return !request.first_available.empty();
  });
}
void DropPrioritizedList(ResourceClaimSpec& spec) {
  for (DeviceRequest& request : spec.devices.requests) request.first_available.clear();
}

bool UsesTolerations(const ResourceClaimSpec& spec) {
  return AnyRequest(spec, [](const auto& request) { return !request.tolerations.empty(); });
}
void DropTolerations(ResourceClaimSpec& spec) {
  ForEachRequest(spec, [](auto& request) { request.tolerations.clear(); });
}

bool UsesAdminAccess(const ResourceClaimSpec& spec) {
  return std::ranges::any_of(spec.devices.requests, [](const DeviceRequest& request) {
    return request.exactly && request.exactly->admin_access.has_value();
  });
}
void DropAdminAccess(ResourceClaimSpec& spec) {
  for (DeviceRequest& request : spec.devices.requests) {
    if (request.exactly) request.exactly->admin_access.reset();
  }
}

bool UsesConsumableCapacity(const ResourceClaimSpec& spec) {
  return std::ranges::any_of(spec.devices.constraints,
                             [](const DeviceConstraint& constraint) {
                               return constraint.distinct_attribute.has_value();
                             }) ||
         AnyRequest(spec, [](const auto& request) { return request.capacity.has_value(); });
}
void DropConsumableCapacity(ResourceClaimSpec& spec) {
  for (DeviceConstraint& constraint : spec.devices.constraints) {
    constraint.distinct_attribute.reset();
  }
  ForEachRequest(spec, [](auto& request) { request.capacity.reset(); });
}

bool UsesDerivedAttributes(const ResourceClaimSpec& spec) {
  return AnyRequest(spec, [](const auto& request) { return !request.derived_attributes.empty(); });
}
void DropDerivedAttributes(ResourceClaimSpec& spec) {
  ForEachRequest(spec, [](auto& request) { request.derived_attributes.clear(); });
}

constexpr std::array<GatedFeature<ResourceClaimSpec>, 4> kSpecFeatures = {{
    {Gate::kDRAPrioritizedList, UsesPrioritizedList, DropPrioritizedList},
    {Gate::kDRADeviceTaints, UsesTolerations, DropTolerations},
    {Gate::kDRAAdminAccess, UsesAdminAccess, DropAdminAccess},
    {Gate::kDRAConsumableCapacity, UsesConsumableCapacity, DropConsumableCapacity},
}};
// KEP-6080 wants new ones rejected, not dropped: a constraint on a derived attribute that overrides
// a static one would silently be about the static one. Validation says so.
constexpr std::array<GatedFeature<ResourceClaimSpec>, 1> kRejectedSpecFeatures = {{
    {Gate::kDRADerivedAttributes, UsesDerivedAttributes, DropDerivedAttributes},
}};

void DropDisabledSpecFields(ResourceClaimSpec& spec, const ResourceClaimSpec* old,
                            const StrategyOptions& options) {
  DropDisabled<ResourceClaimSpec>(kSpecFeatures, options.gates, spec, old);
  if (options.kubernetes_only) {
    DropDisabled<ResourceClaimSpec>(kRejectedSpecFeatures, options.gates, spec, old);
  }
}

template <typename F>
bool AnyResult(const ResourceClaim& claim, F f) {
  return claim.status.allocation &&
         std::ranges::any_of(claim.status.allocation->devices.results, f);
}
template <typename F>
void ForEachResult(ResourceClaim& claim, F f) {
  if (claim.status.allocation) std::ranges::for_each(claim.status.allocation->devices.results, f);
}

using Result = DeviceRequestAllocationResult;

bool StatusUsesDevices(const ResourceClaim& claim) { return !claim.status.devices.empty(); }
void DropStatusDevices(ResourceClaim& claim) { claim.status.devices.clear(); }

// A claim whose spec asks for the feature will have it in its status: the spec counts too.
bool StatusUsesAdminAccess(const ResourceClaim& claim) {
  return UsesAdminAccess(claim.spec) ||
         AnyResult(claim, [](const Result& result) { return result.admin_access.has_value(); });
}
void DropStatusAdminAccess(ResourceClaim& claim) {
  ForEachResult(claim, [](Result& result) { result.admin_access.reset(); });
}

bool StatusUsesConsumableCapacity(const ResourceClaim& claim) {
  return UsesConsumableCapacity(claim.spec) ||
         AnyResult(claim,
                   [](const Result& result) {
                     return result.share_id.has_value() || !result.consumed_capacity.empty();
                   }) ||
         std::ranges::any_of(claim.status.devices, [](const AllocatedDeviceStatus& device) {
           return device.share_id.has_value();
         });
}
void DropStatusConsumableCapacity(ResourceClaim& claim) {
  ForEachResult(claim, [](Result& result) {
    result.share_id.reset();
    result.consumed_capacity.clear();
  });
  for (AllocatedDeviceStatus& device : claim.status.devices) device.share_id.reset();
}

bool StatusUsesBindingConditions(const ResourceClaim& claim) {
  return AnyResult(claim, [](const Result& result) {
    return !result.binding_conditions.empty() || !result.binding_failure_conditions.empty();
  });
}
// The allocation's timestamp stays: it tells more than when to stop waiting for conditions.
void DropStatusBindingConditions(ResourceClaim& claim) {
  ForEachResult(claim, [](Result& result) {
    result.binding_conditions.clear();
    result.binding_failure_conditions.clear();
  });
}

bool StatusUsesNodeOperations(const ResourceClaim& claim) {
  return AnyResult(claim,
                   [](const Result& result) { return !result.skip_node_operations.empty(); });
}
void DropStatusNodeOperations(ResourceClaim& claim) {
  ForEachResult(claim, [](Result& result) { result.skip_node_operations.clear(); });
}

// KEP-5963's snapshot, which Kubernetes does not have.
bool StatusUsesCompatibilityGroups(const ResourceClaim& claim) {
  return AnyResult(claim,
                   [](const Result& result) { return !result.compatibility_groups.empty(); });
}
void DropStatusCompatibilityGroups(ResourceClaim& claim) {
  ForEachResult(claim, [](Result& result) { result.compatibility_groups.clear(); });
}

constexpr std::array<GatedFeature<ResourceClaim>, 6> kStatusFeatures = {{
    {Gate::kDRAResourceClaimDeviceStatus, StatusUsesDevices, DropStatusDevices},
    {Gate::kDRAAdminAccess, StatusUsesAdminAccess, DropStatusAdminAccess},
    {Gate::kDRAConsumableCapacity, StatusUsesConsumableCapacity, DropStatusConsumableCapacity},
    {Gate::kDRADeviceBindingConditions, StatusUsesBindingConditions, DropStatusBindingConditions},
    {Gate::kDRAOptionalNodeOperations, StatusUsesNodeOperations, DropStatusNodeOperations},
    {Gate::kDRADeviceCompatibilityGroups, StatusUsesCompatibilityGroups,
     DropStatusCompatibilityGroups},
}};

// A device, or one share of it. No share id is the same as an empty one.
template <typename T>
auto ShareOf(const T& device) {
  return std::tuple(device.driver, device.pool, device.device, device.share_id.value_or(""));
}

// What a driver said about a device goes with the device: clients that give devices back need not
// know of status.devices.
void DropDeallocatedDevices(ResourceClaim& claim, const ResourceClaim& old) {
  std::set<decltype(ShareOf(std::declval<const Result&>()))> gone;
  if (old.status.allocation) {
    for (const Result& result : old.status.allocation->devices.results) {
      gone.insert(ShareOf(result));
    }
  }
  if (claim.status.allocation) {
    for (const Result& result : claim.status.allocation->devices.results) {
      gone.erase(ShareOf(result));
    }
  }
  std::erase_if(claim.status.devices, [&](const AllocatedDeviceStatus& device) {
    return gone.contains(ShareOf(device));
  });
}

}  // namespace

void PrepareForCreate(ResourceClaim& claim, const StrategyOptions& options) {
  claim.status = {};
  DropDisabledSpecFields(claim.spec, nullptr, options);
}

void PrepareForUpdate(ResourceClaim& claim, const ResourceClaim& old,
                      const StrategyOptions& options) {
  claim.status = old.status;
  DropDisabledSpecFields(claim.spec, &old.spec, options);
}

void PrepareForStatusUpdate(ResourceClaim& claim, const ResourceClaim& old,
                            const StrategyOptions& options) {
  claim.spec = old.spec;
  ResetMetadataForStatus(claim.metadata, old.metadata);
  DropDisabled<ResourceClaim>(kStatusFeatures, options.gates, claim, &old);
  DropDeallocatedDevices(claim, old);
}

void PrepareForCreate(ResourceClaimTemplate& tmpl, const StrategyOptions& options) {
  DropDisabledSpecFields(tmpl.spec.spec, nullptr, options);
}

void PrepareForUpdate(ResourceClaimTemplate& tmpl, const ResourceClaimTemplate& old,
                      const StrategyOptions& options) {
  DropDisabledSpecFields(tmpl.spec.spec, &old.spec.spec, options);
}

}  // namespace dray::api::internal
