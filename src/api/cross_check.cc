// SPDX-License-Identifier: Apache-2.0
#include "api/cross_check.h"

#include <algorithm>
#include <array>

#include "api/internal/cross_world.h"
#include "fmt/format.h"

namespace dray::api {
namespace internal {

void CheckNamesAreUnique(const World& world, Findings& findings) {
  base::StringMap<std::size_t> first;
  for (std::size_t i = 0; i < world.objects.size(); ++i) {
    const Object& object = world.objects[i];
    const std::string& name = object.metadata().name;
    if (name.empty()) continue;  // generateName, or an error that validation reports
    const KindInfo& kind = object.kind();
    const std::string ns = NamespaceOf(object);
    const auto [it, added] =
        first.try_emplace(fmt::format("{}/{}/{}/{}", kind.group, kind.plural, ns, name), i);
    if (added) continue;
    findings.push_back({.object = i,
                        .path = base::FieldPath("metadata") / "name",
                        .severity = Severity::kError,
                        .reason = "DuplicateObject",
                        .message = fmt::format("another {} has the name \"{}\"", kind.kind, name),
                        .hint = "the one applied last overwrites the other",
                        .related = it->second});
  }
}

}  // namespace internal

namespace {

constexpr std::array kChecks = {
    &internal::CheckNamesAreUnique,
    &internal::CheckDeviceClassesExist,
    &internal::CheckDerivedAttributesAreUsed,
    &internal::CheckConstraintAttributesExist,
    &internal::CheckCapacitiesExist,
    &internal::CheckAdminAccessNamespaces,
    &internal::CheckPodClaimsExist,
    &internal::CheckContainerClaims,
    &internal::CheckImplicitResourcesExist,
    &internal::CheckExtendedResourcesExist,
    &internal::CheckExtendedResourceStatus,
    &internal::CheckConsumedCapacity,
    &internal::CheckAllocations,
    &internal::CheckPoolsAreComplete,
    &internal::CheckStaleSlices,
    &internal::CheckDeviceNamesInPool,
    &internal::CheckCounterSetNamesInPool,
    &internal::CheckConsumedCounters,
    &internal::CheckExtendedResourceNames,
    &internal::CheckImplicitResourceNames,
    &internal::CheckTaintRulesSelect,
};

}  // namespace

std::vector<CrossFinding> CrossCheck(std::span<const Object> objects, std::uint64_t* steps) {
  const internal::World world(objects);
  std::vector<CrossFinding> findings;
  for (const auto check : kChecks) check(world, findings);
  if (steps != nullptr) *steps = world.steps;
  std::ranges::stable_sort(findings, {}, &CrossFinding::object);
  return findings;
}

}  // namespace dray::api
