// SPDX-License-Identifier: Apache-2.0
//
// Cross-checks of pods against the claims, templates and classes that they name. Workloads are
// looked at through the pods that they would make.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/extended_resources.h"
#include "api/internal/cross_world.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

struct GivenContainer {
  const Container* container;
  base::FieldPath path;
};

std::vector<GivenContainer> ContainersOf(const GivenPod& pod) {
  std::vector<GivenContainer> containers;
  const auto add = [&](std::string_view field, const std::vector<Container>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      containers.push_back({&list[i], (pod.path / field).Index(i)});
    }
  };
  add("initContainers", pod.spec->init_containers);
  add("containers", pod.spec->containers);
  return containers;
}

const GivenClaim* Find(const ClaimsByName& claims, std::string_view ns, std::string_view name) {
  const auto it = claims.find(NamespacedName(ns, name));
  return it == claims.end() ? nullptr : it->second;
}

// The claim or template behind an entry of the pod's resourceClaims, if it is given.
const GivenClaim* Behind(const World& world, const GivenPod& pod, const PodResourceClaim& entry) {
  if (entry.resource_claim_name) {
    return Find(world.claims_by_name, pod.namespace_, *entry.resource_claim_name);
  }
  if (entry.resource_claim_template_name) {
    return Find(world.templates_by_name, pod.namespace_, *entry.resource_claim_template_name);
  }
  return nullptr;
}

std::vector<std::string_view> NamesOfRequests(const GivenClaim& claim) {
  std::vector<std::string_view> names;
  for (const DeviceRequest& request : claim.spec->devices.requests) names.push_back(request.name);
  return names;
}

// Comparing a name with all that there are is for people, who read the first few.
constexpr int kMostComparedNames = 20;

// What a reference from a pod points to.
struct Reference {
  std::string_view kind;
  std::string_view field;
  const World& world;
  const ClaimsByName* claims;
  int compared = 0;

  std::string HintFor(const GivenPod& pod, std::string_view name) {
    if (++compared > kMostComparedNames) return "";
    std::vector<std::string_view> names;
    for (const auto& [key, claim] : *claims) {
      if (claim->namespace_ == pod.namespace_) names.push_back(claim->name);
    }
    return HintAmong(world, name, std::move(names),
                     fmt::format("in namespace {} of the input", pod.namespace_));
  }
};

void CheckReference(const GivenPod& pod, const std::string& name, const base::FieldPath& path,
                    Reference& wanted, const Reference& other, Findings& findings) {
  if (Find(*wanted.claims, pod.namespace_, name) != nullptr) return;
  std::string hint;
  if (Find(*other.claims, pod.namespace_, name) != nullptr) {
    hint = fmt::format("there is a {} of that name: did you mean {}?", other.kind, other.field);
  } else {
    hint = wanted.HintFor(pod, name);
  }
  findings.push_back({.object = pod.index,
                      .path = path / wanted.field,
                      .severity = Severity::kWarning,
                      .reason = "UnknownClaim",
                      .message = fmt::format("{} \"{}\" not found in namespace \"{}\" of the input",
                                             wanted.kind, name, pod.namespace_),
                      .hint = std::move(hint)});
}

using Entries = base::StringMap<const PodResourceClaim*>;

void CheckUse(const World& world, const GivenPod& pod, const Entries& entries,
              const ContainerResourceClaim& use, const base::FieldPath& path, Findings& findings) {
  const auto found = entries.find(use.name);
  if (found == entries.end()) {
    std::vector<std::string_view> names;
    for (const PodResourceClaim& claim : pod.spec->resource_claims) names.push_back(claim.name);
    // At the path of the pod's own rule, so that whoever has heard that one only gets the hint.
    findings.push_back(
        {.object = pod.index,
         .path = path,
         .severity = Severity::kError,
         .reason = "UnknownPodClaim",
         .message = fmt::format("the pod's resourceClaims have no \"{}\"", use.name),
         .hint = names.empty() ? fmt::format("add it to {}.resourceClaims", pod.path.ToString())
                               : HintAmong(world, use.name, std::move(names), "they have")});
    return;
  }
  const GivenClaim* claim = Behind(world, pod, *found->second);
  if (claim == nullptr || use.request.empty()) return;
  const std::vector<std::string_view> names = NamesOfRequests(*claim);
  if (std::ranges::find(names, use.request) != names.end()) return;
  findings.push_back(
      {.object = pod.index,
       .path = path / "request",
       .severity = Severity::kError,
       .reason = "UnknownRequest",
       .message = fmt::format("{} \"{}\" has no request \"{}\"",
                              claim->is_template ? "ResourceClaimTemplate" : "ResourceClaim",
                              claim->name, use.request),
       .hint = HintAmong(world, use.request, names, "its requests"),
       .related = claim->index});
}

}  // namespace

