// SPDX-License-Identifier: Apache-2.0
//
// What a pod's status says about its claims: those named in its spec (KEP-4381) and the one that
// the scheduler made for its extended resources (KEP-5004).
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "api/internal/device_validation.h"
#include "api/internal/kind_validation.h"
#include "api/internal/name_validation.h"
#include "api/pod.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

constexpr std::string_view kClaimPrefix = "claim:";

// Looked up, not looked for: a status has room for tens of thousands of everything.
using Containers = base::StringMap<const Container*>;

Containers ContainersOf(const PodSpec& spec) {
  Containers containers;
  for (const auto* list : {&spec.containers, &spec.init_containers}) {
    for (const Container& container : *list) containers.try_emplace(container.name, &container);
  }
  return containers;
}

const Container* FindContainer(const Containers& containers, std::string_view name) {
  const auto it = containers.find(name);
  return it == containers.end() ? nullptr : it->second;
}

void CheckMapping(Report& report, const Path& status, const Path& at,
                  const ContainerExtendedResourceRequest& mapping, const Containers& containers) {
  const Container* container = FindContainer(containers, mapping.container_name);
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
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> seen;
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    const ContainerExtendedResourceRequest& mapping = mappings[i];
    if (seen.emplace(mapping.container_name, mapping.resource_name, mapping.request_name).second) {
      continue;
    }
    const Path here = at.Index(i);
    report.Duplicate(here.Child("containerName"), mappings[i].container_name);
    report.Duplicate(here.Child("resourceName"), mappings[i].resource_name);
    report.Duplicate(here.Child("requestName"), mappings[i].request_name);
  }
}

void CheckExtendedResourceClaim(Report& report, const Path& at,
                                const PodExtendedResourceClaimStatus& status,
                                const Containers& containers) {
  const Path mappings = at.Child("requestMappings");
  if (status.request_mappings.empty()) {
    report.Required(mappings, "must map at least one extended resource to a request");
  }
  for (std::size_t i = 0; i < status.request_mappings.size(); ++i) {
    CheckMapping(report, at, mappings.Index(i), status.request_mappings[i], containers);
  }
  CheckMappingsAreUnique(report, mappings, status.request_mappings);
  CheckRequiredForm(report, at.Child("resourceClaimName"), status.resource_claim_name,
                    kDnsSubdomain);
}

