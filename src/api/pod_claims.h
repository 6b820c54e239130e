// SPDX-License-Identifier: Apache-2.0
//
// How pods and claims name each other: entries of a pod's spec, what its status says of them,
// owners and reservations.
//
// Spec: KEP-4381 (spec.resourceClaims, status.resourceClaimStatuses, reservedFor).
#pragma once

#include <optional>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "api/pod.h"
#include "api/resource_claim.h"

namespace dray::api {

// A claim that has it is not removed while its devices are in use.
inline constexpr std::string_view kClaimFinalizer = "resource.kubernetes.io/delete-protection";

// What the status says of an entry of spec.resourceClaims. Null when it says nothing.
const PodResourceClaimStatus* FindClaimStatus(const Pod& pod, const PodResourceClaim& entry);
// The name of the claim behind an entry of spec.resourceClaims. Nothing: it is not there yet, or on
// purpose there is none, or the entry is of a kind that is not known.
std::optional<std::string_view> ClaimNameOf(const Pod& pod, const PodResourceClaim& entry);

// The same for who looks at every entry of a pod: a pod may have thousands, and looking for each by
// itself costs their square. The pod outlives it. Thread-compatible.
class ClaimsOfPod {
 public:
  explicit ClaimsOfPod(const Pod& pod);

  const PodResourceClaimStatus* FindStatus(const PodResourceClaim& entry) const;
  std::optional<std::string_view> NameOf(const PodResourceClaim& entry) const;

 private:
  const Pod& pod_;
  // By name, the first of each; empty when there are so few that walking is faster.
  absl::flat_hash_map<absl::string_view, const PodResourceClaimStatus*> statuses_;
};

// Whether the pod is the claim's controller.
bool OwnedBy(const ResourceClaim& claim, const Pod& pod);
bool ReservedFor(const ResourceClaim& claim, const Pod& pod);
ResourceClaimConsumerReference ConsumerOf(const Pod& pod);

}  // namespace dray::api
