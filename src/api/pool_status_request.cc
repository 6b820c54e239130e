// SPDX-License-Identifier: Apache-2.0
#include "api/pool_status_request.h"

namespace dray::api {

const StructInfo& InfoOf(const ResourcePoolStatusRequestSpec*) {
  using T = ResourcePoolStatusRequestSpec;
  static const StructInfo info = Struct<T>(
      "ResourcePoolStatusRequestSpec",
      {
          Field<&T::driver>("driver", {.presence = Presence::kAlways,
                                       .doc = "The driver whose pools are asked about.",
                                       .proto = {1}}),
          Field<&T::pool_name>("poolName", {.doc = "Only this pool.", .proto = {2}}),
          Field<&T::limit>("limit", {.doc = "The most pools in the answer: 100 unless it is said.",
                                     .proto = {3}}),
          Field<&T::default_partition_type_attribute>(
              "defaultPartitionTypeAttribute",
              {.gate = Gate::kDRAPartitionableDevicesType,
               .doc = "The attribute that tells partitions apart where slices name none.",
               .proto = {4}}),
      },
      {.doc = "Which pools are asked about."});
  return info;
}

const StructInfo& InfoOf(const PartitionTypeStatus*) {
  using T = PartitionTypeStatus;
  static const StructInfo info = Struct<T>(
      "PartitionTypeStatus",
      {
          Field<&T::type>("type", {.doc = "The value of the attribute.", .proto = {1}}),
          Field<&T::total>("total",
                           {.doc = "How many partitions of the type there are.", .proto = {2}}),
          Field<&T::allocatable>("allocatable",
                                 {.doc = "How many more of them could be had now.", .proto = {3}}),
          Field<&T::attribute>("attribute",
                               {.doc = "The attribute that tells partitions apart.", .proto = {4}}),
      },
      {.doc = "What is left of one type of partitions."});
  return info;
}

const StructInfo& InfoOf(const ShareableCapacityStatus*) {
  using T = ShareableCapacityStatus;
  static const StructInfo info = Struct<T>(
      "ShareableCapacityStatus",
      {
          Field<&T::name>("name", {.doc = "The capacity.", .proto = {1}}),
          Field<&T::total>("total", {.doc = "Of all devices that can be shared.", .proto = {2}}),
          Field<&T::consumed>("consumed", {.doc = "What claims take of it.", .proto = {3}}),
          Field<&T::available>("available", {.doc = "What is left.", .proto = {4}}),
      },
      {.doc = "What is left of one capacity."});
  return info;
}

const StructInfo& InfoOf(const ShareableSummaryStatus*) {
  using T = ShareableSummaryStatus;
  static const StructInfo info = Struct<T>(
      "ShareableSummaryStatus",
      {
          Field<&T::fully_available_devices>(
              "fullyAvailableDevices", {.doc = "Devices without any share in use.", .proto = {1}}),
          Field<&T::partially_available_devices>(
              "partiallyAvailableDevices",
              {.doc = "Devices with shares in use and capacity left.", .proto = {2}}),
          Field<&T::capacity>("capacity", {.doc = "By capacity.", .proto = {3}}),
      },
      {.doc = "What is left of devices that can be shared."});
  return info;
}

const StructInfo& InfoOf(const PoolStatus*) {
  using T = PoolStatus;
  static const StructInfo info = Struct<T>(
      "PoolStatus",
      {
          Field<&T::driver>("driver", {.doc = "Whose pool it is.", .proto = {1}}),
          Field<&T::pool_name>("poolName", {.doc = "The name of the pool.", .proto = {2}}),
          Field<&T::node_name>("nodeName", {.doc = "The node whose pool it is.", .proto = {3}}),
          Field<&T::total_devices>("totalDevices",
                                   {.doc = "How many devices it has.", .proto = {4}}),
          Field<&T::allocated_devices>("allocatedDevices",
                                       {.doc = "How many of them claims have.", .proto = {5}}),
          Field<&T::available_devices>("availableDevices",
                                       {.doc = "How many are left.", .proto = {6}}),
          Field<&T::unavailable_devices>(
              "unavailableDevices", {.doc = "How many are left that are tainted.", .proto = {7}}),
          Field<&T::resource_slice_count>("resourceSliceCount",
                                          {.doc = "How many slices it has.", .proto = {8}}),
          Field<&T::generation>("generation", {.presence = Presence::kAlways,
                                               .doc = "The generation that was counted.",
                                               .proto = {9}}),
          Field<&T::validation_error>(
              "validationError", {.doc = "Why something could not be counted.", .proto = {10}}),
          Field<&T::partition_summary>(
              "partitionSummary", {.doc = "What is left, by type of partition.", .proto = {11}}),
          Field<&T::shareable_summary>(
              "shareableSummary",
              {.doc = "What is left of devices that can be shared.", .proto = {13}}),
      },
      {.doc = "What a pool has and what is left of it."});
  return info;
}

const StructInfo& InfoOf(const ResourcePoolStatusRequestStatus*) {
  using T = ResourcePoolStatusRequestStatus;
  static const StructInfo info = Struct<T>(
      "ResourcePoolStatusRequestStatus",
      {
          Field<&T::pools>("pools", {.doc = "The pools, by name.", .proto = {2}}),
          Field<&T::conditions>(
              "conditions",
              {.list = ListKind::kMap, .keys = "type", .doc = "Complete or Failed.", .proto = {3}}),
          Field<&T::pool_count>(
              "poolCount",
              {.doc = "How many pools there are, also those beyond the limit.", .proto = {6}}),
      },
      {.doc = "The answer."});
  return info;
}

const StructInfo& InfoOf(const ResourcePoolStatusRequest*) {
  using T = ResourcePoolStatusRequest;
  static const StructInfo info = Struct<T>(
      "ResourcePoolStatusRequest",
      {
          Field<&T::metadata>("metadata",
                              {.doc = "Name, labels and history of the request.", .proto = {1}}),
          Field<&T::spec>(
              "spec",
              {.presence = Presence::kAlways, .doc = "Which pools are asked about.", .proto = {2}}),
          Field<&T::status>("status", {.doc = "The answer, given once.", .proto = {3}}),
      },
      {.doc = "A question, answered once: what pools of devices have, and what is left of it."});
  return info;
}

}  // namespace dray::api
