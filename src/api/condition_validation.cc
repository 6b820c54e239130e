// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string_view>

#include "api/internal/meta_validation.h"
#include "api/internal/name_validation.h"

namespace dray::api::internal {
namespace {

constexpr std::size_t kReasonMaxLength = 1024;
constexpr std::size_t kMessageMaxLength = 32 * 1024;
constexpr std::array<std::string_view, 3> kStatuses = {"False", "True", "Unknown"};
// 0001-01-01T00:00:00Z, which Go writes for a time that was never set.
constexpr std::int64_t kGoZeroTime = -62135596800;

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsWordCharacter(char c) { return IsLetter(c) || (c >= '0' && c <= '9') || c == '_'; }

// [A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?
bool IsReason(std::string_view text) {
  if (text.empty() || !IsLetter(text.front()) || !IsWordCharacter(text.back())) return false;
  for (const char c : text) {
    if (!IsWordCharacter(c) && c != ',' && c != ':') return false;
  }
  return true;
}

void CheckReason(Report& report, const Path& at, std::string_view reason) {
  if (reason.empty()) return report.Required(at);
  if (!IsReason(reason)) {
    report.Invalid(at, reason,
                   "must be letters, digits, '_', ',' or ':', start with a letter and end with a "
                   "letter, digit or '_' (for example 'ReasonA')");
  }
  CheckLength(report, at, reason, kReasonMaxLength);
}

void CheckCondition(Report& report, const Path& at, const Condition& condition) {
  CheckRequiredForm(report, at.Child("type"), condition.type, kLabelKey);
  if (condition.status.empty()) {
    report.Required(at.Child("status"));
  } else {
    CheckOneOf(report, at.Child("status"), condition.status, kStatuses);
  }
  if (condition.observed_generation < 0) {
    report.InvalidNumber(at.Child("observedGeneration"), condition.observed_generation,
                         "must not be negative");
  }
  if (!condition.last_transition_time ||
      *condition.last_transition_time == base::Time::FromUnix(kGoZeroTime)) {
    report.Required(at.Child("lastTransitionTime"));
  }
  CheckReason(report, at.Child("reason"), condition.reason);
  CheckLength(report, at.Child("message"), condition.message, kMessageMaxLength);
}

}  // namespace

void ValidateConditions(Report& report, const Path& at, const std::vector<Condition>& conditions,
                        std::size_t max) {
  CheckSize(report, at, conditions.size(), max);
  CheckUnique(report, at, conditions,
              [](const Condition& c) -> std::string_view { return c.type; });
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    CheckCondition(report, at.Index(i), conditions[i]);
  }
}

}  // namespace dray::api::internal
