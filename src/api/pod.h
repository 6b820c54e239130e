// SPDX-License-Identifier: Apache-2.0
//
// core/v1 Pod.
//
// Every field of the spec is known, so that a strict reader takes every pod that Kubernetes takes;
// what nobody reads is carried as JSON (security and DNS settings).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/affinity.h"
#include "api/box.h"
#include "api/container.h"
#include "api/field_table.h"
#include "api/map.h"
#include "api/meta.h"
#include "api/pod_status.h"
#include "api/values.h"
#include "api/volume.h"
#include "base/quantity.h"

namespace dray::api {

inline constexpr std::string_view kRestartPolicyAlways = "Always";
inline constexpr std::string_view kRestartPolicyOnFailure = "OnFailure";
inline constexpr std::string_view kRestartPolicyNever = "Never";
inline constexpr std::string_view kPreemptNever = "Never";
inline constexpr std::string_view kPreemptLowerPriority = "PreemptLowerPriority";
inline constexpr std::string_view kDefaultSchedulerName = "default-scheduler";

struct LocalObjectReference {
  std::string name;
  UnknownFields unknown;
  friend bool operator==(const LocalObjectReference&, const LocalObjectReference&) = default;
};
const StructInfo& InfoOf(const LocalObjectReference*);

struct HostAlias {
  std::string ip;
  std::vector<std::string> hostnames;
  UnknownFields unknown;
  friend bool operator==(const HostAlias&, const HostAlias&) = default;
};
const StructInfo& InfoOf(const HostAlias*);

struct PodOS {
  std::string name;
  UnknownFields unknown;
  friend bool operator==(const PodOS&, const PodOS&) = default;
};
const StructInfo& InfoOf(const PodOS*);

struct PodReadinessGate {
  std::string condition_type;
  UnknownFields unknown;
  friend bool operator==(const PodReadinessGate&, const PodReadinessGate&) = default;
};
const StructInfo& InfoOf(const PodReadinessGate*);

struct PodSchedulingGate {
  std::string name;
  UnknownFields unknown;
  friend bool operator==(const PodSchedulingGate&, const PodSchedulingGate&) = default;
};
const StructInfo& InfoOf(const PodSchedulingGate*);

// A union: exactly one of the two names, of a claim or of a template to make one from.
struct PodResourceClaim {
  std::string name;
  std::optional<std::string> resource_claim_name;
  std::optional<std::string> resource_claim_template_name;
  UnknownFields unknown;
  friend bool operator==(const PodResourceClaim&, const PodResourceClaim&) = default;
};
const StructInfo& InfoOf(const PodResourceClaim*);

// The pods that are scheduled together with this one.
struct PodSchedulingGroup {
  std::optional<std::string> pod_group_name;
  UnknownFields unknown;
  friend bool operator==(const PodSchedulingGroup&, const PodSchedulingGroup&) = default;
};
const StructInfo& InfoOf(const PodSchedulingGroup*);

// Who is asked before the pod is evicted.
struct EvictionResponder {
  std::string name;
  std::optional<std::int32_t> priority;
  UnknownFields unknown;
  friend bool operator==(const EvictionResponder&, const EvictionResponder&) = default;
};
const StructInfo& InfoOf(const EvictionResponder*);

struct PodSpec {
  std::vector<Volume> volumes;
  std::vector<Container> init_containers;
  std::vector<Container> containers;
  std::vector<EphemeralContainer> ephemeral_containers;
  std::string restart_policy;
  std::optional<std::int64_t> termination_grace_period_seconds;
  std::optional<std::int64_t> active_deadline_seconds;
  std::string dns_policy;
  Map<std::string> node_selector;
  std::string service_account_name;
  std::string service_account;  // the older name of the same
  std::optional<bool> automount_service_account_token;
  std::string node_name;
  bool host_network = false;
  bool host_pid = false;
  bool host_ipc = false;
  std::optional<bool> share_process_namespace;
  Box<RawJson> security_context;
  std::vector<LocalObjectReference> image_pull_secrets;
  std::string hostname;
  std::string subdomain;
  Box<Affinity> affinity;
  std::string scheduler_name;
  std::vector<Toleration> tolerations;
  std::vector<HostAlias> host_aliases;
  std::string priority_class_name;
  std::optional<std::int32_t> priority;  // filled in from the priority class
  Box<RawJson> dns_config;
  std::vector<PodReadinessGate> readiness_gates;
  std::optional<std::string> runtime_class_name;
  std::optional<bool> enable_service_links;
  std::optional<std::string> preemption_policy;  // PreemptLowerPriority, Never
  Map<base::Quantity> overhead;                  // of the runtime class, on top of the containers
  std::vector<TopologySpreadConstraint> topology_spread_constraints;
  std::optional<bool> set_hostname_as_fqdn;
  Box<PodOS> os;
  std::optional<bool> host_users;
  std::vector<PodSchedulingGate> scheduling_gates;  // any: not to be scheduled yet
  std::vector<PodResourceClaim> resource_claims;
  Box<ResourceRequirements> resources;  // for all containers together
  std::optional<std::string> hostname_override;
  Box<PodSchedulingGroup> scheduling_group;
  std::vector<EvictionResponder> eviction_responders;
  UnknownFields unknown;
  friend bool operator==(const PodSpec&, const PodSpec&) = default;
};
const StructInfo& InfoOf(const PodSpec*);

struct Pod {
  ObjectMeta metadata;
  PodSpec spec;
  PodStatus status;
  UnknownFields unknown;
  friend bool operator==(const Pod&, const Pod&) = default;
};
const StructInfo& InfoOf(const Pod*);

// What a workload makes its pods from.
struct PodTemplateSpec {
  ObjectMeta metadata;
  PodSpec spec;
  UnknownFields unknown;
  friend bool operator==(const PodTemplateSpec&, const PodTemplateSpec&) = default;
};
const StructInfo& InfoOf(const PodTemplateSpec*);

}  // namespace dray::api
