// SPDX-License-Identifier: Apache-2.0
#include "api/internal/kind_validation.h"
#include "api/internal/meta_validation.h"
#include "api/internal/name_validation.h"
#include "api/internal/taint_validation.h"

namespace dray::api::internal {
namespace {

void CheckSelector(Report& report, const Path& at, const DeviceTaintSelector& selector) {
  if (selector.driver) CheckDriverName(report, at.Child("driver"), *selector.driver);
  if (selector.pool) CheckPoolName(report, at.Child("pool"), *selector.pool);
  if (selector.device) CheckForm(report, at.Child("device"), *selector.device, kDnsLabel);
}

// An effect that is stored may be one that only a newer version knows.
void CheckChangedEffect(Report& report, const Path& at, const DeviceTaint& taint,
                        const DeviceTaint* old) {
  if (old != nullptr && old->effect == taint.effect) return;
  CheckTaintEffect(report, at.Child("effect"), taint.effect);
}

}  // namespace

void ValidateTaintRule(Report& report, const DeviceTaintRule& rule, const DeviceTaintRule* old) {
  const Path at("spec");
  if (rule.spec.device_selector) {
    CheckSelector(report, at.Child("deviceSelector"), *rule.spec.device_selector);
  }
  const Path taint = at.Child("taint");
  CheckTaintKeyAndValue(report, taint, rule.spec.taint);
  CheckChangedEffect(report, taint, rule.spec.taint, old == nullptr ? nullptr : &old->spec.taint);
}

void ValidateTaintRuleStatusUpdate(Report& report, const DeviceTaintRule& rule,
                                   const DeviceTaintRule& old) {
  const Path spec("spec");
  CheckChangedEffect(report, spec.Child("taint"), rule.spec.taint, &old.spec.taint);
  const Path at("status");
  ValidateConditions(report, at.Child("conditions"), rule.status.conditions,
                     kDeviceTaintRuleStatusMaxConditions);
}

}  // namespace dray::api::internal
