// SPDX-License-Identifier: Apache-2.0
#include "api/config_map.h"

namespace dray::api {

const StructInfo& InfoOf(const ConfigMap*) {
  using T = ConfigMap;
  static const StructInfo info = Struct<T>(
      "ConfigMap",
      {
          Field<&T::metadata>("metadata",
                              {.doc = "Name, labels and history of the config map.", .proto = {1}}),
          Field<&T::immutable>(
              "immutable", {.doc = "Whether the data can never be changed again.", .proto = {4}}),
          Field<&T::data>("data", {.doc = "The settings: texts by key.", .proto = {2}}),
          Field<&T::binary_data>("binaryData",
                                 {.doc = "Settings that are no text, as base64. A key is in one of "
                                         "the two maps only.",
                                  .proto = {3}}),
      },
      {.doc = "Settings that pods read as files or variables."});
  return info;
}

const StructInfo& InfoOf(const Secret*) {
  using T = Secret;
  static const StructInfo info = Struct<T>(
      "Secret",
      {
          Field<&T::metadata>("metadata",
                              {.doc = "Name, labels and history of the secret.", .proto = {1}}),
          Field<&T::immutable>(
              "immutable", {.doc = "Whether the data can never be changed again.", .proto = {5}}),
          Field<&T::data>("data", {.doc = "The secrets: bytes by key, as base64.", .proto = {2}}),
          Field<&T::string_data>("stringData",
                                 {.doc = "Secrets as plain text. They are put into data, over what "
                                         "is there, and are never shown here.",
                                  .proto = {4}}),
          Field<&T::type>("type",
                          {.doc = "What it is for: Opaque, kubernetes.io/tls and so on. Some types "
                                  "ask for certain keys.",
                           .proto = {3}}),
      },
      {.doc = "Secrets that pods read as files or variables. They are stored as they are, without "
              "encryption."});
  return info;
}

}  // namespace dray::api
