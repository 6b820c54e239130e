// SPDX-License-Identifier: Apache-2.0
#include "api/validation.h"

#include "api/internal/kind_validation.h"
#include "api/internal/meta_validation.h"
#include "api/internal/report.h"
#include "base/check.h"

namespace dray::api {

using internal::Report;

ErrorList ValidateCreate(const Object& object, const ValidationOptions& options) {
  Report report(options);
  internal::ValidateMetaCreate(report, object.kind(), object.metadata());
  if (const auto* slice = object.As<ResourceSlice>()) {
    internal::ValidateSlice(report, *slice, nullptr);
  } else if (const auto* claim = object.As<ResourceClaim>()) {
    internal::ValidateClaimCreate(report, *claim);
  } else if (const auto* claim_template = object.As<ResourceClaimTemplate>()) {
    internal::ValidateTemplateCreate(report, *claim_template);
  } else if (const auto* device_class = object.As<DeviceClass>()) {
    internal::ValidateClass(report, *device_class, nullptr);
  } else if (const auto* rule = object.As<DeviceTaintRule>()) {
    internal::ValidateTaintRule(report, *rule, nullptr);
  }
  return report.Take();
}

ErrorList ValidateUpdate(const Object& object, const Object& old,
                         const ValidationOptions& options) {
  DRAY_CHECK(object.kind().hub == old.kind().hub, "an update changes the kind");
  Report report(options);
  internal::ValidateMetaUpdate(report, object.kind(), object.metadata(), old.metadata());
  if (const auto* slice = object.As<ResourceSlice>()) {
    internal::ValidateSlice(report, *slice, old.As<ResourceSlice>());
  } else if (const auto* claim = object.As<ResourceClaim>()) {
    internal::ValidateClaimUpdate(report, *claim, *old.As<ResourceClaim>());
  } else if (const auto* claim_template = object.As<ResourceClaimTemplate>()) {
    internal::ValidateTemplateUpdate(report, *claim_template, *old.As<ResourceClaimTemplate>());
  } else if (const auto* device_class = object.As<DeviceClass>()) {
    internal::ValidateClass(report, *device_class, old.As<DeviceClass>());
  } else if (const auto* rule = object.As<DeviceTaintRule>()) {
    internal::ValidateTaintRule(report, *rule, old.As<DeviceTaintRule>());
  }
  return report.Take();
}

ErrorList ValidateStatusUpdate(const Object& object, const Object& old,
                               const ValidationOptions& options) {
  DRAY_CHECK(object.kind().hub == old.kind().hub, "an update changes the kind");
  Report report(options);
  internal::ValidateMetaStatusUpdate(report, object.kind(), object.metadata(), old.metadata());
  if (const auto* claim = object.As<ResourceClaim>()) {
    internal::ValidateClaimStatusUpdate(report, *claim, *old.As<ResourceClaim>());
  } else if (const auto* rule = object.As<DeviceTaintRule>()) {
    internal::ValidateTaintRuleStatusUpdate(report, *rule, *old.As<DeviceTaintRule>());
  } else if (const auto* pod = object.As<Pod>()) {
    internal::ValidatePodStatusUpdate(report, *pod);
  }
  return report.Take();
}

}  // namespace dray::api
