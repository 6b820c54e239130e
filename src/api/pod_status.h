// SPDX-License-Identifier: Apache-2.0
//
// What became of a pod.
//
// Spec: KEP-4381 (resourceClaimStatuses), KEP-5004 (extendedResourceClaimStatus), KEP-4680
// (resource health in the container statuses).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/box.h"
#include "api/container.h"
#include "api/container_status.h"
#include "api/field_table.h"
#include "api/map.h"
#include "api/values.h"
#include "base/quantity.h"
#include "base/time.h"

namespace dray::api {

inline constexpr std::string_view kPodPending = "Pending";
inline constexpr std::string_view kPodRunning = "Running";
inline constexpr std::string_view kPodSucceeded = "Succeeded";
inline constexpr std::string_view kPodFailed = "Failed";
inline constexpr std::string_view kPodUnknown = "Unknown";

inline constexpr std::string_view kPodScheduledCondition = "PodScheduled";
inline constexpr std::string_view kPodReadyCondition = "Ready";
inline constexpr std::string_view kPodInitializedCondition = "Initialized";
inline constexpr std::string_view kContainersReadyCondition = "ContainersReady";
inline constexpr std::string_view kDisruptionTargetCondition = "DisruptionTarget";
inline constexpr std::string_view kReasonUnschedulable = "Unschedulable";
inline constexpr std::string_view kReasonSchedulingGated = "SchedulingGated";

struct PodCondition {
  std::string type;
  std::int64_t observed_generation = 0;
  std::string status;  // True, False, Unknown
  std::optional<base::Time> last_probe_time;
  std::optional<base::Time> last_transition_time;
  std::string reason;
  std::string message;
  UnknownFields unknown;
  friend bool operator==(const PodCondition&, const PodCondition&) = default;
};
const StructInfo& InfoOf(const PodCondition*);

struct HostIP {
  std::string ip;
  UnknownFields unknown;
  friend bool operator==(const HostIP&, const HostIP&) = default;
};
const StructInfo& InfoOf(const HostIP*);

struct PodIP {
  std::string ip;
  UnknownFields unknown;
  friend bool operator==(const PodIP&, const PodIP&) = default;
};
const StructInfo& InfoOf(const PodIP*);

// The claim that was made for an entry of the pod's resourceClaims.
struct PodResourceClaimStatus {
  std::string name;
  std::optional<std::string> resource_claim_name;
  UnknownFields unknown;
  friend bool operator==(const PodResourceClaimStatus&, const PodResourceClaimStatus&) = default;
};
const StructInfo& InfoOf(const PodResourceClaimStatus*);

// KEP-5004: which request of the pod's special claim serves an extended resource of a container.
// The proposal calls the field extendedResourceName, Kubernetes resourceName: either is read.
struct ContainerExtendedResourceRequest {
  std::string container_name;
  std::string resource_name;
  std::string request_name;
  UnknownFields unknown;
  friend bool operator==(const ContainerExtendedResourceRequest&,
                         const ContainerExtendedResourceRequest&) = default;
};
const StructInfo& InfoOf(const ContainerExtendedResourceRequest*);

// KEP-5004: the claim that the scheduler made for the extended resources of the pod. The proposal
// calls the list requestMapping: that is read, too.
struct PodExtendedResourceClaimStatus {
  std::vector<ContainerExtendedResourceRequest> request_mappings;
  std::string resource_claim_name;
  UnknownFields unknown;
  friend bool operator==(const PodExtendedResourceClaimStatus&,
                         const PodExtendedResourceClaimStatus&) = default;
};
const StructInfo& InfoOf(const PodExtendedResourceClaimStatus*);

struct NodeAllocatableMappedResources {
  std::string name;
  std::optional<base::Quantity> quantity;
  UnknownFields unknown;
  friend bool operator==(const NodeAllocatableMappedResources&,
                         const NodeAllocatableMappedResources&) = default;
};
const StructInfo& InfoOf(const NodeAllocatableMappedResources*);

struct NodeAllocatableOverheadResources {
  std::string name;
  std::optional<base::Quantity> per_pod;
  std::optional<base::Quantity> per_container;
  UnknownFields unknown;
  friend bool operator==(const NodeAllocatableOverheadResources&,
                         const NodeAllocatableOverheadResources&) = default;
};
const StructInfo& InfoOf(const NodeAllocatableOverheadResources*);

// What a claim takes from its node's own resources (cpu, memory), so that they are not counted
// twice.
struct NodeAllocatableResourceClaimStatus {
  std::string resource_claim_name;
  std::vector<std::string> containers;
  std::vector<NodeAllocatableMappedResources> mapping;
  std::vector<NodeAllocatableOverheadResources> overhead;
  UnknownFields unknown;
  friend bool operator==(const NodeAllocatableResourceClaimStatus&,
                         const NodeAllocatableResourceClaimStatus&) = default;
};
const StructInfo& InfoOf(const NodeAllocatableResourceClaimStatus*);

struct VolumeHealthCondition {
  std::string status;
  std::string reason;
  std::string message;
  UnknownFields unknown;
  friend bool operator==(const VolumeHealthCondition&, const VolumeHealthCondition&) = default;
};
const StructInfo& InfoOf(const VolumeHealthCondition*);

struct PodVolumeHealth {
  std::string name;
  std::vector<VolumeHealthCondition> health_conditions;
  std::optional<base::Time> last_transition_time;
  UnknownFields unknown;
  friend bool operator==(const PodVolumeHealth&, const PodVolumeHealth&) = default;
};
const StructInfo& InfoOf(const PodVolumeHealth*);

struct PodStatus {
  std::int64_t observed_generation = 0;
  std::string phase;
  std::vector<PodCondition> conditions;
  std::string message;
  std::string reason;
  std::string nominated_node_name;  // where preemption makes room
  std::string host_ip;
  std::vector<HostIP> host_ips;
  std::string pod_ip;
  std::vector<PodIP> pod_ips;
  std::optional<base::Time> start_time;
  std::vector<ContainerStatus> init_container_statuses;
  std::vector<ContainerStatus> container_statuses;
  std::string qos_class;  // Guaranteed, Burstable, BestEffort
  std::vector<ContainerStatus> ephemeral_container_statuses;
  std::string resize;
  // Unset and empty stay apart: who clears the list says something, who leaves it out does not.
  std::optional<std::vector<PodResourceClaimStatus>> resource_claim_statuses;
  Box<PodExtendedResourceClaimStatus> extended_resource_claim_status;
  Map<base::Quantity> allocated_resources;
  Box<ResourceRequirements> resources;
  // As above.
  std::optional<std::vector<NodeAllocatableResourceClaimStatus>>
      node_allocatable_resource_claim_statuses;
  std::vector<PodVolumeHealth> volume_health;
  UnknownFields unknown;
  friend bool operator==(const PodStatus&, const PodStatus&) = default;
};
const StructInfo& InfoOf(const PodStatus*);

}  // namespace dray::api
