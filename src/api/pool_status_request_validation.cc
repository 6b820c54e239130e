// SPDX-License-Identifier: Apache-2.0
//
// ResourcePoolStatusRequests between decoding and storing: a question does not change, and what was
// answered stays.
#include <array>

#include "api/internal/gated_features.h"
#include "api/internal/kind_validation.h"
#include "api/internal/meta_validation.h"
#include "api/internal/name_validation.h"
#include "api/internal/strategies.h"

namespace dray::api::internal {
namespace {

using Request = ResourcePoolStatusRequest;

constexpr std::array<GatedFeature<Request>, 1> kFeatures = {{
    {Gate::kDRAPartitionableDevicesType,
     [](const Request& r) { return r.spec.default_partition_type_attribute.has_value(); },
     [](Request& r) { r.spec.default_partition_type_attribute.reset(); }},
}};

void CheckCount(Report& report, const Path& at, const std::optional<std::int32_t>& count,
                std::int32_t least = 0) {
  if (count && *count < least) {
    report.InvalidNumber(
        at, *count,
        least == 0 ? "must be greater than or equal to 0" : "must be greater than or equal to 1");
  }
}
void CheckNeeded(Report& report, const Path& at, const std::optional<std::int32_t>& count) {
  if (!count) report.Required(at, "");
  CheckCount(report, at, count);
}

void CheckPool(Report& report, const Path& at, const PoolStatus& pool) {
  CheckDriverName(report, at.Child("driver"), pool.driver);
  CheckPoolName(report, at.Child("poolName"), pool.pool_name);
  if (pool.generation < 0) {
    report.InvalidNumber(at.Child("generation"), pool.generation,
                         "must be greater than or equal to 0");
  }
  CheckCount(report, at.Child("resourceSliceCount"), pool.resource_slice_count, 1);
  CheckCount(report, at.Child("totalDevices"), pool.total_devices);
  CheckCount(report, at.Child("allocatedDevices"), pool.allocated_devices);
  CheckCount(report, at.Child("availableDevices"), pool.available_devices);
  CheckCount(report, at.Child("unavailableDevices"), pool.unavailable_devices);
  if (pool.node_name) CheckForm(report, at.Child("nodeName"), *pool.node_name, kDnsSubdomain);
  if (pool.validation_error) {
    CheckLength(report, at.Child("validationError"), *pool.validation_error,
                kPoolStatusErrorMaxLength);
  }
  const Path partitions = at.Child("partitionSummary");
  if (CheckSize(report, partitions, pool.partition_summary.size(), kPoolStatusListMax)) {
    for (std::size_t i = 0; i < pool.partition_summary.size(); ++i) {
      const PartitionTypeStatus& partition = pool.partition_summary[i];
      const Path here = partitions.Index(i);
      if (partition.attribute.empty()) report.Required(here.Child("attribute"), "");
      if (partition.type.empty()) report.Required(here.Child("type"), "");
      CheckNeeded(report, here.Child("total"), partition.total);
      CheckNeeded(report, here.Child("allocatable"), partition.allocatable);
    }
  }
  if (!pool.shareable_summary) return;
  const Path shares = at.Child("shareableSummary");
  CheckNeeded(report, shares.Child("fullyAvailableDevices"),
              pool.shareable_summary->fully_available_devices);
  CheckNeeded(report, shares.Child("partiallyAvailableDevices"),
              pool.shareable_summary->partially_available_devices);
  CheckSize(report, shares.Child("capacity"), pool.shareable_summary->capacity.size(),
            kPoolStatusListMax);
}

}  // namespace

void SetDefaults(Request& request) {
  if (!request.spec.limit) request.spec.limit = kPoolStatusLimitDefault;
}

void PrepareForCreate(Request& request, const StrategyOptions& options) {
  request.status.reset();
  DropDisabled<Request>(kFeatures, options.gates, request, nullptr);
}
void PrepareForUpdate(Request& request, const Request& old, const StrategyOptions& options) {
  request.status = old.status;
  DropDisabled<Request>(kFeatures, options.gates, request, &old);
}
void PrepareForStatusUpdate(Request& request, const Request& old, const StrategyOptions&) {
  request.spec = old.spec;
  ResetMetadataForStatus(request.metadata, old.metadata);
}

void ValidatePoolStatusRequest(Report& report, const Request& request, const Request* old) {
  const Path at("spec");
  if (old != nullptr) {
    if (!SemanticEqual(request.spec, old->spec)) {
      report.InvalidAsIs(at, "", "field is immutable");
    }
    return;
  }
  if (!report.Enabled(Gate::kDRAResourcePoolStatus)) {
    report.Forbidden(at, "needs the feature gate DRAResourcePoolStatus");
    return;
  }
  CheckDriverName(report, at.Child("driver"), request.spec.driver);
  if (request.spec.pool_name) CheckPoolName(report, at.Child("poolName"), *request.spec.pool_name);
  if (const auto& limit = request.spec.limit;
      limit && (*limit < 1 || *limit > kPoolStatusLimitMax)) {
    report.InvalidNumber(
        at.Child("limit"), *limit,
        *limit < 1 ? "must be greater than or equal to 1" : "must be less than or equal to 1000");
  }
  if (const auto& attribute = request.spec.default_partition_type_attribute) {
    CheckFullyQualifiedName(report, at.Child("defaultPartitionTypeAttribute"), *attribute);
  }
}

void ValidatePoolStatusRequestStatusUpdate(Report& report, const Request& request,
                                           const Request& old) {
  const Path at("status");
  if (old.status) {
    if (request.status != old.status) report.InvalidAsIs(at, "", "field is immutable once set");
    return;
  }
  if (!request.status) return;
  CheckNeeded(report, at.Child("poolCount"), request.status->pool_count);
  ValidateConditions(report, at.Child("conditions"), request.status->conditions,
                     kPoolStatusConditionsMax);
  const Path pools = at.Child("pools");
  if (!CheckSize(report, pools, request.status->pools.size(),
                 static_cast<std::size_t>(kPoolStatusLimitMax))) {
    return;
  }
  for (std::size_t i = 0; i < request.status->pools.size(); ++i) {
    CheckPool(report, pools.Index(i), request.status->pools[i]);
  }
}

}  // namespace dray::api::internal
