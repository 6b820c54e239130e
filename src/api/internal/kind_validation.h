// SPDX-License-Identifier: Apache-2.0
//
// The kinds that have rules of their own besides metadata. `old` is the stored object.
#pragma once

#include "api/device_class.h"
#include "api/internal/report.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"

namespace dray::api::internal {

// slice_validation.cc; no old slice: creation.
void ValidateSlice(Report& report, const ResourceSlice& slice, const ResourceSlice* old);

// claim_validation.cc
void ValidateClaimCreate(Report& report, const ResourceClaim& claim);
void ValidateClaimUpdate(Report& report, const ResourceClaim& claim, const ResourceClaim& old);
// claim_status_validation.cc
void ValidateClaimStatusUpdate(Report& report, const ResourceClaim& claim,
                               const ResourceClaim& old);

// claim_validation.cc
void ValidateTemplateCreate(Report& report, const ResourceClaimTemplate& object);
void ValidateTemplateUpdate(Report& report, const ResourceClaimTemplate& object,
                            const ResourceClaimTemplate& old);

// class_validation.cc
void ValidateClass(Report& report, const DeviceClass& object, const DeviceClass* old);

// taint_rule_validation.cc
void ValidateTaintRule(Report& report, const DeviceTaintRule& rule, const DeviceTaintRule* old);
void ValidateTaintRuleStatusUpdate(Report& report, const DeviceTaintRule& rule,
                                   const DeviceTaintRule& old);

// pod_validation.cc; of a pod's spec what its containers ask for. The rest is
// registry/workload_rules.h's.
void ValidatePodResources(Report& report, const Path& at, const PodSpec& spec);

// pod_status_validation.cc; of a pod's status only what concerns claims is looked at.
void ValidatePodStatusUpdate(Report& report, const Pod& pod);

}  // namespace dray::api::internal
