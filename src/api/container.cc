// SPDX-License-Identifier: Apache-2.0
#include "api/container.h"

namespace dray::api {

const StructInfo& InfoOf(const ContainerResourceClaim*) {
  using T = ContainerResourceClaim;
  static const StructInfo info =
      Struct<T>("ResourceClaim", {
                                     Field<&T::name>("name", {.presence = Presence::kAlways}),
                                     Field<&T::request>("request"),
                                 });
  return info;
}

const StructInfo& InfoOf(const ResourceRequirements*) {
  using T = ResourceRequirements;
  static const StructInfo info =
      Struct<T>("ResourceRequirements",
                {
                    Field<&T::limits>("limits"),
                    Field<&T::requests>("requests"),
                    Field<&T::claims>("claims", {.list = ListKind::kMap,
                                                 .keys = "name",
                                                 .gate = Gate::kDynamicResourceAllocation,
                                                 .patch_key = kPatchReplaces}),
                });
  return info;
}

const StructInfo& InfoOf(const ContainerPort*) {
  using T = ContainerPort;
  static const StructInfo info =
      Struct<T>("ContainerPort",
                {
                    Field<&T::name>("name"),
                    Field<&T::host_port>("hostPort"),
                    Field<&T::container_port>("containerPort", {.presence = Presence::kAlways}),
                    Field<&T::protocol>("protocol"),
                    Field<&T::host_ip>("hostIP"),
                });
  return info;
}

const StructInfo& InfoOf(const VolumeMount*) {
  using T = VolumeMount;
  static const StructInfo info =
      Struct<T>("VolumeMount",
                {
                    Field<&T::name>("name", {.presence = Presence::kAlways}),
                    Field<&T::read_only>("readOnly"),
                    Field<&T::recursive_read_only>("recursiveReadOnly"),
                    Field<&T::mount_path>("mountPath", {.presence = Presence::kAlways}),
                    Field<&T::sub_path>("subPath"),
                    Field<&T::mount_propagation>("mountPropagation"),
                    Field<&T::sub_path_expr>("subPathExpr"),
                    Field<&T::bind_mount_options>(
                        "bindMountOptions", {.list = ListKind::kSet, .patch_key = kPatchReplaces}),
                });
  return info;
}

const StructInfo& InfoOf(const VolumeDevice*) {
  using T = VolumeDevice;
  static const StructInfo info = Struct<T>(
      "VolumeDevice", {
                          Field<&T::name>("name", {.presence = Presence::kAlways}),
                          Field<&T::device_path>("devicePath", {.presence = Presence::kAlways}),
                      });
  return info;
}

const StructInfo& InfoOf(const ContainerResizePolicy*) {
  using T = ContainerResizePolicy;
  static const StructInfo info =
      Struct<T>("ContainerResizePolicy",
                {
                    Field<&T::resource_name>("resourceName", {.presence = Presence::kAlways}),
                    Field<&T::restart_policy>("restartPolicy", {.presence = Presence::kAlways}),
                });
  return info;
}

const StructInfo& InfoOf(const ContainerRestartRuleOnExitCodes*) {
  using T = ContainerRestartRuleOnExitCodes;
  static const StructInfo info = Struct<T>(
      "ContainerRestartRuleOnExitCodes",
      {
          Field<&T::operator_>("operator"),
          Field<&T::values>("values", {.list = ListKind::kSet, .patch_key = kPatchReplaces}),
      });
  return info;
}

const StructInfo& InfoOf(const ContainerRestartRule*) {
  using T = ContainerRestartRule;
  static const StructInfo info =
      Struct<T>("ContainerRestartRule", {
                                            Field<&T::action>("action"),
                                            Field<&T::exit_codes>("exitCodes"),
                                        });
  return info;
}

const StructInfo& InfoOf(const Container*) {
  using T = Container;
  static const StructInfo info = Struct<T>(
      "Container",
      {
          Field<&T::name>("name", {.presence = Presence::kAlways}),
          Field<&T::image>("image"),
          Field<&T::command>("command"),
          Field<&T::args>("args"),
          Field<&T::working_dir>("workingDir"),
          Field<&T::ports>("ports", {.list = ListKind::kMap, .keys = "containerPort,protocol"}),
          Field<&T::env_from>("envFrom"),
          Field<&T::env>("env", {.list = ListKind::kMap, .keys = "name"}),
          Field<&T::resources>("resources"),
          Field<&T::resize_policy>("resizePolicy"),
          Field<&T::restart_policy>("restartPolicy"),
          Field<&T::restart_policy_rules>("restartPolicyRules"),
          Field<&T::volume_mounts>("volumeMounts", {.list = ListKind::kMap, .keys = "mountPath"}),
          Field<&T::volume_devices>("volumeDevices",
                                    {.list = ListKind::kMap, .keys = "devicePath"}),
          Field<&T::liveness_probe>("livenessProbe"),
          Field<&T::readiness_probe>("readinessProbe"),
          Field<&T::startup_probe>("startupProbe"),
          Field<&T::lifecycle>("lifecycle"),
          Field<&T::termination_message_path>("terminationMessagePath"),
          Field<&T::termination_message_policy>("terminationMessagePolicy"),
          Field<&T::image_pull_policy>("imagePullPolicy"),
          Field<&T::security_context>("securityContext"),
          Field<&T::stdin_>("stdin"),
          Field<&T::stdin_once>("stdinOnce"),
          Field<&T::tty>("tty"),
      });
  return info;
}

namespace {

// A field of `common` as a field of the ephemeral container itself.
template <auto Member>
FieldInfo Common(std::string_view name) {
  const StructInfo& container = InfoOf(static_cast<const Container*>(nullptr));
  FieldInfo field = container.fields[static_cast<std::size_t>(container.Find(name))];
  field.get = [](const void* object) -> const void* {
    return &(static_cast<const EphemeralContainer*>(object)->common.*Member);
  };
  field.mut = [](void* object) -> void* {
    return &(static_cast<EphemeralContainer*>(object)->common.*Member);
  };
  return field;
}

}  // namespace

const StructInfo& InfoOf(const EphemeralContainer*) {
  using C = Container;
  static const StructInfo info = [] {
    StructInfo table = Struct<EphemeralContainer>(
        "EphemeralContainer",
        {
            Common<&C::name>("name"),
            Common<&C::image>("image"),
            Common<&C::command>("command"),
            Common<&C::args>("args"),
            Common<&C::working_dir>("workingDir"),
            Common<&C::ports>("ports"),
            Common<&C::env_from>("envFrom"),
            Common<&C::env>("env"),
            Common<&C::resources>("resources"),
            Common<&C::resize_policy>("resizePolicy"),
            Common<&C::restart_policy>("restartPolicy"),
            Common<&C::restart_policy_rules>("restartPolicyRules"),
            Common<&C::volume_mounts>("volumeMounts"),
            Common<&C::volume_devices>("volumeDevices"),
            Common<&C::liveness_probe>("livenessProbe"),
            Common<&C::readiness_probe>("readinessProbe"),
            Common<&C::startup_probe>("startupProbe"),
            Common<&C::lifecycle>("lifecycle"),
            Common<&C::termination_message_path>("terminationMessagePath"),
            Common<&C::termination_message_policy>("terminationMessagePolicy"),
            Common<&C::image_pull_policy>("imagePullPolicy"),
            Common<&C::security_context>("securityContext"),
            Common<&C::stdin_>("stdin"),
            Common<&C::stdin_once>("stdinOnce"),
            Common<&C::tty>("tty"),
            Field<&EphemeralContainer::target_container_name>("targetContainerName"),
        });
    table.unknown = [](const void* object) -> const UnknownFields* {
      return &static_cast<const EphemeralContainer*>(object)->common.unknown;
    };
    table.mutable_unknown = [](void* object) -> UnknownFields* {
      return &static_cast<EphemeralContainer*>(object)->common.unknown;
    };
    return table;
  }();
  return info;
}

}  // namespace dray::api
