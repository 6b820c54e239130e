// SPDX-License-Identifier: Apache-2.0
//
// Which claims a pod needs: those that its spec names, and those that were made for it from
// templates.
//
// Spec: KEP-4381 (spec.resourceClaims, status.resourceClaimStatuses).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/pod.h"
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

// The name of the claim behind an entry of spec.resourceClaims. Nothing: it is not there yet, or on
// purpose there is none, or the entry is of a kind that is not known.
std::optional<std::string_view> ClaimNameOf(const api::Pod& pod,
                                            const api::PodResourceClaim& entry);
// Whether the claim is one of the pod's: named, made from a template for it, or made for its
// extended resources.
bool UsesClaim(const api::Pod& pod, const api::ResourceClaim& claim);

bool OwnedBy(const api::ResourceClaim& claim, const api::Pod& pod);
bool ReservedFor(const api::ResourceClaim& claim, const api::Pod& pod);
api::ResourceClaimConsumerReference ConsumerOf(const api::Pod& pod);

// "namespace/name", as events name objects.
std::string KeyOf(const api::ObjectMeta& metadata);

}  // namespace dray::scheduler
