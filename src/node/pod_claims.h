// SPDX-License-Identifier: Apache-2.0
//
// Which claims a pod has, what of them concerns a node, and whether the pod may use them. Pure.
//
// Spec: docs/spec/node.md 6.1, 6.2, 6.6; KEP-5004 "Actuation for Extended Resource backed by DRA".
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/pod.h"
#include "api/resource_claim.h"
#include "base/status.h"
#include "node/claim_state.h"

namespace dray::node {

struct PodClaim {
  std::string entry;  // in spec.resourceClaims; empty: the claim for extended resources
  std::string name;   // the claim object's, in the pod's namespace
  bool made_for_pod = false;
  friend bool operator==(const PodClaim&, const PodClaim&) = default;
};

// In the order of the spec, then the one for extended resources. An error: one of them is not made
// yet, or the entry names none.
StatusOr<std::vector<PodClaim>> ClaimsOf(const api::Pod& pod);

// Whether the pod may use the claim as it is now: made for it where it has to be, reserved,
// allocated. `groups`: what was made and reserved for the pod's group is for the pod, too.
Status CheckUse(const api::Pod& pod, const PodClaim& entry, const api::ResourceClaim& claim,
                bool groups = false);

// The drivers of an allocated claim, with the node operations that are not done for them: those
// that every result of the driver lists.
std::map<std::string, DriverState, std::less<>> DriversOf(const api::ResourceClaim& claim);

// Changes when the claim is allocated anew. Of this process alone: it is not written anywhere.
std::size_t AllocationHash(const api::ResourceClaim& claim);
// Whether what was prepared may be what the claim is allocated now: the same drivers, and no device
// that it was not allocated.
bool FitsAllocation(const ClaimState& state, const api::ResourceClaim& claim);

// What a driver says, for a message that people read: endless texts are cut, at a character.
std::string Shortened(std::string_view text);

// The text before the '/' of a subrequest.
std::string_view BaseRequest(std::string_view request);

}  // namespace dray::node
