// SPDX-License-Identifier: Apache-2.0
//
// What a pod's status says about its claims: those named in its spec (KEP-4381) and the one that
// the scheduler made for its extended resources (KEP-5004).
#include <algorithm>
#include <string>
#include <string_view>

#include "api/internal/kind_validation.h"
#include "api/internal/name_validation.h"
#include "api/pod.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

const Container* FindContainer(const PodSpec& spec, std::string_view name) {
  for (const auto* list : {&spec.containers, &spec.init_containers}) {
    const auto it = std::ranges::find(*list, name, &Container::name);
    if (it != list->end()) return &*it;
  }
  return nullptr;
}

void CheckMapping(Report& report, const Path& status, const Path& at,
                  const ContainerExtendedResourceRequest& mapping, const PodSpec& spec) {
  const Container* container = FindContainer(spec, mapping.container_name);
  if (container == nullptr) {
    report.Invalid(at.Child("containerName"), mapping.container_name,
                   "must be a container or an init container of the pod");
  } else if (!container->resources.requests.contains(mapping.resource_name)) {
    report.Invalid(
        at.Child("resourceName"), mapping.resource_name,
        fmt::format("must be a resource that container \"{}\" requests", mapping.container_name));
  }
  // Kubernetes loses the index on this path.
  CheckForm(report, (report.OwnRules() ? at : status).Child("requestName"), mapping.request_name,
            kDnsLabel);
}

void CheckMappingsAreUnique(Report& report, const Path& at,
                            const std::vector<ContainerExtendedResourceRequest>& mappings) {
  const auto same = [](const auto& a, const auto& b) {
    return a.container_name == b.container_name && a.resource_name == b.resource_name &&
           a.request_name == b.request_name;
  };
  for (std::size_t i = 1; i < mappings.size(); ++i) {
    const auto before = mappings.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::none_of(mappings.begin(), before,
                     [&](const auto& other) { return same(other, mappings[i]); })) {
      continue;
    }
    const Path here = at.Index(i);
    report.Duplicate(here.Child("containerName"), mappings[i].container_name);
    report.Duplicate(here.Child("resourceName"), mappings[i].resource_name);
    report.Duplicate(here.Child("requestName"), mappings[i].request_name);
  }
}

void CheckExtendedResourceClaim(Report& report, const Path& at,
                                const PodExtendedResourceClaimStatus& status, const PodSpec& spec) {
  const Path mappings = at.Child("requestMappings");
  if (status.request_mappings.empty()) {
    report.Required(mappings, "must map at least one extended resource to a request");
  }
  for (std::size_t i = 0; i < status.request_mappings.size(); ++i) {
    CheckMapping(report, at, mappings.Index(i), status.request_mappings[i], spec);
  }
  CheckMappingsAreUnique(report, mappings, status.request_mappings);
  CheckRequiredForm(report, at.Child("resourceClaimName"), status.resource_claim_name,
                    kDnsSubdomain);
}

void CheckClaimStatuses(Report& report, const Path& at,
                        const std::vector<PodResourceClaimStatus>& statuses, const PodSpec& spec) {
  base::StringSet seen;
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const PodResourceClaimStatus& status = statuses[i];
    const Path here = at.Index(i);
    const auto it = std::ranges::find(spec.resource_claims, status.name, &PodResourceClaim::name);
    if (it == spec.resource_claims.end()) {
      report.Invalid(here.Child("name"), status.name,
                     "must be the name of an entry in spec.resourceClaims");
    }
    if (!seen.insert(status.name).second) report.Duplicate(here.Child("name"), status.name);
    if (status.resource_claim_name) {
      CheckForm(report, here.Child("resourceClaimName"), *status.resource_claim_name,
                kDnsSubdomain);
    }
  }
}

}  // namespace

void ValidatePodStatusUpdate(Report& report, const Pod& pod) {
  const Path at("status");
  if (pod.status.resource_claim_statuses) {
    CheckClaimStatuses(report, at.Child("resourceClaimStatuses"),
                       *pod.status.resource_claim_statuses, pod.spec);
  }
  if (pod.status.extended_resource_claim_status) {
    CheckExtendedResourceClaim(report, at.Child("extendedResourceClaimStatus"),
                               *pod.status.extended_resource_claim_status, pod.spec);
  }
}

}  // namespace dray::api::internal
