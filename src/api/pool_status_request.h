// SPDX-License-Identifier: Apache-2.0
//
// resource.k8s.io/v1alpha3 ResourcePoolStatusRequest: somebody asks once how many devices the pools
// of a driver have and how many are left; a controller answers in the status, and that stays.
//
// Spec: KEP-5677 (the gate DRAResourcePoolStatus).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/box.h"
#include "api/field_table.h"
#include "api/meta.h"
#include "api/values.h"
#include "base/quantity.h"

namespace dray::api {

inline constexpr std::int32_t kPoolStatusLimitDefault = 100;
inline constexpr std::int32_t kPoolStatusLimitMax = 1000;
inline constexpr std::size_t kPoolStatusListMax = 32;
inline constexpr std::size_t kPoolStatusConditionsMax = 10;
inline constexpr std::size_t kPoolStatusErrorMaxLength = 256;
inline constexpr std::string_view kPoolStatusComplete = "Complete";
inline constexpr std::string_view kPoolStatusFailed = "Failed";

struct ResourcePoolStatusRequestSpec {
  std::string driver;
  std::optional<std::string> pool_name;
  std::optional<std::int32_t> limit;
  // Groups partitions of pools whose slices name no attribute themselves.
  std::optional<std::string> default_partition_type_attribute;
  UnknownFields unknown;
  friend bool operator==(const ResourcePoolStatusRequestSpec&,
                         const ResourcePoolStatusRequestSpec&) = default;
};
const StructInfo& InfoOf(const ResourcePoolStatusRequestSpec*);

struct PartitionTypeStatus {
  std::string type;
  std::optional<std::int32_t> total;
  std::optional<std::int32_t> allocatable;
  std::string attribute;
  UnknownFields unknown;
  friend bool operator==(const PartitionTypeStatus&, const PartitionTypeStatus&) = default;
};
const StructInfo& InfoOf(const PartitionTypeStatus*);

struct ShareableCapacityStatus {
  std::string name;
  std::optional<base::Quantity> total;
  std::optional<base::Quantity> consumed;
  std::optional<base::Quantity> available;
  UnknownFields unknown;
  friend bool operator==(const ShareableCapacityStatus&, const ShareableCapacityStatus&) = default;
};
const StructInfo& InfoOf(const ShareableCapacityStatus*);

struct ShareableSummaryStatus {
  std::optional<std::int32_t> fully_available_devices;
  std::optional<std::int32_t> partially_available_devices;
  std::vector<ShareableCapacityStatus> capacity;
  UnknownFields unknown;
  friend bool operator==(const ShareableSummaryStatus&, const ShareableSummaryStatus&) = default;
};
const StructInfo& InfoOf(const ShareableSummaryStatus*);

struct PoolStatus {
  std::string driver;
  std::string pool_name;
  std::optional<std::string> node_name;
  std::optional<std::int32_t> total_devices;
  std::optional<std::int32_t> allocated_devices;
  std::optional<std::int32_t> available_devices;
  std::optional<std::int32_t> unavailable_devices;
  std::optional<std::int32_t> resource_slice_count;
  std::int64_t generation = 0;
  std::optional<std::string> validation_error;
  std::vector<PartitionTypeStatus> partition_summary;
  Box<ShareableSummaryStatus> shareable_summary;
  UnknownFields unknown;
  friend bool operator==(const PoolStatus&, const PoolStatus&) = default;
};
const StructInfo& InfoOf(const PoolStatus*);

struct ResourcePoolStatusRequestStatus {
  std::vector<PoolStatus> pools;
  std::vector<Condition> conditions;
  std::optional<std::int32_t> pool_count;
  UnknownFields unknown;
  friend bool operator==(const ResourcePoolStatusRequestStatus&,
                         const ResourcePoolStatusRequestStatus&) = default;
};
const StructInfo& InfoOf(const ResourcePoolStatusRequestStatus*);

struct ResourcePoolStatusRequest {
  ObjectMeta metadata;
  ResourcePoolStatusRequestSpec spec;
  Box<ResourcePoolStatusRequestStatus> status;  // set once: the answer
  UnknownFields unknown;
  friend bool operator==(const ResourcePoolStatusRequest&,
                         const ResourcePoolStatusRequest&) = default;
};
const StructInfo& InfoOf(const ResourcePoolStatusRequest*);

}  // namespace dray::api
