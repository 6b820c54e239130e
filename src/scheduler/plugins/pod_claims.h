// SPDX-License-Identifier: Apache-2.0
//
// Which claims a pod needs: those that its spec names, and those that were made for it from
// templates.
//
// Spec: KEP-4381 (spec.resourceClaims, status.resourceClaimStatuses).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/pod.h"
#include "api/pod_claims.h"
#include "api/resource_claim.h"

namespace dray::scheduler {

class World;

struct PodClaims {
  // In the order of the spec, each once, even if two entries name the same.
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  // Not empty: why the pod cannot be scheduled now. Then `claims` has those before that one.
  std::string problem;
};
PodClaims ClaimsOf(const api::Pod& pod, const World& world);

using api::ClaimNameOf;
using api::ConsumerOf;
using api::OwnedBy;
using api::ReservedFor;

// Whether the claim is one of the pod's: named, made from a template for it, or made for its
// extended resources.
bool UsesClaim(const api::Pod& pod, const api::ResourceClaim& claim);
bool IsForExtendedResourcesOf(const api::Pod& pod, const api::ResourceClaim& claim);

// "namespace/name", as events name objects.
std::string KeyOf(const api::ObjectMeta& metadata);
// The same for any claim that is stored, and something else for each that has no name of its own yet.
std::string IdOf(const api::ResourceClaim& claim);

}  // namespace dray::scheduler
