// SPDX-License-Identifier: Apache-2.0
#include "api/internal/taint_validation.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "api/internal/name_validation.h"

namespace dray::api::internal {
namespace {

constexpr std::array<std::string_view, 3> kEffects = {kTaintEffectNoExecute, kTaintEffectNoSchedule,
                                                      kTaintEffectNone};
constexpr std::array<std::string_view, 2> kOperators = {kTolerationOpEqual, kTolerationOpExists};
constexpr std::array<std::string_view, 3> kSkippable = {
    kSkipAllNodeOperations, kSkipNodePrepareResources, kSkipNodeUnprepareResources};

bool Has(const std::vector<std::string>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

void CheckToleration(Report& report, const Path& at, const DeviceToleration& toleration) {
  if (!toleration.key.empty()) CheckForm(report, at.Child("key"), toleration.key, kLabelKey);
  if (toleration.operator_.empty()) {
    report.Required(at.Child("operator"));
  } else if (toleration.operator_ == kTolerationOpEqual) {
    CheckForm(report, at.Child("value"), toleration.value, kLabelValue);
  } else if (toleration.operator_ != kTolerationOpExists) {
    report.NotSupported(at.Child("operator"), toleration.operator_, kOperators);
  } else if (!toleration.value.empty()) {
    report.Invalid(at.Child("value"), toleration.value, "operator Exists takes no value");
  }
  if (!toleration.effect.empty()) {
    CheckOneOf(report, at.Child("effect"), toleration.effect, kEffects);
  }
}

void CheckConditionNames(Report& report, const Path& at, const std::vector<std::string>& names,
                         std::size_t max) {
  if (CheckSize(report, at, names.size(), max)) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      CheckForm(report, at.Index(i), names[i], kLabelKey);
    }
  }
  CheckUnique(report, at, names);
}

}  // namespace

void CheckTaintEffect(Report& report, const Path& at, const std::string& effect) {
  if (effect.empty()) return report.Required(at);
  CheckOneOf(report, at, effect, kEffects);
}

void CheckTaintKeyAndValue(Report& report, const Path& at, const DeviceTaint& taint) {
  CheckForm(report, at.Child("key"), taint.key, kLabelKey);
  CheckForm(report, at.Child("value"), taint.value, kLabelValue);
}

void ValidateTaint(Report& report, const Path& at, const DeviceTaint& taint) {
  CheckTaintKeyAndValue(report, at, taint);
  CheckTaintEffect(report, at.Child("effect"), taint.effect);
}

void ValidateTolerations(Report& report, const Path& at,
                         const std::vector<DeviceToleration>& tolerations) {
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    CheckToleration(report, at.Index(i), tolerations[i]);
  }
}

void ValidateBindingConditions(Report& report, const Path& at,
                               const std::vector<std::string>& conditions,
                               const std::vector<std::string>& failures) {
  const Path conditions_at = at.Child("bindingConditions");
  const Path failures_at = at.Child("bindingFailureConditions");
  CheckConditionNames(report, conditions_at, conditions, kBindingConditionsMaxSize);
  CheckConditionNames(report, failures_at, failures, kBindingFailureConditionsMaxSize);
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (!Has(conditions, failures[i])) continue;
    report.Invalid(failures_at.Index(i), failures[i],
                   "a condition means success or failure, so it must not be in both lists");
  }
  if (conditions.empty() && !failures.empty()) {
    report.InvalidAsIs(conditions_at, "", "must be set where bindingFailureConditions is");
  }
  if (failures.empty() && !conditions.empty()) {
    report.InvalidAsIs(failures_at, "", "must be set where bindingConditions is");
  }
}

void ValidateSkipNodeOperations(Report& report, const Path& at,
                                const std::vector<std::string>& operations,
                                const std::vector<std::string>* old) {
  if (Has(operations, kSkipNodePrepareResources) && !Has(operations, kSkipNodeUnprepareResources) &&
      !Has(operations, kSkipAllNodeOperations)) {
    report.InvalidAsIs(at, "",
                       "NodePrepareResources may only be skipped together with "
                       "NodeUnprepareResources");
  }
  if (old != nullptr && *old == operations) return;
  CheckUnique(report, at, operations);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (old != nullptr && Has(*old, operations[i])) continue;
    CheckOneOf(report, at.Index(i), operations[i], kSkippable);
  }
}

}  // namespace dray::api::internal