void CheckPodClaimsExist(const World& world, Findings& findings) {
  Reference claims{"ResourceClaim", "resourceClaimName", world, &world.claims_by_name};
  Reference templates{"ResourceClaimTemplate", "resourceClaimTemplateName", world,
                      &world.templates_by_name};
  for (const GivenPod& pod : world.pods) {
    if (!world.namespaces_with_claims.contains(pod.namespace_)) continue;
    for (std::size_t i = 0; i < pod.spec->resource_claims.size(); ++i) {
      const PodResourceClaim& entry = pod.spec->resource_claims[i];
      const base::FieldPath path = (pod.path / "resourceClaims").Index(i);
      if (entry.resource_claim_name) {
        CheckReference(pod, *entry.resource_claim_name, path, claims, templates, findings);
      }
      if (entry.resource_claim_template_name) {
        CheckReference(pod, *entry.resource_claim_template_name, path, templates, claims, findings);
      }
    }
  }
}

void CheckContainerClaims(const World& world, Findings& findings) {
  for (const GivenPod& pod : world.pods) {
    Entries entries;
    for (const PodResourceClaim& entry : pod.spec->resource_claims) {
      entries.try_emplace(entry.name, &entry);
    }
    for (const GivenContainer& given : ContainersOf(pod)) {
      const auto& uses = given.container->resources.claims;
      for (std::size_t i = 0; i < uses.size(); ++i) {
        CheckUse(world, pod, entries, uses[i], (given.path / "resources" / "claims").Index(i),
                 findings);
      }
    }
  }
}

// An explicit name may be a device plugin's; an implicit one is always a class's.
void CheckImplicitResourcesExist(const World& world, Findings& findings) {
  if (world.classes.empty()) return;
  for (const GivenPod& pod : world.pods) {
    for (const GivenContainer& given : ContainersOf(pod)) {
      const ResourceRequirements& resources = given.container->resources;
      const auto check = [&](std::string_view field, const Map<base::Quantity>& amounts) {
        for (const auto& [key, amount] : amounts) {
          const std::string_view name(key);
          if (!name.starts_with(kDeviceClassResourcePrefix)) continue;
          const std::string_view class_name = name.substr(kDeviceClassResourcePrefix.size());
          if (world.class_names.contains(class_name)) continue;
          findings.push_back(
              {.object = pod.index,
               .path = (given.path / "resources" / field).Key(name),
               .severity = Severity::kError,
               .reason = "UnknownDeviceClass",
               .message = fmt::format("there is no DeviceClass \"{}\"", class_name),
               .hint = HintAmong(world, class_name, world.class_names, "classes in the input")});
        }
      };
      check("limits", resources.limits);
      check("requests", resources.requests);
    }
  }
}

void CheckExtendedResourceStatus(const World& world, Findings& findings) {
  for (const GivenPod& pod : world.pods) {
    if (pod.status == nullptr || !pod.status->extended_resource_claim_status) continue;
    const PodExtendedResourceClaimStatus& status = *pod.status->extended_resource_claim_status;
    const GivenClaim* claim =
        Find(world.claims_by_name, pod.namespace_, status.resource_claim_name);
    if (claim == nullptr) continue;
    const std::vector<std::string_view> names = NamesOfRequests(*claim);
    for (std::size_t i = 0; i < status.request_mappings.size(); ++i) {
      const std::string& request = status.request_mappings[i].request_name;
      if (std::ranges::find(names, request) != names.end()) continue;
      const base::FieldPath path =
          base::FieldPath("status") / "extendedResourceClaimStatus" / "requestMappings";
      findings.push_back({.object = pod.index,
                          .path = path.Index(i) / "requestName",
                          .severity = Severity::kError,
                          .reason = "UnknownRequest",
                          .message = fmt::format("ResourceClaim \"{}\" has no request \"{}\"",
                                                 claim->name, request),
                          .hint = HintAmong(world, request, names, "its requests"),
                          .related = claim->index});
    }
  }
}

}  // namespace dray::api::internal
