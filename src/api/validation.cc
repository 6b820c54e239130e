// SPDX-License-Identifier: Apache-2.0
#include "api/validation.h"

#include "api/internal/kind_validation.h"
#include "api/internal/meta_validation.h"
#include "api/internal/report.h"
#include "api/job.h"
#include "api/workloads.h"
#include "base/check.h"

namespace dray::api {
namespace {

using internal::Path;
using internal::Report;

// What a workload makes its pods of; null for other kinds.
const PodSpec* TemplateOf(const Object& object) {
  if (const auto* set = object.As<ReplicaSet>()) return &set->spec.template_.spec;
  if (const auto* deployment = object.As<Deployment>()) return &deployment->spec.template_.spec;
  if (const auto* job = object.As<Job>()) return &job->spec.template_.spec;
  return nullptr;
}

void ValidateTemplate(Report& report, const PodSpec& spec) {
  const Path object("spec");
  const Path pods = object.Child("template");
  internal::ValidatePodResources(report, pods.Child("spec"), spec);
}

}  // namespace

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
  } else if (const auto* pod = object.As<Pod>()) {
    internal::ValidatePodResources(report, Path("spec"), pod->spec);
  } else if (const PodSpec* pods = TemplateOf(object)) {
    ValidateTemplate(report, *pods);
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
  } else if (const PodSpec* pods = TemplateOf(object)) {
    // What was stored before the rule was there stays usable. A pod's own amounts never change.
    if (const PodSpec* before = TemplateOf(old); *pods != *before) ValidateTemplate(report, *pods);
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
