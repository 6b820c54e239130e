// SPDX-License-Identifier: Apache-2.0
//
// Devices that stand for a node's cpu, memory or huge pages, or need some of them: what the claims
// of a pod take, and whether the node has it beside what the pod asks for itself. So there is one
// ledger of a node's resources, whichever way they are asked for.
//
// Spec: KEP-5517 (the gate DRANodeAllocatableResources).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "api/pod.h"
#include "api/resource_claim.h"
#include "base/quantity.h"
#include "inventory/node_devices.h"
#include "scheduler/framework.h"
#include "scheduler/resources.h"

namespace dray::scheduler {

// A claim of the pod, and the devices that it has or is about to get.
struct ClaimWithDevices {
  const api::ResourceClaim* claim = nullptr;
  const api::AllocationResult* allocation = nullptr;
};

struct NodeAllocatableUse {
  // By name of the claim; only those that take something. For the status of the pod.
  std::vector<api::NodeAllocatableResourceClaimStatus> claims;
  // Not empty: why that cannot be said.
  std::string problem;
};
// What the claims take where their devices are those of `devices`. Claims without any device that
// is known there take nothing.
NodeAllocatableUse NodeAllocatableUseOf(const api::Pod& pod,
                                        std::span<const ClaimWithDevices> claims,
                                        const inventory::NodeDevices& devices);

// Whether any device of the node takes something of it; else nobody needs to ask further.
bool AnyNodeAllocatable(const inventory::NodeDevices& devices);
// Whether a device of the allocation is a part of the node's own resources, which the claim then
// has for one pod only. (What a device needs on top does not stand in the way of sharing it.)
bool HasMappedDevice(const api::AllocationResult& allocation,
                     const inventory::NodeDevices& devices);

// Whether the pod, with what its claims take, fits beside the pods of the node, and into the amounts
// that are set for the pod as a whole. Reads names, and adds none.
PluginStatus FitsWithClaims(const api::Pod& pod,
                            std::vector<api::NodeAllocatableResourceClaimStatus> claims,
                            const NodeInfo& node, const ResourceNames& names);

// Exact up to a billionth, away from zero; past 2^63 that bound.
base::Quantity Product(const base::Quantity& a, const base::Quantity& b);

}  // namespace dray::scheduler
