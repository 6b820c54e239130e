// SPDX-License-Identifier: Apache-2.0
//
// core/v1 Node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/box.h"
#include "api/field_table.h"
#include "api/map.h"
#include "api/meta.h"
#include "api/values.h"
#include "base/quantity.h"
#include "base/time.h"

namespace dray::api {

inline constexpr std::string_view kTaintEffectPreferNoSchedule = "PreferNoSchedule";
inline constexpr std::string_view kNodeReadyCondition = "Ready";
inline constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";
inline constexpr std::string_view kUnschedulableTaint = "node.kubernetes.io/unschedulable";
inline constexpr std::string_view kNotReadyTaint = "node.kubernetes.io/not-ready";
inline constexpr std::string_view kUnreachableTaint = "node.kubernetes.io/unreachable";

// Names in resource lists that nodes themselves account for.
inline constexpr std::string_view kResourceCpu = "cpu";
inline constexpr std::string_view kResourceMemory = "memory";
inline constexpr std::string_view kResourcePods = "pods";
inline constexpr std::string_view kResourceEphemeralStorage = "ephemeral-storage";

struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // NoSchedule, PreferNoSchedule, NoExecute
  std::optional<base::Time> time_added;
  UnknownFields unknown;
  friend bool operator==(const Taint&, const Taint&) = default;
};
const StructInfo& InfoOf(const Taint*);

struct NodePodPreemptionPolicy {
  std::vector<std::string> disable_resize_preemption;
  UnknownFields unknown;
  friend bool operator==(const NodePodPreemptionPolicy&, const NodePodPreemptionPolicy&) = default;
};
const StructInfo& InfoOf(const NodePodPreemptionPolicy*);

struct NodeSpec {
  std::string pod_cidr;
  std::vector<std::string> pod_cidrs;
  std::string provider_id;
  bool unschedulable = false;
  std::vector<Taint> taints;
  Box<RawJson> config_source;  // no longer read by anyone
  std::string external_id;     // no longer written by anyone
  Box<NodePodPreemptionPolicy> pod_preemption_policy;
  UnknownFields unknown;
  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};
const StructInfo& InfoOf(const NodeSpec*);

struct NodeCondition {
  std::string type;
  std::string status;  // True, False, Unknown
  std::optional<base::Time> last_heartbeat_time;
  std::optional<base::Time> last_transition_time;
  std::string reason;
  std::string message;
  UnknownFields unknown;
  friend bool operator==(const NodeCondition&, const NodeCondition&) = default;
};
const StructInfo& InfoOf(const NodeCondition*);

struct NodeAddress {
  std::string type;
  std::string address;
  UnknownFields unknown;
  friend bool operator==(const NodeAddress&, const NodeAddress&) = default;
};
const StructInfo& InfoOf(const NodeAddress*);

struct DaemonEndpoint {
  std::int32_t port = 0;
  UnknownFields unknown;
  friend bool operator==(const DaemonEndpoint&, const DaemonEndpoint&) = default;
};
const StructInfo& InfoOf(const DaemonEndpoint*);

struct NodeDaemonEndpoints {
  DaemonEndpoint kubelet_endpoint;
  UnknownFields unknown;
  friend bool operator==(const NodeDaemonEndpoints&, const NodeDaemonEndpoints&) = default;
};
const StructInfo& InfoOf(const NodeDaemonEndpoints*);

struct NodeSwapStatus {
  std::optional<std::int64_t> capacity;
  UnknownFields unknown;
  friend bool operator==(const NodeSwapStatus&, const NodeSwapStatus&) = default;
};
const StructInfo& InfoOf(const NodeSwapStatus*);

struct NodeSystemInfo {
  std::string machine_id;
  std::string system_uuid;
  std::string boot_id;
  std::string kernel_version;
  std::string os_image;
  std::string container_runtime_version;
  std::string kubelet_version;
  std::string kube_proxy_version;
  std::string operating_system;
  std::string architecture;
  Box<NodeSwapStatus> swap;
  std::optional<bool> running_in_user_namespace;
  UnknownFields unknown;
  friend bool operator==(const NodeSystemInfo&, const NodeSystemInfo&) = default;
};
const StructInfo& InfoOf(const NodeSystemInfo*);

struct ContainerImage {
  std::vector<std::string> names;
  std::int64_t size_bytes = 0;
  UnknownFields unknown;
  friend bool operator==(const ContainerImage&, const ContainerImage&) = default;
};
const StructInfo& InfoOf(const ContainerImage*);

struct AttachedVolume {
  std::string name;
  std::string device_path;
  UnknownFields unknown;
  friend bool operator==(const AttachedVolume&, const AttachedVolume&) = default;
};
const StructInfo& InfoOf(const AttachedVolume*);

struct NodeRuntimeHandlerFeatures {
  std::optional<bool> recursive_read_only_mounts;
  std::optional<bool> user_namespaces;
  UnknownFields unknown;
  friend bool operator==(const NodeRuntimeHandlerFeatures&,
                         const NodeRuntimeHandlerFeatures&) = default;
};
const StructInfo& InfoOf(const NodeRuntimeHandlerFeatures*);

struct NodeRuntimeHandler {
  std::string name;
  Box<NodeRuntimeHandlerFeatures> features;
  UnknownFields unknown;
  friend bool operator==(const NodeRuntimeHandler&, const NodeRuntimeHandler&) = default;
};
const StructInfo& InfoOf(const NodeRuntimeHandler*);

// What the container runtime can do.
struct NodeFeatures {
  std::optional<bool> supplemental_groups_policy;
  UnknownFields unknown;
  friend bool operator==(const NodeFeatures&, const NodeFeatures&) = default;
};
const StructInfo& InfoOf(const NodeFeatures*);

struct NodeStatus {
  Map<base::Quantity> capacity;
  Map<base::Quantity> allocatable;
  std::string phase;
  std::vector<NodeCondition> conditions;
  std::vector<NodeAddress> addresses;
  NodeDaemonEndpoints daemon_endpoints;
  NodeSystemInfo node_info;
  std::vector<ContainerImage> images;
  std::vector<std::string> volumes_in_use;
  std::vector<AttachedVolume> volumes_attached;
  Box<RawJson> config;  // no longer read by anyone
  std::vector<NodeRuntimeHandler> runtime_handlers;
  Box<NodeFeatures> features;
  std::vector<std::string> declared_features;  // sorted
  UnknownFields unknown;
  friend bool operator==(const NodeStatus&, const NodeStatus&) = default;
};
const StructInfo& InfoOf(const NodeStatus*);

struct Node {
  ObjectMeta metadata;
  NodeSpec spec;
  NodeStatus status;
  UnknownFields unknown;
  friend bool operator==(const Node&, const Node&) = default;
};
const StructInfo& InfoOf(const Node*);

}  // namespace dray::api
