// SPDX-License-Identifier: Apache-2.0
//
// resource.k8s.io ResourceClaim and ResourceClaimTemplate: what a workload asks for and what it was
// given.
//
// Spec: KEP-4381 (base), 4816 (prioritized lists), 5018 (admin access), 4817 (device status), 5055
// (tolerations), 5007 (binding conditions), 5075 (capacity requests, shares), 6080 (derived
// attributes), 5963 (group snapshots).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/box.h"
#include "api/field_table.h"
#include "api/map.h"
#include "api/meta.h"
#include "api/node_selector.h"
#include "api/values.h"
#include "base/quantity.h"
#include "base/time.h"

namespace dray::api {

inline constexpr std::size_t kDeviceRequestsMaxSize = 32;
inline constexpr std::size_t kAllocationResultsMaxSize = 32;
inline constexpr std::size_t kDeviceConstraintsMaxSize = 32;
inline constexpr std::size_t kDeviceConfigMaxSize = 32;
inline constexpr std::size_t kAllocationConfigMaxSize = 64;
inline constexpr std::size_t kDeviceSelectorsMaxSize = 32;
inline constexpr std::size_t kFirstAvailableDeviceRequestMaxSize = 8;
inline constexpr std::size_t kDeviceTolerationsMaxLength = 16;
inline constexpr std::size_t kDeviceDerivedAttributesMaxSize = 32;
inline constexpr std::size_t kCELSelectorExpressionMaxLength = 10 * 1024;
inline constexpr std::uint64_t kCELSelectorExpressionMaxCost = 1'000'000;
inline constexpr std::uint64_t kDeviceClaimDerivedAttributeCELMaxCost = 1'000'000;
inline constexpr std::size_t kOpaqueParametersMaxLength = 10 * 1024;
inline constexpr std::size_t kResourceClaimReservedForMaxSize = 256;
inline constexpr std::size_t kAllocatedDeviceStatusMaxConditions = 8;
inline constexpr std::size_t kAllocatedDeviceStatusDataMaxLength = 10 * 1024;
inline constexpr std::size_t kNetworkDeviceDataMaxIPs = 16;
inline constexpr std::size_t kNetworkDeviceDataInterfaceNameMaxLength = 256;
inline constexpr std::size_t kNetworkDeviceDataHardwareAddressMaxLength = 128;

inline constexpr std::string_view kAllocationModeExactCount = "ExactCount";
inline constexpr std::string_view kAllocationModeAll = "All";
inline constexpr std::string_view kTolerationOpExists = "Exists";
inline constexpr std::string_view kTolerationOpEqual = "Equal";
inline constexpr std::string_view kConfigSourceClass = "FromClass";
inline constexpr std::string_view kConfigSourceClaim = "FromClaim";

// Set on a claim that the scheduler made for a pod's extended resources (KEP-5004). Kubernetes
// writes "true", the proposal the pod's name; either is read.
inline constexpr std::string_view kExtendedResourceClaimAnnotation =
    "resource.kubernetes.io/extended-resource-claim";
inline constexpr std::string_view kPodClaimNameAnnotation = "resource.kubernetes.io/pod-claim-name";
inline constexpr std::string_view kAdminAccessLabel = "resource.kubernetes.io/admin-access";

struct CELDeviceSelector {
  std::string expression;
  UnknownFields unknown;
  friend bool operator==(const CELDeviceSelector&, const CELDeviceSelector&) = default;
};
const StructInfo& InfoOf(const CELDeviceSelector*);

struct DeviceSelector {
  std::optional<CELDeviceSelector> cel;
  UnknownFields unknown;
  friend bool operator==(const DeviceSelector&, const DeviceSelector&) = default;
};
const StructInfo& InfoOf(const DeviceSelector*);

struct DeviceToleration {
  std::string key;
  std::string operator_;
  std::string value;
  std::string effect;
  std::optional<std::int64_t> toleration_seconds;
  UnknownFields unknown;
  friend bool operator==(const DeviceToleration&, const DeviceToleration&) = default;
};
const StructInfo& InfoOf(const DeviceToleration*);

struct CapacityRequirements {
  Map<base::Quantity> requests;
  UnknownFields unknown;
  friend bool operator==(const CapacityRequirements&, const CapacityRequirements&) = default;
};
const StructInfo& InfoOf(const CapacityRequirements*);

struct DeviceDerivedAttribute {
  std::string name;
  std::string expression;
  UnknownFields unknown;
  friend bool operator==(const DeviceDerivedAttribute&, const DeviceDerivedAttribute&) = default;
};
const StructInfo& InfoOf(const DeviceDerivedAttribute*);

struct ExactDeviceRequest {
  std::string device_class_name;
  std::vector<DeviceSelector> selectors;
  std::string allocation_mode;
  std::int64_t count = 0;
  std::optional<bool> admin_access;
  std::vector<DeviceToleration> tolerations;
  Box<CapacityRequirements> capacity;
  std::vector<DeviceDerivedAttribute> derived_attributes;
  UnknownFields unknown;
  friend bool operator==(const ExactDeviceRequest&, const ExactDeviceRequest&) = default;
};
const StructInfo& InfoOf(const ExactDeviceRequest*);

// One alternative of a prioritized list. Has no admin access.
struct DeviceSubRequest {
  std::string name;
  std::string device_class_name;
  std::vector<DeviceSelector> selectors;
  std::string allocation_mode;
  std::int64_t count = 0;
  std::vector<DeviceToleration> tolerations;
  Box<CapacityRequirements> capacity;
  std::vector<DeviceDerivedAttribute> derived_attributes;
  UnknownFields unknown;
  friend bool operator==(const DeviceSubRequest&, const DeviceSubRequest&) = default;
};
const StructInfo& InfoOf(const DeviceSubRequest*);

// A union: exactly one of `exactly` and a non-empty `first_available`.
struct DeviceRequest {
  std::string name;
  Box<ExactDeviceRequest> exactly;
  std::vector<DeviceSubRequest> first_available;
  UnknownFields unknown;
  friend bool operator==(const DeviceRequest&, const DeviceRequest&) = default;
};
const StructInfo& InfoOf(const DeviceRequest*);

struct DeviceConstraint {
  std::vector<std::string> requests;  // none: all requests of the claim
  std::optional<std::string> match_attribute;
  std::optional<std::string> distinct_attribute;
  UnknownFields unknown;
  friend bool operator==(const DeviceConstraint&, const DeviceConstraint&) = default;
};
const StructInfo& InfoOf(const DeviceConstraint*);

struct OpaqueDeviceConfiguration {
  std::string driver;
  RawJson parameters;
  UnknownFields unknown;
  friend bool operator==(const OpaqueDeviceConfiguration&,
                         const OpaqueDeviceConfiguration&) = default;
};
const StructInfo& InfoOf(const OpaqueDeviceConfiguration*);

struct DeviceClaimConfiguration {
  std::vector<std::string> requests;
  Box<OpaqueDeviceConfiguration> opaque;
  UnknownFields unknown;
  friend bool operator==(const DeviceClaimConfiguration&,
                         const DeviceClaimConfiguration&) = default;
};
const StructInfo& InfoOf(const DeviceClaimConfiguration*);

struct DeviceClaim {
  std::vector<DeviceRequest> requests;
  std::vector<DeviceConstraint> constraints;
  std::vector<DeviceClaimConfiguration> config;
  UnknownFields unknown;
  friend bool operator==(const DeviceClaim&, const DeviceClaim&) = default;
};
const StructInfo& InfoOf(const DeviceClaim*);

struct ResourceClaimSpec {
  DeviceClaim devices;
  UnknownFields unknown;
  friend bool operator==(const ResourceClaimSpec&, const ResourceClaimSpec&) = default;
};
const StructInfo& InfoOf(const ResourceClaimSpec*);

struct DeviceRequestAllocationResult {
  std::string request;  // "request" or "request/subrequest"
  std::string driver;
  std::string pool;
  std::string device;
  std::optional<bool> admin_access;
  std::vector<DeviceToleration> tolerations;
  std::vector<std::string> binding_conditions;
  std::vector<std::string> binding_failure_conditions;
  std::optional<std::string> share_id;
  Map<base::Quantity> consumed_capacity;
  std::vector<std::string> skip_node_operations;
  // KEP-5963: the groups that the device declared per counter set when it was allocated;
  // authoritative over the slice.
  Map<std::vector<std::string>> compatibility_groups;
  UnknownFields unknown;
  friend bool operator==(const DeviceRequestAllocationResult&,
                         const DeviceRequestAllocationResult&) = default;
};
const StructInfo& InfoOf(const DeviceRequestAllocationResult*);

struct DeviceAllocationConfiguration {
  std::string source;
  std::vector<std::string> requests;
  Box<OpaqueDeviceConfiguration> opaque;
  UnknownFields unknown;
  friend bool operator==(const DeviceAllocationConfiguration&,
                         const DeviceAllocationConfiguration&) = default;
};
const StructInfo& InfoOf(const DeviceAllocationConfiguration*);

struct DeviceAllocationResult {
  std::vector<DeviceRequestAllocationResult> results;
  std::vector<DeviceAllocationConfiguration> config;
  UnknownFields unknown;
  friend bool operator==(const DeviceAllocationResult&, const DeviceAllocationResult&) = default;
};
const StructInfo& InfoOf(const DeviceAllocationResult*);

struct AllocationResult {
  DeviceAllocationResult devices;
  Box<NodeSelector> node_selector;
  std::optional<base::Time> allocation_timestamp;
  UnknownFields unknown;
  friend bool operator==(const AllocationResult&, const AllocationResult&) = default;
};
const StructInfo& InfoOf(const AllocationResult*);

struct ResourceClaimConsumerReference {
  std::string api_group;
  std::string resource;
  std::string name;
  std::string uid;
  UnknownFields unknown;
  friend bool operator==(const ResourceClaimConsumerReference&,
                         const ResourceClaimConsumerReference&) = default;
};
const StructInfo& InfoOf(const ResourceClaimConsumerReference*);

struct NetworkDeviceData {
  std::string interface_name;
  std::vector<std::string> ips;
  std::string hardware_address;
  UnknownFields unknown;
  friend bool operator==(const NetworkDeviceData&, const NetworkDeviceData&) = default;
};
const StructInfo& InfoOf(const NetworkDeviceData*);

struct AllocatedDeviceStatus {
  std::string driver;
  std::string pool;
  std::string device;
  std::optional<std::string> share_id;
  std::vector<Condition> conditions;
  RawJson data;
  Box<NetworkDeviceData> network_data;
  UnknownFields unknown;
  friend bool operator==(const AllocatedDeviceStatus&, const AllocatedDeviceStatus&) = default;
};
const StructInfo& InfoOf(const AllocatedDeviceStatus*);

struct ResourceClaimStatus {
  Box<AllocationResult> allocation;
  std::vector<ResourceClaimConsumerReference> reserved_for;
  std::vector<AllocatedDeviceStatus> devices;
  UnknownFields unknown;
  friend bool operator==(const ResourceClaimStatus&, const ResourceClaimStatus&) = default;
};
const StructInfo& InfoOf(const ResourceClaimStatus*);

struct ResourceClaim {
  ObjectMeta metadata;
  ResourceClaimSpec spec;
  ResourceClaimStatus status;
  UnknownFields unknown;
  friend bool operator==(const ResourceClaim&, const ResourceClaim&) = default;
};
const StructInfo& InfoOf(const ResourceClaim*);

struct ResourceClaimTemplateSpec {
  ObjectMeta metadata;
  ResourceClaimSpec spec;
  UnknownFields unknown;
  friend bool operator==(const ResourceClaimTemplateSpec&,
                         const ResourceClaimTemplateSpec&) = default;
};
const StructInfo& InfoOf(const ResourceClaimTemplateSpec*);

struct ResourceClaimTemplate {
  ObjectMeta metadata;
  ResourceClaimTemplateSpec spec;
  UnknownFields unknown;
  friend bool operator==(const ResourceClaimTemplate&, const ResourceClaimTemplate&) = default;
};
const StructInfo& InfoOf(const ResourceClaimTemplate*);

}  // namespace dray::api
