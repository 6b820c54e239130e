// SPDX-License-Identifier: Apache-2.0
//
// The status of a ResourceClaim: what was allocated, for whom it is reserved, and what drivers say
// about the devices.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "api/field_table.h"
#include "api/internal/claim_validation.h"
#include "api/internal/device_validation.h"
#include "api/internal/kind_validation.h"
#include "api/internal/meta_validation.h"
#include "api/internal/name_validation.h"
#include "api/internal/node_selector_validation.h"
#include "api/internal/taint_validation.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

constexpr std::array<std::string_view, 2> kSources = {kConfigSourceClaim, kConfigSourceClass};

// A device or a share of one. Names have no blanks.
template <typename Entry>
std::string IdOf(const Entry& entry) {
  return fmt::format("{} {} {} {}", entry.driver, entry.pool, entry.device,
                     entry.share_id.value_or(""));
}

void CheckReference(Report& report, const Path& at, const ResourceClaimConsumerReference& user) {
  if (user.resource.empty()) report.Required(at.Child("resource"));
  if (user.name.empty()) report.Required(at.Child("name"));
  if (user.uid.empty()) report.Required(at.Child("uid"));
}

bool AddsReservation(const std::vector<ResourceClaimConsumerReference>& users,
                     const std::vector<ResourceClaimConsumerReference>& old) {
  return std::ranges::any_of(users, [&old](const ResourceClaimConsumerReference& user) {
    return std::ranges::find(old, user) == old.end();
  });
}

void CheckReservedFor(Report& report, const Path& at, const ResourceClaim& claim,
                      const ResourceClaim& old) {
  const auto& users = claim.status.reserved_for;
  if (CheckSize(report, at, users.size(), kResourceClaimReservedForMaxSize)) {
    for (std::size_t i = 0; i < users.size(); ++i) CheckReference(report, at.Index(i), users[i]);
    CheckUnique(report, at, users, [](const auto& user) -> std::string_view { return user.uid; });
  }
  if (users.empty()) return;
  if (!claim.status.allocation) {
    report.Forbidden(at, "a claim can only be reserved while it is allocated");
  } else if (claim.metadata.deletion_timestamp && AddsReservation(users, old.status.reserved_for)) {
    report.Forbidden(at, "must not be added to while the claim is being deleted");
  }
}

void CheckNetworkData(Report& report, const Path& at, const NetworkDeviceData& data) {
  CheckLength(report, at.Child("interfaceName"), data.interface_name,
              kNetworkDeviceDataInterfaceNameMaxLength);
  CheckLength(report, at.Child("hardwareAddress"), data.hardware_address,
              kNetworkDeviceDataHardwareAddressMaxLength);
  const Path ips = at.Child("ips");
  if (!CheckSize(report, ips, data.ips.size(), kNetworkDeviceDataMaxIPs)) return;
  for (std::size_t i = 0; i < data.ips.size(); ++i) {
    CheckForm(report, ips.Index(i), data.ips[i], kInterfaceAddress);
  }
  CheckUnique(report, ips, data.ips);
}

void CheckDeviceStatus(Report& report, const Path& at, const AllocatedDeviceStatus& device,
                       const base::StringSet& allocated) {
  CheckDriverName(report, at.Child("driver"), device.driver);
  CheckPoolName(report, at.Child("pool"), device.pool);
  CheckForm(report, at.Child("device"), device.device, kDnsLabel);
  if (device.share_id) CheckShareId(report, at.Child("shareID"), *device.share_id);
  if (!allocated.contains(IdOf(device))) {
    report.Invalid(at, IdOf(device), "must be a device (and share) that the claim has allocated");
  }
  ValidateConditions(report, at.Child("conditions"), device.conditions,
                     kAllocatedDeviceStatusMaxConditions);
  if (!device.data.text.empty() && device.data.text != "null") {
    CheckRawObject(report, at.Child("data"), device.data, kAllocatedDeviceStatusDataMaxLength,
                   false);
  }
  if (device.network_data) {
    CheckNetworkData(report, at.Child("networkData"), *device.network_data);
  }
}

void CheckDeviceStatuses(Report& report, const Path& at, const ResourceClaimStatus& status) {
  if (status.devices.empty()) return;
  base::StringSet allocated;
  if (status.allocation) {
    for (const auto& result : status.allocation->devices.results) allocated.insert(IdOf(result));
  }
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < status.devices.size(); ++i) {
    CheckDeviceStatus(report, at.Index(i), status.devices[i], allocated);
    ids.push_back(IdOf(status.devices[i]));
  }
  CheckUnique(report, at, ids);
}