void CheckClaimStatuses(Report& report, const Path& at,
                        const std::vector<PodResourceClaimStatus>& statuses, const PodSpec& spec) {
  base::StringSet names;
  for (const PodResourceClaim& claim : spec.resource_claims) names.insert(claim.name);
  base::StringSet seen;
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const PodResourceClaimStatus& status = statuses[i];
    const Path here = at.Index(i);
    if (!names.contains(status.name)) {
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

// "claim:<claim>/<request>" or "claim:<claim>" of each that the container uses, and
// "claim:<claim object>/<request>" of each request that was made for its extended resources, which
// Kubernetes's documentation names and its validation refuses.
base::StringSet ClaimsOf(const Container* container,
                         const Box<PodExtendedResourceClaimStatus>& extended) {
  base::StringSet names;
  if (container == nullptr) return names;
  if (extended.has_value()) {
    for (const ContainerExtendedResourceRequest& mapping : extended->request_mappings) {
      if (mapping.container_name != container->name) continue;
      names.insert(fmt::format("{}{}/{}", kClaimPrefix, extended->resource_claim_name,
                               mapping.request_name));
    }
  }
  for (const ContainerResourceClaim& claim : container->resources.claims) {
    names.insert(claim.request.empty()
                     ? fmt::format("{}{}", kClaimPrefix, claim.name)
                     : fmt::format("{}{}/{}", kClaimPrefix, claim.name, claim.request));
  }
  return names;
}

void CheckHealth(Report& report, const Path& at, const ResourceStatus& status) {
  constexpr std::array<std::string_view, 3> kHealth = {"Healthy", "Unhealthy", "Unknown"};
  base::StringSet seen;
  for (std::size_t i = 0; i < status.resources.size(); ++i) {
    const ResourceHealth& health = status.resources[i];
    const Path here = at.Index(i);
    if (!seen.insert(health.resource_id).second) {
      report.Duplicate(here.Child("resourceID"), health.resource_id);
    }
    if (!health.health.empty()) CheckOneOf(report, here.Child("health"), health.health, kHealth);
  }
}

// What is told about the health of what a container was given is about what it asked for.
void CheckAllocatedResources(Report& report, const Path& at, const ContainerStatus& status,
                             const Containers& containers,
                             const Box<PodExtendedResourceClaimStatus>& extended) {
  if (status.allocated_resources_status.empty()) return;
  const Container* container = FindContainer(containers, status.name);
  const base::StringSet claims = ClaimsOf(container, extended);
  base::StringSet seen;
  for (std::size_t i = 0; i < status.allocated_resources_status.size(); ++i) {
    const ResourceStatus& resource = status.allocated_resources_status[i];
    const Path here = at.Index(i);
    if (std::string_view(resource.name).starts_with(kClaimPrefix)) {
      if (!claims.contains(resource.name)) {
        report.Invalid(here.Child("name"), resource.name,
                       "must match one of the container's resource claims in a format "
                       "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty");
      }
    } else if (container == nullptr || !container->resources.requests.contains(resource.name)) {
      report.Invalid(here.Child("name"), resource.name,
                     "must match one of the container's resource requests");
    }
    if (!seen.insert(resource.name).second) report.Duplicate(here.Child("name"), resource.name);
    CheckHealth(report, here.Child("resources"), resource);
  }
}

void CheckContainerStatuses(Report& report, const Path& at,
                            const std::vector<ContainerStatus>& statuses,
                            const Containers& containers,
                            const Box<PodExtendedResourceClaimStatus>& extended) {
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const Path here = at.Index(i);
    CheckAllocatedResources(report, here.Child("allocatedResourcesStatus"), statuses[i], containers,
                            extended);
  }
}

void CheckAmount(Report& report, const Path& at, const std::optional<base::Quantity>& amount) {
  if (amount && amount->Sign() < 0) report.InvalidQuantity(at, *amount, "must be non-negative");
}

void CheckNodeResource(Report& report, const Path& at, const std::string& name) {
  if (!IsNodeResource(name)) {
    report.Invalid(at.Child("name"), name, "must be a node allocatable resource name");
  }
}

// What claims take of the node is about claims of the pod, and about resources that nodes have.
void CheckNodeAllocatable(Report& report, const Path& at, const Pod& pod) {
  base::StringSet claims;
  for (const PodResourceClaim& claim : pod.spec.resource_claims) {
    if (claim.resource_claim_name) claims.insert(*claim.resource_claim_name);
  }
  if (pod.status.resource_claim_statuses) {
    for (const PodResourceClaimStatus& status : *pod.status.resource_claim_statuses) {
      if (status.resource_claim_name) claims.insert(*status.resource_claim_name);
    }
  }
  const auto& statuses = *pod.status.node_allocatable_resource_claim_statuses;
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const NodeAllocatableResourceClaimStatus& status = statuses[i];
    const Path here = at.Index(i);
    if (status.resource_claim_name.empty()) continue;
    if (!claims.contains(status.resource_claim_name)) {
      report.Invalid(here.Child("resourceClaimName"), status.resource_claim_name,
                     "no mapping found in pod reference");
    }
    const Path mapping = here.Child("mapping");
    for (std::size_t j = 0; j < status.mapping.size(); ++j) {
      const Path item = mapping.Index(j);
      CheckNodeResource(report, item, status.mapping[j].name);
      CheckAmount(report, item.Child("quantity"), status.mapping[j].quantity);
    }
    const Path overheads = here.Child("overhead");
    for (std::size_t j = 0; j < status.overhead.size(); ++j) {
      const NodeAllocatableOverheadResources& overhead = status.overhead[j];
      const Path item = overheads.Index(j);
      CheckNodeResource(report, item, overhead.name);
      if (!overhead.per_pod && !overhead.per_container) {
        report.InvalidAsIs(item, "", "at least one of perPod or perContainer must be set");
      }
      CheckAmount(report, item.Child("perPod"), overhead.per_pod);
      CheckAmount(report, item.Child("perContainer"), overhead.per_container);
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
  const Containers containers = ContainersOf(pod.spec);
  const auto& extended = pod.status.extended_resource_claim_status;
  CheckContainerStatuses(report, at.Child("containerStatuses"), pod.status.container_statuses,
                         containers, extended);
  CheckContainerStatuses(report, at.Child("initContainerStatuses"),
                         pod.status.init_container_statuses, containers, extended);
  if (pod.status.extended_resource_claim_status) {
    CheckExtendedResourceClaim(report, at.Child("extendedResourceClaimStatus"),
                               *pod.status.extended_resource_claim_status, containers);
  }
  if (pod.status.node_allocatable_resource_claim_statuses) {
    CheckNodeAllocatable(report, at.Child("nodeAllocatableResourceClaimStatuses"), pod);
  }
}

}  // namespace dray::api::internal
