// SPDX-License-Identifier: Apache-2.0
#include "api/container_status.h"

namespace dray::api {

const StructInfo& InfoOf(const ContainerStateWaiting*) {
  using T = ContainerStateWaiting;
  static const StructInfo info =
      Struct<T>("ContainerStateWaiting", {
                                             Field<&T::reason>("reason"),
                                             Field<&T::message>("message"),
                                         });
  return info;
}

const StructInfo& InfoOf(const ContainerStateRunning*) {
  using T = ContainerStateRunning;
  static const StructInfo info =
      Struct<T>("ContainerStateRunning", {
                                             Field<&T::started_at>("startedAt"),
                                         });
  return info;
}

const StructInfo& InfoOf(const ContainerStateTerminated*) {
  using T = ContainerStateTerminated;
  static const StructInfo info =
      Struct<T>("ContainerStateTerminated",
                {
                    Field<&T::exit_code>("exitCode", {.presence = Presence::kAlways}),
                    Field<&T::signal>("signal"),
                    Field<&T::reason>("reason"),
                    Field<&T::message>("message"),
                    Field<&T::started_at>("startedAt"),
                    Field<&T::finished_at>("finishedAt"),
                    Field<&T::container_id>("containerID"),
                });
  return info;
}

const StructInfo& InfoOf(const ContainerState*) {
  using T = ContainerState;
  static const StructInfo info =
      Struct<T>("ContainerState", {
                                      Field<&T::waiting>("waiting"),
                                      Field<&T::running>("running"),
                                      Field<&T::terminated>("terminated"),
                                  });
  return info;
}

const StructInfo& InfoOf(const ResourceHealth*) {
  using T = ResourceHealth;
  static const StructInfo info = Struct<T>(
      "ResourceHealth", {
                            Field<&T::resource_id>("resourceID", {.presence = Presence::kAlways}),
                            Field<&T::health>("health"),
                            Field<&T::message>("message"),
                        });
  return info;
}

const StructInfo& InfoOf(const ResourceStatus*) {
  using T = ResourceStatus;
  static const StructInfo info = Struct<T>(
      "ResourceStatus", {
                            Field<&T::name>("name", {.presence = Presence::kAlways}),
                            Field<&T::resources>("resources", {.list = ListKind::kMap,
                                                               .keys = "resourceID",
                                                               .patch_key = kPatchReplaces}),
                        });
  return info;
}

const StructInfo& InfoOf(const ImageVolumeStatus*) {
  using T = ImageVolumeStatus;
  static const StructInfo info =
      Struct<T>("ImageVolumeStatus", {
                                         Field<&T::image_ref>("imageRef"),
                                     });
  return info;
}

const StructInfo& InfoOf(const VolumeStatus*) {
  using T = VolumeStatus;
  static const StructInfo info = Struct<T>("VolumeStatus", {
                                                               Field<&T::image>("image"),
                                                           });
  return info;
}

const StructInfo& InfoOf(const VolumeMountStatus*) {
  using T = VolumeMountStatus;
  static const StructInfo info = Struct<T>(
      "VolumeMountStatus", {
                               Field<&T::name>("name", {.presence = Presence::kAlways}),
                               Field<&T::mount_path>("mountPath", {.presence = Presence::kAlways}),
                               Field<&T::read_only>("readOnly"),
                               Field<&T::recursive_read_only>("recursiveReadOnly"),
                               Field<&T::volume_status>("volumeStatus"),
                           });
  return info;
}

const StructInfo& InfoOf(const LinuxContainerUser*) {
  using T = LinuxContainerUser;
  static const StructInfo info =
      Struct<T>("LinuxContainerUser", {
                                          Field<&T::uid>("uid", {.presence = Presence::kAlways}),
                                          Field<&T::gid>("gid", {.presence = Presence::kAlways}),
                                          Field<&T::supplemental_groups>("supplementalGroups"),
                                      });
  return info;
}

const StructInfo& InfoOf(const ContainerUser*) {
  using T = ContainerUser;
  static const StructInfo info = Struct<T>("ContainerUser", {
                                                                Field<&T::linux>("linux"),
                                                            });
  return info;
}

const StructInfo& InfoOf(const ContainerStatus*) {
  using T = ContainerStatus;
  static const StructInfo info = Struct<T>(
      "ContainerStatus",
      {
          Field<&T::name>("name", {.presence = Presence::kAlways}),
          Field<&T::state>("state"),
          Field<&T::last_state>("lastState"),
          Field<&T::ready>("ready", {.presence = Presence::kAlways}),
          Field<&T::restart_count>("restartCount", {.presence = Presence::kAlways}),
          Field<&T::image>("image", {.presence = Presence::kAlways}),
          Field<&T::image_id>("imageID", {.presence = Presence::kAlways}),
          Field<&T::container_id>("containerID"),
          Field<&T::started>("started"),
          Field<&T::allocated_resources>("allocatedResources"),
          Field<&T::resources>("resources"),
          Field<&T::volume_mounts>("volumeMounts", {.list = ListKind::kMap, .keys = "mountPath"}),
          Field<&T::user>("user"),
          Field<&T::allocated_resources_status>(
              "allocatedResourcesStatus",
              {.list = ListKind::kMap, .keys = "name", .gate = Gate::kResourceHealthStatus}),
          Field<&T::stop_signal>("stopSignal"),
      });
  return info;
}

}  // namespace dray::api
