// SPDX-License-Identifier: Apache-2.0
//
// ClaimWrites: what the scheduler writes about claims. Each is a few verbs on a Cluster, taken
// again with the stored object when somebody else was faster; what cannot be done is a Status that
// says which claim and what was being written.
//
// An answer may get lost, or be that to a request which was sent twice: so whoever is refused, or
// told nothing, reads the claim and takes for done what it says. Only what cannot be read either,
// or may still arrive, is left as api::MayHaveHappened: then the same is to be written again until
// the answer is sure. Every write names the version that it changes, so that one which arrives late
// has no effect once another has been done.
//
// Spec: KEP-4381 (finalizer, allocation, reservation), KEP-5004 "Failure handling".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "api/pod.h"
#include "api/pod_claims.h"
#include "api/resource_claim.h"
#include "base/clock.h"
#include "base/status.h"

namespace dray::scheduler {

using api::kClaimFinalizer;

using ClaimPointer = std::shared_ptr<const api::ResourceClaim>;

// One thread.
class ClaimWrites {
 public:
  // Both outlive this. `timestamps`: allocations say when they were made (binding conditions are
  // counted from then). One that is stored without cannot get it later: an allocation never
  // changes.
  ClaimWrites(api::Cluster& cluster, const base::Clock& clock, bool timestamps)
      : cluster_(cluster), clock_(clock), timestamps_(timestamps) {}

  // Stores the reservation for the pod and, when given, the allocation, with the finalizer before
  // it. What the status says of devices stays. A claim that is stored with the same devices, by
  // whomever, is only reserved.
  // `consumer`: the pod, or its group.
  // `may_allocate` is asked right before each write of the allocation, since such a write can be a
  // second one: if the first was stored, and given back before its answer was missed, the devices
  // may be somebody else's by now, and the attempt has failed.
  StatusOr<ClaimPointer> Bind(const ClaimPointer& claim, const api::AllocationResult* allocation,
                              const api::Pod& pod,
                              const api::ResourceClaimConsumerReference& consumer,
                              const std::function<bool()>& may_allocate);
  // FailedPrecondition when the server dropped part of the allocation of a claim that Bind has
  // stored, because its feature gates are others.
  static Status CheckKept(const api::ResourceClaim& stored,
                          const api::AllocationResult& allocation);
  // Takes the pod out of the reservations. The last one takes the devices along, in the same write: so
  // whenever this process ends, a claim that it has allocated is reserved for somebody, and whoever looks
  // after reservations (the controller) gives its devices back when that pod is over. `kKeep`: the claim
  // was allocated before anybody used it. Nothing is done for a pod that has got to a node after all: it
  // uses them. Null when the claim is another or gone.
  enum class Devices : std::uint8_t { kGiveBack, kKeep };
  // Whether there is a reservation for the pod itself, which is what would be taken away.
  static bool HasReservation(const api::ResourceClaim& claim, const api::Pod& pod);
  StatusOr<ClaimPointer> RemoveReservation(const api::ResourceClaim& claim, const api::Pod& pod,
                                           Devices devices);
  // Whether schedulers and controllers give the claim back when nobody uses it any more: what was allocated
  // by hand, without the finalizer, stays. One that is about to be allocated gets it.
  static bool IsGivenBack(const api::ResourceClaim& claim);
  // Takes allocation, reservations and device status away.
  Status Deallocate(const api::ResourceClaim& claim);

  // The claim that is stored, with its finalizer, for the special claim `unstored`, under a name that the caller keeps
  // until this has succeeded or failed: so nobody needs to guess whether it was made.
  StatusOr<ClaimPointer> CreateSpecial(const api::ResourceClaim& unstored, std::string_view name);
  // Removes the finalizer, then the claim. OK when it is gone already.
  Status DeleteSpecial(const api::ResourceClaim& claim);
  // Says in the pod's status which requests of which claim serve its extended resources.
  // FailedPrecondition when the server drops that because its feature gate is off.
  Status SetMappings(const api::Pod& pod, std::string_view claim,
                     const std::vector<api::ContainerExtendedResourceRequest>& mappings);
  // Says in the pod's status what its claims take of the node's own resources; empty: nothing.
  // FailedPrecondition when the server drops that because its feature gate is off.
  Status SetNodeAllocatable(const api::Pod& pod,
                            const std::vector<api::NodeAllocatableResourceClaimStatus>& claims);

 private:
  // Writes the pod's status until it is as `change` makes it; `kept` says whether the server has
  // left that in.
  Status WriteStatus(const api::Pod& pod, std::string_view what, std::string_view gate,
                     const std::function<void(api::PodStatus&)>& change,
                     const std::function<bool(const api::PodStatus&)>& kept);
  // Whether the pod is stored with a node, whoever has brought it there.
  StatusOr<bool> OnANode(const api::Pod& pod) const;
  // The claim as it is stored now. NotFound also when another one has its name.
  StatusOr<ClaimPointer> Fetch(const api::ResourceClaim& claim) const;
  StatusOr<ClaimPointer> TryBind(const ClaimPointer& claim, const api::AllocationResult* allocation,
                                 const api::Pod& pod,
                                 const api::ResourceClaimConsumerReference& consumer,
                                 const std::function<bool()>& may_allocate);
  // Calls `write` with the claim, and again with the stored one as long as that has moved, or it is
  // not known whether it has; until a claim is `done`, which is what is returned then.
  using Write = std::function<StatusOr<ClaimPointer>(const ClaimPointer&)>;
  using Done = std::function<bool(const api::ResourceClaim&)>;
  StatusOr<ClaimPointer> Retry(ClaimPointer claim, const Done& done, const Write& write) const;

  api::Cluster& cluster_;
  const base::Clock& clock_;
  bool timestamps_;
};

}  // namespace dray::scheduler
