// SPDX-License-Identifier: Apache-2.0
//
// What has become of pods and claims, read from the cluster of a rehearsal.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "planner/internal/admission.h"
#include "planner/internal/rehearsal.h"
#include "planner/internal/write_guard.h"
#include "planner/plan.h"

namespace dray::planner::internal {

inline std::string KeyOf(std::string_view namespace_, std::string_view name) {
  return std::string(namespace_).append("/").append(name);
}
inline std::string KeyOf(const api::ObjectMeta& metadata) {
  return KeyOf(metadata.namespace_, metadata.name);
}

// The pods that were among the objects, by "namespace/name"; controllers make others.
struct Given {
  std::set<std::string, std::less<>> pods;

  static Given Of(const std::vector<api::Object>& objects);
};

// What there was before anything was decided, by "namespace/name".
struct Before {
  Given given;
  std::set<std::string, std::less<>> pods_on_nodes;  // that have not ended
  std::set<std::string, std::less<>> allocated_claims;
  std::vector<api::Object> pods;

  static Before Of(const std::vector<api::Object>& objects, Given given);
};

// What it was made by, nearest first.
std::vector<std::string> OwnersOf(const api::ObjectMeta& metadata,
                                  const api::MemoryCluster& cluster);
// The claims of a pod, with their devices.
std::vector<ClaimUse> ClaimsOf(const api::Pod& pod, const api::MemoryCluster& cluster);
std::vector<DeviceGrant> GrantsOf(const api::ResourceClaim& claim);
// The node of an allocation; empty if it can be used on several.
std::string NodeOf(const api::ResourceClaim& claim);

std::vector<PodOutcome> PodOutcomes(const Before& before, Rehearsal& rehearsal);

// Workloads that have fewer pods than they ask for because the guard refused them some.
std::vector<MissingPods> MissingIn(const api::MemoryCluster& cluster, const WriteGuard& guard);

// Written pods and claims that no quota has room for: refused like any other.
void AddTurnedAway(const std::vector<TurnedAway>& away, Plan& plan);

// A claim says nothing about the taints of nodes; those that keep all pods away do count.
std::vector<api::Toleration> TolerationsFor(const api::MemoryCluster& cluster);
// The first pod that uses a claim and asks for nothing else.
api::Pod AskerFor(const api::ResourceClaim& claim, std::string name, const PlanOptions& options,
                  std::vector<api::Toleration> tolerations);

// Finds devices for the claims that no pod uses, as for pods that use them, which are taken away
// again with their reservations. Controllers must not be run after it.
std::vector<ClaimOutcome> PlaceLooseClaims(const Before& before, const PlanOptions& options,
                                           Rehearsal& rehearsal);

}  // namespace dray::planner::internal
