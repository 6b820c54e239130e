// SPDX-License-Identifier: Apache-2.0
#include "api/limit_range.h"

namespace dray::api {

const StructInfo& InfoOf(const LimitRangeItem*) {
  using T = LimitRangeItem;
  static const StructInfo info = Struct<T>(
      "LimitRangeItem",
      {
          Field<&T::type>("type",
                          {.presence = Presence::kAlways,
                           .doc = "What they are for: Container, Pod or PersistentVolumeClaim.",
                           .proto = {1}}),
          Field<&T::max>("max", {.doc = "The most of each resource.", .proto = {2}}),
          Field<&T::min>("min", {.doc = "The least of each resource.", .proto = {3}}),
          Field<&T::default_>("default",
                              {.doc = "The limits of a container that has none.", .proto = {4}}),
          Field<&T::default_request>(
              "defaultRequest",
              {.doc = "What a container asks for that does not say.", .proto = {5}}),
          Field<&T::max_limit_request_ratio>(
              "maxLimitRequestRatio",
              {.doc = "How many times its request a limit may be.", .proto = {6}}),
      },
      {.doc = "Limits of one type of things."});
  return info;
}

const StructInfo& InfoOf(const LimitRangeSpec*) {
  using T = LimitRangeSpec;
  static const StructInfo info = Struct<T>(
      "LimitRangeSpec",
      {
          Field<&T::limits>("limits",
                            {.presence = Presence::kAlways, .doc = "The limits.", .proto = {1}}),
      },
      {.doc = "The limits of a namespace."});
  return info;
}

const StructInfo& InfoOf(const LimitRange*) {
  using T = LimitRange;
  static const StructInfo info = Struct<T>(
      "LimitRange",
      {
          Field<&T::metadata>("metadata",
                              {.doc = "Name, labels and history of the limits.", .proto = {1}}),
          Field<&T::spec>("spec", {.doc = "The limits.", .proto = {2}}),
      },
      {.doc = "What containers and pods of a namespace may ask for."});
  return info;
}

}  // namespace dray::api