// KEP-5963: counter set -> the groups that the device had there when it was allocated.
void CheckGroupSnapshot(Report& report, const Path& at,
                        const Map<std::vector<std::string>>& snapshot) {
  if (snapshot.empty()) return;
  if (!report.Enabled(Gate::kDRADeviceCompatibilityGroups)) {
    report.Forbidden(at, "needs the feature gate DRADeviceCompatibilityGroups");
    return;
  }
  for (const auto& [counter_set, groups] : snapshot) {
    CheckForm(report, at, counter_set, kDnsLabel);
    ValidateCompatibilityGroups(report, at.Key(counter_set), groups);
  }
}

void CheckResult(Report& report, const Path& at, const DeviceRequestAllocationResult& result,
                 const RequestNames& names) {
  CheckRequestReference(report, at.Child("request"), result.request, names);
  CheckDriverName(report, at.Child("driver"), result.driver);
  CheckPoolName(report, at.Child("pool"), result.pool);
  CheckForm(report, at.Child("device"), result.device, kDnsLabel);
  ValidateBindingConditions(report, at, result.binding_conditions,
                            result.binding_failure_conditions);
  ValidateTolerations(report, at.Child("tolerations"), result.tolerations);
  if (result.share_id) CheckShareId(report, at.Child("shareID"), *result.share_id);
  ValidateSkipNodeOperations(report, at.Child("skipNodeOperations"), result.skip_node_operations);
  if (!report.OwnRules()) return;
  CheckAmounts(report, at.Child("consumedCapacity"), result.consumed_capacity);
  CheckGroupSnapshot(report, at.Child("compatibilityGroups"), result.compatibility_groups);
}

void CheckConfig(Report& report, const Path& at, const DeviceAllocationConfiguration& config,
                 const RequestNames& names) {
  if (config.source.empty()) {
    report.Required(at.Child("source"));
  } else {
    CheckOneOf(report, at.Child("source"), config.source, kSources);
  }
  CheckRequestReferences(report, at.Child("requests"), config.requests, names);
  ValidateOpaqueConfiguration(report, at, config.opaque, false);
}

void CheckNewAllocation(Report& report, const Path& at, const AllocationResult& allocation,
                        const DeviceClaim& claim) {
  const RequestNames names(claim);
  const Path devices = at.Child("devices");
  const Path results = devices.Child("results");
  if (CheckSize(report, results, allocation.devices.results.size(), kAllocationResultsMaxSize)) {
    for (std::size_t i = 0; i < allocation.devices.results.size(); ++i) {
      CheckResult(report, results.Index(i), allocation.devices.results[i], names);
    }
  }
  const Path config = devices.Child("config");
  if (CheckSize(report, config, allocation.devices.config.size(), kAllocationConfigMaxSize)) {
    for (std::size_t i = 0; i < allocation.devices.config.size(); ++i) {
      CheckConfig(report, config.Index(i), allocation.devices.config[i], names);
    }
  }
  if (allocation.node_selector) {
    ValidateNodeSelector(report, at.Child("nodeSelector"), *allocation.node_selector);
  }
}

// Written once, then only removed. What is stored is not looked at again: rules became stricter.
void CheckAllocation(Report& report, const Path& at, const ResourceClaim& claim,
                     const ResourceClaim& old) {
  const Box<AllocationResult>& allocation = claim.status.allocation;
  if (!allocation) return;
  if (!old.status.allocation) {
    CheckNewAllocation(report, at, *allocation, claim.spec.devices);
  } else if (!SemanticEqual(*allocation, *old.status.allocation)) {
    report.InvalidAsIs(at, "<value omitted>", "must not change; it may only be removed");
  }
}

}  // namespace

void ValidateClaimStatusUpdate(Report& report, const ResourceClaim& claim,
                               const ResourceClaim& old) {
  const Path at("status");
  CheckReservedFor(report, at.Child("reservedFor"), claim, old);
  CheckDeviceStatuses(report, at.Child("devices"), claim.status);
  CheckAllocation(report, at.Child("allocation"), claim, old);
  ValidateClaimUpdate(report, claim, old);
}

}  // namespace dray::api::internal
