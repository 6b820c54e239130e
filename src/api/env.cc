// SPDX-License-Identifier: Apache-2.0
#include "api/env.h"

namespace dray::api {

const StructInfo& InfoOf(const ObjectFieldSelector*) {
  using T = ObjectFieldSelector;
  static const StructInfo info =
      Struct<T>("ObjectFieldSelector",
                {
                    Field<&T::api_version>("apiVersion"),
                    Field<&T::field_path>("fieldPath", {.presence = Presence::kAlways}),
                },
                {.atomic = true});
  return info;
}

const StructInfo& InfoOf(const ResourceFieldSelector*) {
  using T = ResourceFieldSelector;
  static const StructInfo info =
      Struct<T>("ResourceFieldSelector",
                {
                    Field<&T::container_name>("containerName"),
                    Field<&T::resource>("resource", {.presence = Presence::kAlways}),
                    Field<&T::divisor>("divisor"),
                },
                {.atomic = true});
  return info;
}

const StructInfo& InfoOf(const ConfigMapKeySelector*) {
  using T = ConfigMapKeySelector;
  static const StructInfo info =
      Struct<T>("ConfigMapKeySelector",
                {
                    Field<&T::name>("name"),
                    Field<&T::key>("key", {.presence = Presence::kAlways}),
                    Field<&T::optional>("optional"),
                },
                {.atomic = true});
  return info;
}

const StructInfo& InfoOf(const SecretKeySelector*) {
  using T = SecretKeySelector;
  static const StructInfo info =
      Struct<T>("SecretKeySelector",
                {
                    Field<&T::name>("name"),
                    Field<&T::key>("key", {.presence = Presence::kAlways}),
                    Field<&T::optional>("optional"),
                },
                {.atomic = true});
  return info;
}

const StructInfo& InfoOf(const FileKeySelector*) {
  using T = FileKeySelector;
  static const StructInfo info =
      Struct<T>("FileKeySelector",
                {
                    Field<&T::volume_name>("volumeName", {.presence = Presence::kAlways}),
                    Field<&T::path>("path", {.presence = Presence::kAlways}),
                    Field<&T::key>("key", {.presence = Presence::kAlways}),
                    Field<&T::optional>("optional"),
                },
                {.atomic = true});
  return info;
}

const StructInfo& InfoOf(const EnvVarSource*) {
  using T = EnvVarSource;
  static const StructInfo info =
      Struct<T>("EnvVarSource", {
                                    Field<&T::field_ref>("fieldRef"),
                                    Field<&T::resource_field_ref>("resourceFieldRef"),
                                    Field<&T::config_map_key_ref>("configMapKeyRef"),
                                    Field<&T::secret_key_ref>("secretKeyRef"),
                                    Field<&T::file_key_ref>("fileKeyRef"),
                                });
  return info;
}

const StructInfo& InfoOf(const EnvVar*) {
  using T = EnvVar;
  static const StructInfo info =
      Struct<T>("EnvVar", {
                              Field<&T::name>("name", {.presence = Presence::kAlways}),
                              Field<&T::value>("value"),
                              Field<&T::value_from>("valueFrom"),
                          });
  return info;
}

const StructInfo& InfoOf(const ConfigMapEnvSource*) {
  using T = ConfigMapEnvSource;
  static const StructInfo info =
      Struct<T>("ConfigMapEnvSource", {
                                          Field<&T::name>("name"),
                                          Field<&T::optional>("optional"),
                                      });
  return info;
}

const StructInfo& InfoOf(const SecretEnvSource*) {
  using T = SecretEnvSource;
  static const StructInfo info = Struct<T>("SecretEnvSource", {
                                                                  Field<&T::name>("name"),
                                                                  Field<&T::optional>("optional"),
                                                              });
  return info;
}

const StructInfo& InfoOf(const EnvFromSource*) {
  using T = EnvFromSource;
  static const StructInfo info =
      Struct<T>("EnvFromSource", {
                                     Field<&T::prefix>("prefix"),
                                     Field<&T::config_map_ref>("configMapRef"),
                                     Field<&T::secret_ref>("secretRef"),
                                 });
  return info;
}

}  // namespace dray::api
