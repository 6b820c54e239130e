// SPDX-License-Identifier: Apache-2.0
//
// Containers of a pod: what they run and what they ask for.
//
// Probes, hooks and security settings are carried as they are: no part of dray looks inside. They
// are in a Box because most containers have none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/box.h"
#include "api/env.h"
#include "api/field_table.h"
#include "api/map.h"
#include "api/values.h"
#include "base/quantity.h"

namespace dray::api {

// Which of the pod's claims a container uses, and which request of it. Kubernetes calls it
// ResourceClaim, too.
struct ContainerResourceClaim {
  std::string name;
  std::string request;  // empty: all requests of the claim
  UnknownFields unknown;
  friend bool operator==(const ContainerResourceClaim&, const ContainerResourceClaim&) = default;
};
const StructInfo& InfoOf(const ContainerResourceClaim*);

// Of a container, or of a whole pod (then without claims).
struct ResourceRequirements {
  Map<base::Quantity> limits;
  Map<base::Quantity> requests;
  std::vector<ContainerResourceClaim> claims;
  UnknownFields unknown;
  friend bool operator==(const ResourceRequirements&, const ResourceRequirements&) = default;
};
const StructInfo& InfoOf(const ResourceRequirements*);

struct ContainerPort {
  std::string name;
  std::int32_t host_port = 0;  // 0: none
  std::int32_t container_port = 0;
  std::string protocol;  // TCP, UDP, SCTP
  std::string host_ip;
  UnknownFields unknown;
  friend bool operator==(const ContainerPort&, const ContainerPort&) = default;
};
const StructInfo& InfoOf(const ContainerPort*);

struct VolumeMount {
  std::string name;
  bool read_only = false;
  std::optional<std::string> recursive_read_only;
  std::string mount_path;
  std::string sub_path;
  std::optional<std::string> mount_propagation;
  std::string sub_path_expr;
  std::vector<std::string> bind_mount_options;
  UnknownFields unknown;
  friend bool operator==(const VolumeMount&, const VolumeMount&) = default;
};
const StructInfo& InfoOf(const VolumeMount*);

struct VolumeDevice {
  std::string name;
  std::string device_path;
  UnknownFields unknown;
  friend bool operator==(const VolumeDevice&, const VolumeDevice&) = default;
};
const StructInfo& InfoOf(const VolumeDevice*);

struct ContainerResizePolicy {
  std::string resource_name;
  std::string restart_policy;
  UnknownFields unknown;
  friend bool operator==(const ContainerResizePolicy&, const ContainerResizePolicy&) = default;
};
const StructInfo& InfoOf(const ContainerResizePolicy*);

struct ContainerRestartRuleOnExitCodes {
  std::string operator_;  // In, NotIn
  std::vector<std::int32_t> values;
  UnknownFields unknown;
  friend bool operator==(const ContainerRestartRuleOnExitCodes&,
                         const ContainerRestartRuleOnExitCodes&) = default;
};
const StructInfo& InfoOf(const ContainerRestartRuleOnExitCodes*);

// What to do when a container ends with one of some exit codes.
struct ContainerRestartRule {
  std::string action;
  Box<ContainerRestartRuleOnExitCodes> exit_codes;
  UnknownFields unknown;
  friend bool operator==(const ContainerRestartRule&, const ContainerRestartRule&) = default;
};
const StructInfo& InfoOf(const ContainerRestartRule*);

struct Container {
  std::string name;
  std::string image;
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::string working_dir;
  std::vector<ContainerPort> ports;
  std::vector<EnvFromSource> env_from;
  std::vector<EnvVar> env;
  ResourceRequirements resources;
  std::vector<ContainerResizePolicy> resize_policy;
  std::optional<std::string> restart_policy;  // Always in an init container: a sidecar
  std::vector<ContainerRestartRule> restart_policy_rules;
  std::vector<VolumeMount> volume_mounts;
  std::vector<VolumeDevice> volume_devices;
  Box<RawJson> liveness_probe;
  Box<RawJson> readiness_probe;
  Box<RawJson> startup_probe;
  Box<RawJson> lifecycle;
  std::string termination_message_path;
  std::string termination_message_policy;
  std::string image_pull_policy;
  Box<RawJson> security_context;
  bool stdin_ = false;
  bool stdin_once = false;
  bool tty = false;
  UnknownFields unknown;
  friend bool operator==(const Container&, const Container&) = default;
};
const StructInfo& InfoOf(const Container*);

// A container added to a running pod for debugging. On the wire its own field and those of `common`
// are one object.
struct EphemeralContainer {
  Container common;
  std::string target_container_name;
  friend bool operator==(const EphemeralContainer&, const EphemeralContainer&) = default;
};
const StructInfo& InfoOf(const EphemeralContainer*);

}  // namespace dray::api
