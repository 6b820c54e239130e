// SPDX-License-Identifier: Apache-2.0
//
// ClaimWrites: what the scheduler writes about claims. Each is a few verbs on a Cluster, taken
// again with the stored object when somebody else was faster; what cannot be done is a Status that
// says which claim and what was being written.
//
// Spec: KEP-4381 (finalizer, allocation, reservation), KEP-5004 "Failure handling".
#pragma once

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
  // it. What the status says of devices stays. FailedPrecondition, and nothing is allocated, when
  // the server drops part of the allocation because its feature gates are others.
  StatusOr<ClaimPointer> Bind(const ClaimPointer& claim, const api::AllocationResult* allocation,
                              const api::Pod& pod);
  // Takes the pod out of the reservations. OK when the claim is another or gone.
  Status RemoveReservation(const api::ResourceClaim& claim, const api::Pod& pod);
  // Takes allocation, reservations and device status away.
  Status Deallocate(const api::ResourceClaim& claim);

  // The claim that is stored for the special claim `unstored`.
  StatusOr<ClaimPointer> CreateSpecial(const api::ResourceClaim& unstored);
  // Removes the finalizer, then the claim. OK when it is gone already.
  Status DeleteSpecial(const api::ResourceClaim& claim);
  // Says in the pod's status which requests of which claim serve its extended resources.
  // FailedPrecondition when the server drops that because its feature gate is off.
  Status SetMappings(const api::Pod& pod, std::string_view claim,
                     const std::vector<api::ContainerExtendedResourceRequest>& mappings);

 private:
  StatusOr<ClaimPointer> Fetch(const api::ResourceClaim& claim) const;
  StatusOr<ClaimPointer> TryBind(const ClaimPointer& claim, const api::AllocationResult* allocation,
                                 const api::Pod& pod);
  // Calls `write` with the claim, and again with the stored one as long as that has moved.
  template <typename Write>
  auto Retry(ClaimPointer claim, Write write) -> decltype(write(claim));

  api::Cluster& cluster_;
  const base::Clock& clock_;
  bool timestamps_;
};

}  // namespace dray::scheduler
