// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/pod_claims.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "api/extended_resources.h"
#include "fmt/format.h"
#include "scheduler/plugins/special_claim.h"
#include "scheduler/world.h"

namespace dray::scheduler {
namespace {

// Why there is no claim behind the entry; empty when that is as it should be.
std::string WhyUnnamed(const api::Pod& pod, const api::ClaimsOfPod& claims,
                       const api::PodResourceClaim& entry) {
  const api::ObjectMeta& meta = pod.metadata;
  if (!entry.resource_claim_template_name.has_value()) {
    return fmt::format(
        "pod \"{}/{}\", spec.resourceClaim \"{}\": none of the supported fields are set",
        meta.namespace_, meta.name, entry.name);
  }
  if (claims.FindStatus(entry) == nullptr) {
    return fmt::format("pod \"{}/{}\": ResourceClaim not created yet", meta.namespace_, meta.name);
  }
  return {};
}

std::string WhyNot(const api::Pod& pod, const api::PodResourceClaim& entry,
                   const api::ResourceClaim& claim) {
  if (claim.metadata.deletion_timestamp.has_value()) {
    return fmt::format("resourceclaim \"{}\" is being deleted", claim.metadata.name);
  }
  if (!entry.resource_claim_name.has_value() && !OwnedBy(claim, pod)) {
    return fmt::format("ResourceClaim {} was not created for Pod {} (Pod is not owner)",
                       KeyOf(claim.metadata), KeyOf(pod.metadata));
  }
  return {};
}

}  // namespace

std::string KeyOf(const api::ObjectMeta& metadata) {
  return fmt::format("{}/{}", metadata.namespace_, metadata.name);
}

std::string IdOf(const api::ResourceClaim& claim) {
  const api::ObjectMeta& meta = claim.metadata;
  if (!meta.name.empty() && Stored(claim)) return KeyOf(meta);
  const api::OwnerReference* owner = api::FindController(meta);
  return fmt::format("{}/{} of {}", meta.namespace_, meta.generate_name,
                     owner == nullptr ? "" : owner->uid);
}

PodClaims ClaimsOf(const api::Pod& pod, const World& world) {
  PodClaims found;
  const api::ClaimsOfPod claims(pod);
  absl::flat_hash_set<const api::ResourceClaim*> known;
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    const auto name = claims.NameOf(entry);
    if (!name.has_value()) {
      found.problem = WhyUnnamed(pod, claims, entry);
      if (!found.problem.empty()) return found;
      continue;  // it was decided that the entry needs no claim
    }
    auto claim = world.FindClaim(pod.metadata.namespace_, *name);
    if (claim == nullptr) {
      found.problem =
          fmt::format("could not find ResourceClaim \"{}/{}\"", pod.metadata.namespace_, *name);
      return found;
    }
    found.problem = WhyNot(pod, entry, *claim);
    if (!found.problem.empty()) return found;
    if (known.insert(claim.get()).second) found.claims.push_back(std::move(claim));
  }
  return found;
}

bool UsesClaim(const api::Pod& pod, const api::ResourceClaim& claim) {
  if (claim.metadata.namespace_ != pod.metadata.namespace_) return false;
  const api::ClaimsOfPod claims(pod);
  return IsForExtendedResourcesOf(pod, claim) ||
         std::ranges::any_of(pod.spec.resource_claims, [&](const api::PodResourceClaim& entry) {
           return claims.NameOf(entry) == claim.metadata.name;
         });
}

bool IsForExtendedResourcesOf(const api::Pod& pod, const api::ResourceClaim& claim) {
  const api::OwnerReference* made_for = api::ExtendedResourcePod(claim);
  return made_for != nullptr && made_for->uid == pod.metadata.uid &&
         claim.metadata.namespace_ == pod.metadata.namespace_;
}

}  // namespace dray::scheduler
