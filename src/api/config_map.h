// SPDX-License-Identifier: Apache-2.0
//
// v1 ConfigMap and Secret: settings and secrets that pods read as files and variables.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "api/field_table.h"
#include "api/map.h"
#include "api/meta.h"
#include "api/values.h"

namespace dray::api {

// Of all keys and values together.
inline constexpr std::size_t kMaxSettingsSize = 1024 * 1024;

struct ConfigMap {
  ObjectMeta metadata;
  std::optional<bool> immutable;
  Map<std::string> data;
  Map<Bytes> binary_data;
  UnknownFields unknown;
  friend bool operator==(const ConfigMap&, const ConfigMap&) = default;
};
const StructInfo& InfoOf(const ConfigMap*);

inline constexpr std::string_view kSecretTypeOpaque = "Opaque";
inline constexpr std::string_view kSecretTypeServiceAccountToken =
    "kubernetes.io/service-account-token";
inline constexpr std::string_view kSecretTypeDockercfg = "kubernetes.io/dockercfg";
inline constexpr std::string_view kSecretTypeDockerConfigJson = "kubernetes.io/dockerconfigjson";
inline constexpr std::string_view kSecretTypeBasicAuth = "kubernetes.io/basic-auth";
inline constexpr std::string_view kSecretTypeSshAuth = "kubernetes.io/ssh-auth";
inline constexpr std::string_view kSecretTypeTls = "kubernetes.io/tls";
inline constexpr std::string_view kServiceAccountNameAnnotation =
    "kubernetes.io/service-account.name";

struct Secret {
  ObjectMeta metadata;
  std::optional<bool> immutable;
  Map<Bytes> data;
  Map<std::string> string_data;  // goes into data when it is written, and is never shown
  std::string type;
  UnknownFields unknown;
  friend bool operator==(const Secret&, const Secret&) = default;
};
const StructInfo& InfoOf(const Secret*);

}  // namespace dray::api
