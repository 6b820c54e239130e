// SPDX-License-Identifier: Apache-2.0
//
// Environment variables of a container and where their values come from.
#pragma once

#include <optional>
#include <string>

#include "api/box.h"
#include "api/field_table.h"
#include "api/values.h"
#include "base/quantity.h"

namespace dray::api {

struct ObjectFieldSelector {
  std::string api_version;
  std::string field_path;
  UnknownFields unknown;
  friend bool operator==(const ObjectFieldSelector&, const ObjectFieldSelector&) = default;
};
const StructInfo& InfoOf(const ObjectFieldSelector*);

struct ResourceFieldSelector {
  std::string container_name;
  std::string resource;    // limits.cpu, requests.memory, ...
  base::Quantity divisor;  // zero means 1
  UnknownFields unknown;
  friend bool operator==(const ResourceFieldSelector&, const ResourceFieldSelector&) = default;
};
const StructInfo& InfoOf(const ResourceFieldSelector*);

struct ConfigMapKeySelector {
  std::string name;
  std::string key;
  std::optional<bool> optional;
  UnknownFields unknown;
  friend bool operator==(const ConfigMapKeySelector&, const ConfigMapKeySelector&) = default;
};
const StructInfo& InfoOf(const ConfigMapKeySelector*);

struct SecretKeySelector {
  std::string name;
  std::string key;
  std::optional<bool> optional;
  UnknownFields unknown;
  friend bool operator==(const SecretKeySelector&, const SecretKeySelector&) = default;
};
const StructInfo& InfoOf(const SecretKeySelector*);

// A variable in a file that an earlier container wrote into an emptyDir.
struct FileKeySelector {
  std::string volume_name;
  std::string path;
  std::string key;
  std::optional<bool> optional;
  UnknownFields unknown;
  friend bool operator==(const FileKeySelector&, const FileKeySelector&) = default;
};
const StructInfo& InfoOf(const FileKeySelector*);

// A union: exactly one is set.
struct EnvVarSource {
  Box<ObjectFieldSelector> field_ref;
  Box<ResourceFieldSelector> resource_field_ref;
  Box<ConfigMapKeySelector> config_map_key_ref;
  Box<SecretKeySelector> secret_key_ref;
  Box<FileKeySelector> file_key_ref;
  UnknownFields unknown;
  friend bool operator==(const EnvVarSource&, const EnvVarSource&) = default;
};
const StructInfo& InfoOf(const EnvVarSource*);

struct EnvVar {
  std::string name;
  std::string value;
  Box<EnvVarSource> value_from;
  UnknownFields unknown;
  friend bool operator==(const EnvVar&, const EnvVar&) = default;
};
const StructInfo& InfoOf(const EnvVar*);

struct ConfigMapEnvSource {
  std::string name;
  std::optional<bool> optional;
  UnknownFields unknown;
  friend bool operator==(const ConfigMapEnvSource&, const ConfigMapEnvSource&) = default;
};
const StructInfo& InfoOf(const ConfigMapEnvSource*);

struct SecretEnvSource {
  std::string name;
  std::optional<bool> optional;
  UnknownFields unknown;
  friend bool operator==(const SecretEnvSource&, const SecretEnvSource&) = default;
};
const StructInfo& InfoOf(const SecretEnvSource*);

// All keys of a config map or a secret.
struct EnvFromSource {
  std::string prefix;
  Box<ConfigMapEnvSource> config_map_ref;
  Box<SecretEnvSource> secret_ref;
  UnknownFields unknown;
  friend bool operator==(const EnvFromSource&, const EnvFromSource&) = default;
};
const StructInfo& InfoOf(const EnvFromSource*);

}  // namespace dray::api
