// SPDX-License-Identifier: Apache-2.0
//
// How pods and claims name each other: entries of a pod's spec, what its status says of them,
// owners and reservations.
//
// Spec: KEP-4381 (spec.resourceClaims, status.resourceClaimStatuses, reservedFor), KEP-5729 (groups).
#pragma once

#include <optional>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "api/pod.h"
#include "api/pod_group.h"
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

// Whether the claim was made for the pod, or for the group that the pod names: the controller is one
// of the two. A pod does not know its group's uid, so the name decides.
bool OwnedBy(const ResourceClaim& claim, const Pod& pod);
// Whether the pod may use the claim: there is a reservation for it, or for its group.
bool ReservedFor(const ResourceClaim& claim, const Pod& pod);
ResourceClaimConsumerReference ConsumerOf(const Pod& pod);

// Groups (KEP-5729). The name of the pod's group; empty when it has none.
std::string_view GroupNameOf(const Pod& pod);
// Whether an entry of a pod is an entry of its group: both say the same.
bool IsOfGroup(const PodResourceClaim& entry, const PodGroupSpec& group);
ResourceClaimConsumerReference ConsumerOf(const PodGroup& group);
bool IsGroup(const ResourceClaimConsumerReference& user);
// The group that is the claim's controller, or null.
const OwnerReference* OwningGroup(const ObjectMeta& claim);

}  // namespace dray::api
