// SPDX-License-Identifier: Apache-2.0
//
// What containers ask for: amounts that a scheduler can count with. Devices are counted in whole
// numbers and cannot be promised to more containers than there are, so that requests equal limits.
//
// Spec: KEP-5004 "Proposal" (an extended resource is a name and a whole number); the messages are
// Kubernetes's. docs/decisions.md, "amounts of an extended resource".
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "api/extended_resources.h"
#include "api/internal/pod_validation.h"
#include "api/pod_resources.h"
#include "base/names.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

bool OvercommitAllowed(std::string_view resource) {
  return IsNativeResource(resource) && !resource.starts_with(kHugePagesPrefix);
}

void CheckResourceName(Report& report, const Path& at, std::string_view name) {
  constexpr std::array<std::string_view, 3> kStandard = {"cpu", "memory", "ephemeral-storage"};
  const base::Reasons reasons = base::CheckQualifiedName(name);
  for (const std::string& reason : reasons) report.Invalid(at, name, reason);
  if (!reasons.empty()) return;
  if (name.find('/') == std::string_view::npos) {
    if (std::ranges::find(kStandard, name) == kStandard.end() &&
        !name.starts_with(kHugePagesPrefix)) {
      report.Invalid(at, name, "must be a standard resource for containers");
    }
  } else if (!IsNativeResource(name) && !IsExtendedResourceName(name)) {
    report.Invalid(at, name, "doesn't follow extended resource name standard");
  }
}

void CheckAmount(Report& report, const Path& at, std::string_view name,
                 const base::Quantity& amount) {
  if (amount.Sign() < 0) {
    report.Invalid(at, amount.ToString(), "must be greater than or equal to 0");
  }
  if (IsDeviceResourceName(name) && !amount.IsInteger()) {
    report.Invalid(at, amount.ToString(), "must be an integer");
  }
}

void CheckResources(Report& report, const Path& at, const ResourceRequirements& resources) {
  const Path limits = at.Child("limits");
  const Path requests = at.Child("requests");
  for (const auto& [key, limit] : resources.limits) {
    const std::string_view name(key);
    const Path here = limits.Key(name);
    CheckResourceName(report, here, name);
    CheckAmount(report, here, name, limit);
  }
  for (const auto& [key, amount] : resources.requests) {
    const std::string_view name(key);
    const base::Quantity* limit = resources.limits.Find(name);
    // A request that was made of the limit has the limit's faults, which have been told.
    if (limit == nullptr || amount != *limit) {
      const Path here = requests.Key(name);
      CheckResourceName(report, here, name);
      CheckAmount(report, here, name, amount);
    }
    if (limit == nullptr) {
      if (!OvercommitAllowed(name)) {
        report.Required(limits, "Limit must be set for non overcommitable resources");
      }
    } else if (amount != *limit && !OvercommitAllowed(name)) {
      report.Invalid(requests, amount.ToString(),
                     fmt::format("must be equal to {} limit of {}", name, limit->ToString()));
    } else if (amount > *limit) {
      report.Invalid(
          requests, amount.ToString(),
          fmt::format("must be less than or equal to {} limit of {}", name, limit->ToString()));
    }
  }
}

// Pages that nobody can ask for alone.
void CheckHugePages(Report& report, const Path& at, const ResourceRequirements& resources) {
  bool pages = false;
  bool others = false;
  for (const auto* amounts : {&resources.limits, &resources.requests}) {
    for (const auto& [key, amount] : *amounts) {
      const std::string_view name(key);
      pages = pages || name.starts_with(kHugePagesPrefix);
      others = others || name == "cpu" || name == "memory";
    }
  }
  if (pages && !others) report.Forbidden(at, "HugePages require cpu or memory");
}

bool IsPodLevel(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with(kHugePagesPrefix);
}

// Amounts for all containers together: there are no devices among them, and what the containers ask
// for has to fit.
void CheckPodLevel(Report& report, const Path& at, const PodSpec& spec) {
  constexpr std::array<std::string_view, 3> kNames = {"cpu", "hugepages-*", "memory"};
  const ResourceRequirements& whole = *spec.resources;
  for (const bool limits : {true, false}) {
    const Path amounts = at.Child(limits ? "limits" : "requests");
    for (const auto& [key, amount] : limits ? whole.limits : whole.requests) {
      const std::string_view name(key);
      if (!IsPodLevel(name)) report.NotSupported(amounts.Key(name), name, kNames);
    }
  }
  if (!whole.claims.empty()) {
    report.Forbidden(at.Child("claims"), "may not be set for Resources at pod-level");
  }
  CheckResources(report, at, whole);
  CheckHugePages(report, at, whole);
  Pod containers;
  containers.spec.containers = spec.containers;
  containers.spec.init_containers = spec.init_containers;
  const Map<base::Quantity> asked = PodRequests(containers);
  const Path requests = at.Child("requests");
  for (const auto& [key, amount] : whole.requests) {
    const std::string_view name(key);
    const base::Quantity* sum = asked.Find(name);
    if (IsPodLevel(name) && sum != nullptr && amount < *sum) {
      report.Invalid(requests.Key(name), amount.ToString(),
                     fmt::format("must be greater than or equal to aggregate container requests "
                                 "of {}",
                                 sum->ToString()));
    }
  }
}

void CheckContainers(Report& report, const Path& at, const std::vector<Container>& containers) {
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Path here = at.Index(i);
    const Path resources = here.Child("resources");
    CheckResources(report, resources, containers[i].resources);
    CheckHugePages(report, resources, containers[i].resources);
  }
}

}  // namespace

void ValidatePodResources(Report& report, const Path& at, const PodSpec& spec) {
  CheckContainers(report, at.Child("containers"), spec.containers);
  CheckContainers(report, at.Child("initContainers"), spec.init_containers);
  if (spec.resources) CheckPodLevel(report, at.Child("resources"), spec);
  const Path overhead = at.Child("overhead");
  for (const auto& [key, amount] : spec.overhead) {
    const std::string_view name(key);
    CheckResourceName(report, overhead.Key(name), name);
    CheckAmount(report, overhead.Key(name), name, amount);
  }
}

}  // namespace dray::api::internal
