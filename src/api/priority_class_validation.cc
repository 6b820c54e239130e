// SPDX-License-Identifier: Apache-2.0
#include "api/internal/priority_class_validation.h"

#include <array>
#include <string_view>

#include "api/pod.h"
#include "api/pod_group.h"
#include "api/system_priority.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

constexpr std::string_view kSystemPrefix = "system-";

void CheckSystemClass(Report& report, const PriorityClass& row) {
  const Path metadata("metadata");
  const Path at = metadata.Child("name");
  const auto refuse = [&](std::string_view why) {
    report.Forbidden(at,
                     fmt::format("priority class names with '{}' prefix are reserved for system "
                                 "use only. error: {}",
                                 kSystemPrefix, why));
  };
  const std::string& name = row.metadata.name;
  const auto value = SystemPriority(name);
  if (!value) {
    refuse(fmt::format("{} is not a known system priority class", name));
  } else if (row.value != *value) {
    refuse(fmt::format("value of {} PriorityClass must be {}", name, *value));
  } else if (row.global_default) {
    refuse(fmt::format("globalDefault of {} PriorityClass must be false", name));
  }
}

void CheckPreemptionPolicy(Report& report, const PriorityClass& row) {
  constexpr std::array<std::string_view, 2> kPolicies = {kPreemptLowerPriority, kPreemptNever};
  if (!row.preemption_policy) return;
  const Path at("preemptionPolicy");
  if (row.preemption_policy->empty()) return report.Required(at);
  CheckOneOf(report, at, *row.preemption_policy, kPolicies);
}

// One that says nothing means the default, which is filled in when it is written.
std::string_view PolicyOf(const PriorityClass& row) {
  return row.preemption_policy ? std::string_view(*row.preemption_policy) : kPreemptLowerPriority;
}

}  // namespace

void ValidatePriorityClass(Report& report, const PriorityClass& row, const PriorityClass* old) {
  if (old == nullptr) {
    if (row.metadata.name.starts_with(kSystemPrefix)) {
      CheckSystemClass(report, row);
    } else if (row.value > kHighestUserPriority) {
      report.Forbidden(Path("value"),
                       fmt::format("maximum allowed value of a user defined priority is {}",
                                   kHighestUserPriority));
    }
    return CheckPreemptionPolicy(report, row);
  }
  // Pods that were admitted keep the number that their class had: it must go on saying it.
  if (row.value != old->value) {
    report.Forbidden(Path("value"), "may not be changed in an update.");
  }
  const std::string_view after = PolicyOf(row);
  if (PolicyOf(*old) != after)
    report.Invalid(Path("preemptionPolicy"), after, "field is immutable");
}

}  // namespace dray::api::internal
