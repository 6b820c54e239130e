// SPDX-License-Identifier: Apache-2.0
//
// What a pod asks for in all: containers together, init containers as they run, sidecars from their
// start on, pod-level amounts and overhead on top.
//
// Spec: KEP-753 "Resources calculation for scheduling and pod admission", KEP-2837 (pod-level).
#pragma once

#include <string_view>

#include "api/map.h"
#include "api/pod.h"
#include "base/quantity.h"

namespace dray::api {

struct PodResourcesOptions {
  // Of each resource the larger of what the spec asks for and what the status says the pod has: a
  // pod that is made smaller holds the old amount until the node has taken it away.
  bool use_status = false;
  // Also what the pod's claims take of the node's own resources, as its status says (the gate
  // DRANodeAllocatableResources; KEP-5517).
  bool node_allocatable = false;
};

Map<base::Quantity> PodRequests(const Pod& pod, PodResourcesOptions options = {});
Map<base::Quantity> PodLimits(const Pod& pod, PodResourcesOptions options = {});

// What the claims of the status take for one container: it may use that beyond its own limit.
Map<base::Quantity> NodeAllocatableOf(const Pod& pod, std::string_view container);

// to += from, and to = max(to, from), resource by resource.
void AddResources(Map<base::Quantity>& to, const Map<base::Quantity>& from);
void MaxResources(Map<base::Quantity>& to, const Map<base::Quantity>& from);

}  // namespace dray::api
