// SPDX-License-Identifier: Apache-2.0
//
// The special claim: what a pod asks for by names of extended resources that device classes serve,
// as a claim.
//
// A node serves a resource either by a device plugin (its allocatable has it) or by DRA, never by
// both, so the requests of the claim differ from node to node: they are made for a set of
// resources.
//
// Spec: KEP-5004 "Resource Claim API", "Filter". Names of requests, order, and what init containers
// reuse: docs/spec/allocator.md 15.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/extended_resources.h"
#include "api/pod.h"
#include "api/resource_claim.h"

namespace dray::scheduler {

// The name of a claim that exists only in memory; no stored claim can have it.
inline constexpr std::string_view kUnstoredClaimName = "<extended-resources>";

// An extended resource that some container of the pod asks for.
struct ExtendedResource {
  std::string name;
  std::string device_class;  // empty: no class serves it
};
// By name. Empty when no class serves any of them: then the pod has nothing to do with DRA.
std::vector<ExtendedResource> ExtendedResourcesOf(const api::Pod& pod,
                                                  const api::ExtendedResourceIndex& classes);

// What is wrong with the amount of a resource that a class serves: devices come in whole numbers. A
// server takes no such pod, but an old one may be stored. Empty: nothing.
std::string WrongAmount(const api::Pod& pod, std::span<const ExtendedResource> resources);

struct SpecialRequests {
  std::vector<api::DeviceRequest> requests;  // by name
  // Which container is served by which requests.
  std::vector<api::ContainerExtendedResourceRequest> mappings;
  std::int64_t devices = 0;  // at most 2^63 - 1
};
// For those of the pod's resources that a node serves through classes. Amounts are right.
SpecialRequests RequestsFor(const api::Pod& pod,
                            std::span<const ExtendedResource* const> resources);

// The claim before it is stored: owned by the pod, without requests, with a uid that is none.
api::ResourceClaim MakeSpecialClaim(const api::Pod& pod);
// Whether it has been stored.
bool Stored(const api::ResourceClaim& special);

}  // namespace dray::scheduler
