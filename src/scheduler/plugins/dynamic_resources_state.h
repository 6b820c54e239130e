// SPDX-License-Identifier: Apache-2.0
//
// What the phases of DynamicResources tell each other about one pod.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocator/work.h"
#include "api/pod.h"
#include "api/pod_group.h"
#include "api/resource_claim.h"
#include "base/string_map.h"
#include "base/time.h"
#include "ledger/ledger.h"
#include "scheduler/plugins/device_view.h"
#include "scheduler/plugins/plan_cache.h"
#include "scheduler/plugins/special_claim.h"

namespace dray::scheduler {

// What Reserve is to take, by claim that is to be allocated (IdOf), instead of choosing itself:
// devices of pods of a group are chosen for all of them. Empty: it chooses.
struct PresetDevices {
  base::StringMap<api::AllocationResult> by_claim;
};

// Written by the framework before PreFilter: the pod's group (KEP-5729), whose claims are reserved for the
// group. Null: it has none.
struct GroupOfPod {
  std::shared_ptr<const api::PodGroup> group;
};

// An allocation that several pods of a group have taken and that is not stored yet, or has just been: the
// first of them to come to PreBind stores it, and it is given up with the last one.
struct SharedAllocation {
  std::uint64_t attempt = 0;  // DynamicResources::BeginGroup
  std::string claim;          // uid
  api::AllocationResult allocation;
  ledger::Reservation reservation;
  std::size_t users = 0;
  bool stored = false;
};

struct DynamicResourcesState {
  struct Claim {
    // PreFilter: as it is known then. PreBind: as it has been stored.
    std::shared_ptr<const api::ResourceClaim> claim;
    bool special = false;      // PreFilter: for extended resources; the last one
    bool to_allocate = false;  // PreFilter
    bool idle = false;         // PreFilter: allocated, and nobody had used it
    bool unavailable = false;  // Filter: allocated, and some node cannot use that; for PostFilter
    // Reserve: what PreBind stores. Stays empty for a special claim that the node does not need.
    std::optional<api::AllocationResult> allocation;
    ledger::Reservation reservation;  // Reserve
    bool bound = false;               // PreBind: stored, with the reservation for the pod
    std::string stored_as;            // PreBind: the name of a special claim that is being stored
    // PreFilter: taken by another pod of the group in this attempt. Reserve: with others of the group.
    std::shared_ptr<SharedAllocation> shared = nullptr;
    bool counted = false;  // Reserve: among shared->users
  };
  // The special claim as nodes need it that serve the same resources through classes.
  struct Variant {
    std::vector<bool> by_class;  // by `resources`
    SpecialRequests requests;
    // Null: the node needs none. The stored claim when there is one that asks for just this.
    std::shared_ptr<const api::ResourceClaim> claim;
    // A stored claim asks for something else and is in the way.
    bool conflict = false;
    KnownPlan plan;  // of all claims that are to be allocated
  };

  std::vector<Claim> claims;                       // PreFilter: the pod's, the special one last
  std::vector<ExtendedResource> resources;         // PreFilter: empty without a special claim
  const Variant* usual = nullptr;                  // PreFilter: that of most nodes
  std::vector<std::unique_ptr<Variant>> variants;  // Filter, as nodes need them; one at a time
  const Variant* chosen = nullptr;                 // Reserve
  std::uint64_t footprint = 0;                     // PreFilter: FilterPlugin::ClassOf
  // Reserve: what the claims take of the node's own resources.
  std::vector<api::NodeAllocatableResourceClaimStatus> claims_take;
  bool claims_take_written = false;  // PreBind
  // Explanations: what all groups of nodes together may cost, less than one decision may. Where it
  // ends, conflicts are told as they were found, perhaps with parts that are not needed.
  allocator::WorkMeter explaining{allocator::kDefaultWork / 10};
  // Filter, of what would be if some pods were gone, or with devices that are held; Reserve ends it.
  std::unique_ptr<DeviceView> view;
  // Preemption: by pool of several nodes, the pods that may be sent away for it. Found once.
  struct WideUsers {
    inventory::PoolId pool = inventory::PoolId::kNone;
    std::vector<std::shared_ptr<const PodInfo>> pods;  // by key, each once
  };
  std::optional<std::vector<WideUsers>> wide;
  // PreBind: since when binding waits for conditions of devices.
  std::optional<base::Time> waits_since;

  Claim* special() { return !claims.empty() && claims.back().special ? &claims.back() : nullptr; }
  const Claim* special() const {
    return !claims.empty() && claims.back().special ? &claims.back() : nullptr;
  }
};

}  // namespace dray::scheduler
