// SPDX-License-Identifier: Apache-2.0
//
// What became of a pod's containers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/box.h"
#include "api/container.h"
#include "api/field_table.h"
#include "api/map.h"
#include "api/values.h"
#include "base/quantity.h"
#include "base/time.h"

namespace dray::api {

struct ContainerStateWaiting {
  std::string reason;
  std::string message;
  UnknownFields unknown;
  friend bool operator==(const ContainerStateWaiting&, const ContainerStateWaiting&) = default;
};
const StructInfo& InfoOf(const ContainerStateWaiting*);

struct ContainerStateRunning {
  std::optional<base::Time> started_at;
  UnknownFields unknown;
  friend bool operator==(const ContainerStateRunning&, const ContainerStateRunning&) = default;
};
const StructInfo& InfoOf(const ContainerStateRunning*);

struct ContainerStateTerminated {
  std::int32_t exit_code = 0;
  std::int32_t signal = 0;
  std::string reason;
  std::string message;
  std::optional<base::Time> started_at;
  std::optional<base::Time> finished_at;
  std::string container_id;
  UnknownFields unknown;
  friend bool operator==(const ContainerStateTerminated&,
                         const ContainerStateTerminated&) = default;
};
const StructInfo& InfoOf(const ContainerStateTerminated*);

// A union; none set means waiting.
struct ContainerState {
  Box<ContainerStateWaiting> waiting;
  Box<ContainerStateRunning> running;
  Box<ContainerStateTerminated> terminated;
  UnknownFields unknown;
  friend bool operator==(const ContainerState&, const ContainerState&) = default;
};
const StructInfo& InfoOf(const ContainerState*);

struct ResourceHealth {
  std::string resource_id;
  std::string health;  // Healthy, Unhealthy, Unknown
  std::optional<std::string> message;
  UnknownFields unknown;
  friend bool operator==(const ResourceHealth&, const ResourceHealth&) = default;
};
const StructInfo& InfoOf(const ResourceHealth*);

// The health of what a container was given: `name` is a resource, or "claim:<claim>" and
// "claim:<claim>/<request>".
struct ResourceStatus {
  std::string name;
  std::vector<ResourceHealth> resources;
  UnknownFields unknown;
  friend bool operator==(const ResourceStatus&, const ResourceStatus&) = default;
};
const StructInfo& InfoOf(const ResourceStatus*);

struct ImageVolumeStatus {
  std::string image_ref;  // with its digest
  UnknownFields unknown;
  friend bool operator==(const ImageVolumeStatus&, const ImageVolumeStatus&) = default;
};
const StructInfo& InfoOf(const ImageVolumeStatus*);

struct VolumeStatus {
  Box<ImageVolumeStatus> image;
  UnknownFields unknown;
  friend bool operator==(const VolumeStatus&, const VolumeStatus&) = default;
};
const StructInfo& InfoOf(const VolumeStatus*);

struct VolumeMountStatus {
  std::string name;
  std::string mount_path;
  bool read_only = false;
  std::optional<std::string> recursive_read_only;
  Box<VolumeStatus> volume_status;
  UnknownFields unknown;
  friend bool operator==(const VolumeMountStatus&, const VolumeMountStatus&) = default;
};
const StructInfo& InfoOf(const VolumeMountStatus*);

struct LinuxContainerUser {
  std::int64_t uid = 0;
  std::int64_t gid = 0;
  std::vector<std::int64_t> supplemental_groups;
  UnknownFields unknown;
  friend bool operator==(const LinuxContainerUser&, const LinuxContainerUser&) = default;
};
const StructInfo& InfoOf(const LinuxContainerUser*);

struct ContainerUser {
  Box<LinuxContainerUser> linux;
  UnknownFields unknown;
  friend bool operator==(const ContainerUser&, const ContainerUser&) = default;
};
const StructInfo& InfoOf(const ContainerUser*);

struct ContainerStatus {
  std::string name;
  ContainerState state;
  ContainerState last_state;
  bool ready = false;
  std::int32_t restart_count = 0;
  std::string image;
  std::string image_id;
  std::string container_id;
  std::optional<bool> started;
  Map<base::Quantity> allocated_resources;
  Box<ResourceRequirements> resources;
  std::vector<VolumeMountStatus> volume_mounts;
  Box<ContainerUser> user;
  std::vector<ResourceStatus> allocated_resources_status;
  std::optional<std::string> stop_signal;
  UnknownFields unknown;
  friend bool operator==(const ContainerStatus&, const ContainerStatus&) = default;
};
const StructInfo& InfoOf(const ContainerStatus*);

}  // namespace dray::api
