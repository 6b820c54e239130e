// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/claim_writes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "api/kinds.h"
#include "fmt/format.h"
#include "scheduler/plugins/pod_claims.h"
#include "scheduler/plugins/special_claim.h"

namespace dray::scheduler {
namespace {

// As often as Kubernetes's clients do.
constexpr int kTries = 5;

const api::KindInfo& ClaimKind() { return api::HubKind(api::TypeInfoOf<api::ResourceClaim>()); }
const api::KindInfo& PodKind() { return api::HubKind(api::TypeInfoOf<api::Pod>()); }

bool Conflict(const Status& status) { return status.code() == StatusCode::kAborted; }
bool Gone(const Status& status) { return status.code() == StatusCode::kNotFound; }

// Only what was allocated with the finalizer is for schedulers and controllers to give back.
bool Protected(const api::ResourceClaim& claim) {
  const auto& finalizers = claim.metadata.finalizers;
  return std::ranges::find(finalizers, kClaimFinalizer) != finalizers.end();
}

// Allocation, reservations, and what drivers said of the devices.
void GiveBack(api::ResourceClaim& claim) { claim.status = {.unknown = claim.status.unknown}; }

// Shares the value.
ClaimPointer AsClaim(const api::Object& object) {
  const auto keep = std::make_shared<const api::Object>(object);
  return {keep, keep->As<api::ResourceClaim>()};
}

// Whether a stored claim has what the allocation says about how much of a device it takes. A server
// drops what its feature gates do not allow; what it does not know (compatibility groups, on
// Kubernetes) is not missed.
bool HasAllOf(const api::ResourceClaim& stored, const api::AllocationResult& allocation) {
  const auto same = [](const api::DeviceRequestAllocationResult& a,
                       const api::DeviceRequestAllocationResult& b) {
    return a.share_id == b.share_id && a.consumed_capacity == b.consumed_capacity &&
           a.admin_access == b.admin_access;
  };
  return stored.status.allocation.has_value() &&
         std::ranges::equal(stored.status.allocation->devices.results, allocation.devices.results,
                            same);
}

// Whether a stored claim has just the devices of an allocation. A share's id may have been dropped.
bool HasDevicesOf(const api::ResourceClaim& stored, const api::AllocationResult& allocation) {
  const auto same = [](const api::DeviceRequestAllocationResult& a,
                       const api::DeviceRequestAllocationResult& b) {
    return a.request == b.request && a.driver == b.driver && a.pool == b.pool &&
           a.device == b.device && (a.share_id == b.share_id || !a.share_id.has_value());
  };
  return stored.status.allocation.has_value() &&
         std::ranges::equal(stored.status.allocation->devices.results, allocation.devices.results,
                            same);
}

// A pod may name the claim that was made for the extended resources of another one. While it is reserved
// for it, its devices are in use, whatever has become of the pod that it was made for.
Status CheckUnused(const api::ResourceClaim& special) {
  const api::OwnerReference* const pod = api::ExtendedResourcePod(special);
  for (const api::ResourceClaimConsumerReference& user : special.status.reserved_for) {
    if (pod != nullptr && user.uid == pod->uid) continue;
    return base::FailedPrecondition(fmt::format("claim {} is in use by {} {}",
                                                KeyOf(special.metadata), user.resource, user.name));
  }
  return {};
}

}  // namespace

StatusOr<ClaimPointer> ClaimWrites::Fetch(const api::ResourceClaim& claim) const {
  const auto& meta = claim.metadata;
  DRAY_ASSIGN_OR_RETURN(const auto stored, cluster_.Find(ClaimKind(), meta.namespace_, meta.name));
  if (!stored.has_value() || stored->metadata().uid != meta.uid) {
    return base::NotFound(fmt::format("claim {} got deleted in the meantime", KeyOf(meta)));
  }
  return AsClaim(*stored);
}

StatusOr<ClaimPointer> ClaimWrites::Retry(ClaimPointer claim, const Done& done,
                                          const Write& write) const {
  for (int left = kTries; !done(*claim); --left) {
    auto result = write(claim);
    const bool unknown = api::MayHaveHappened(result.status());
    if (!unknown && !Conflict(result.status())) return result;
    auto stored = Fetch(*claim);
    if (Gone(stored.status())) return stored.status();
    if (!stored.ok()) {
      // A conflict may be one with the own write, sent twice.
      return api::OutcomeUnknown(
          fmt::format("{}; {}", base::Message(result.status()), base::Message(stored.status())));
    }
    if (left == 1 && !done(**stored)) return result;
    claim = *std::move(stored);
  }
  return claim;
}

StatusOr<ClaimPointer> ClaimWrites::Bind(const ClaimPointer& claim,
                                         const api::AllocationResult* allocation,
                                         const api::Pod& pod,
                                         const api::ResourceClaimConsumerReference& consumer,
                                         const std::function<bool()>& may_allocate) {
  ClaimPointer now = claim;
  // A reservation of an earlier attempt may have been taken away, or the claim deleted without an
  // answer, which watches tell late; and nothing is left to write by which one would notice.
  if (allocation == nullptr && ReservedFor(*claim, pod)) {
    DRAY_ASSIGN_OR_RETURN(now, Fetch(*claim));
  }
  const auto done = [&](const api::ResourceClaim& stored) {
    const bool allocated = allocation == nullptr ? stored.status.allocation.has_value()
                                                 : HasDevicesOf(stored, *allocation);
    return allocated && ReservedFor(stored, pod);
  };
  return Retry(std::move(now), done, [&](const ClaimPointer& stored) {
    return TryBind(stored, allocation, pod, consumer, may_allocate);
  });
}

Status ClaimWrites::CheckKept(const api::ResourceClaim& stored,
                              const api::AllocationResult& allocation) {
  if (HasAllOf(stored, allocation)) return {};
  return base::FailedPrecondition(
      fmt::format("add allocation and reservation to claim {}: the server dropped shares, consumed "
                  "capacity or admin access of the allocation: its feature gates are not this "
                  "scheduler's",
                  KeyOf(stored.metadata)));
}

StatusOr<ClaimPointer> ClaimWrites::TryBind(const ClaimPointer& claim,
                                            const api::AllocationResult* allocation,
                                            const api::Pod& pod,
                                            const api::ResourceClaimConsumerReference& consumer,
                                            const std::function<bool()>& may_allocate) {
  const std::string key = KeyOf(claim->metadata);
  // Stored by this attempt: an answer was lost, or was that to a second request.
  const bool allocated = allocation != nullptr && HasDevicesOf(*claim, *allocation);
  if (claim->metadata.deletion_timestamp.has_value()) {
    return base::FailedPrecondition(fmt::format("claim {} got deleted in the meantime", key));
  }
  api::ResourceClaim changed = *claim;
  if (allocation != nullptr && !allocated) {
    if (changed.status.allocation.has_value()) {
      return base::FailedPrecondition(
          fmt::format("claim {} got allocated elsewhere in the meantime", key));
    }
    if (!Protected(changed)) {
      changed.metadata.finalizers.emplace_back(kClaimFinalizer);
      auto stored = cluster_.Update(api::Object::Of(std::move(changed)));
      if (!stored.ok()) {
        return base::Annotate(stored.status(), fmt::format("add finalizer to claim {}", key));
      }
      changed = *stored->As<api::ResourceClaim>();
    }
    if (!may_allocate()) {
      return base::FailedPrecondition(
          fmt::format("claim {} got allocated and deallocated again in the meantime", key));
    }
    changed.status.allocation = *allocation;
    if (timestamps_) {
      changed.status.allocation->allocation_timestamp = clock_.Now().TruncateToSeconds();
    }
  } else if (!changed.status.allocation.has_value()) {
    return base::FailedPrecondition(
        fmt::format("claim {} got deallocated elsewhere in the meantime", key));
  }
  if (!ReservedFor(changed, pod)) {
    if (changed.status.reserved_for.size() >= api::kResourceClaimReservedForMaxSize) {
      return base::FailedPrecondition(fmt::format(
          "claim {} got reserved for {} pods in the meantime, which is as many as there can be",
          key, changed.status.reserved_for.size()));
    }
    changed.status.reserved_for.push_back(consumer);
  }
  auto stored = cluster_.UpdateStatus(api::Object::Of(std::move(changed)));
  if (!stored.ok()) {
    return base::Annotate(stored.status(),
                          fmt::format("add {}reservation to claim {}",
                                      allocation != nullptr ? "allocation and " : "", key));
  }
  return AsClaim(*stored);
}

bool ClaimWrites::IsGivenBack(const api::ResourceClaim& claim) {
  return Protected(claim) || !claim.status.allocation.has_value();
}

bool ClaimWrites::HasReservation(const api::ResourceClaim& claim, const api::Pod& pod) {
  return std::ranges::find(claim.status.reserved_for, pod.metadata.uid,
                           &api::ResourceClaimConsumerReference::uid) !=
         claim.status.reserved_for.end();
}

StatusOr<bool> ClaimWrites::OnANode(const api::Pod& pod) const {
  const api::ObjectMeta& meta = pod.metadata;
  DRAY_ASSIGN_OR_RETURN(const auto stored, cluster_.Find(PodKind(), meta.namespace_, meta.name));
  return stored.has_value() && stored->metadata().uid == meta.uid &&
         !stored->As<api::Pod>()->spec.node_name.empty();
}

StatusOr<ClaimPointer> ClaimWrites::RemoveReservation(const api::ResourceClaim& claim,
                                                      const api::Pod& pod, Devices devices) {
  const auto doing = [&] {
    return fmt::format("remove reservation from claim {}", KeyOf(claim.metadata));
  };
  const auto in_use = OnANode(pod);
  if (!in_use.ok()) return base::Annotate(in_use.status(), doing());
  auto stored = Fetch(claim);
  if (stored.ok() && !*in_use) {
    const auto done = [&](const api::ResourceClaim& now) { return !HasReservation(now, pod); };
    stored = Retry(*stored, done, [&](const ClaimPointer& now) -> StatusOr<ClaimPointer> {
      api::ResourceClaim changed = *now;
      std::erase_if(changed.status.reserved_for,
                    [&](const auto& consumer) { return consumer.uid == pod.metadata.uid; });
      if (changed.status.reserved_for.empty() && devices == Devices::kGiveBack &&
          Protected(changed)) {
        GiveBack(changed);
      }
      DRAY_ASSIGN_OR_RETURN(const api::Object written,
                            cluster_.UpdateStatus(api::Object::Of(std::move(changed))));
      return AsClaim(written);
    });
  }
  if (Gone(stored.status())) return nullptr;
  if (stored.ok()) return stored;
  return base::Annotate(stored.status(), doing());
}

Status ClaimWrites::Deallocate(const api::ResourceClaim& claim) {
  api::ResourceClaim changed = claim;
  GiveBack(changed);
  // Not taken again on a conflict: whoever was faster may use the claim by now.
  return base::Annotate(cluster_.UpdateStatus(api::Object::Of(std::move(changed))).status(),
                        fmt::format("deallocate claim {}", KeyOf(claim.metadata)));
}

StatusOr<ClaimPointer> ClaimWrites::CreateSpecial(const api::ResourceClaim& unstored,
                                                  std::string_view name) {
  api::ResourceClaim claim = unstored;
  claim.metadata.name = name;
  claim.metadata.uid.clear();
  claim.status = {};
  // Nobody deletes it between this and its allocation: one write less than adding that later.
  claim.metadata.finalizers = {std::string(kClaimFinalizer)};
  const api::OwnerReference* const pod = api::ExtendedResourcePod(unstored);
  for (int left = kTries;; --left) {
    const auto made = cluster_.Create(api::Object::Of(claim));
    if (made.ok()) return AsClaim(*made);
    const Status failed = base::Annotate(
        made.status(), fmt::format("create claim for extended resources {}/{}",
                                   unstored.metadata.namespace_, unstored.metadata.generate_name));
    const bool unknown = api::MayHaveHappened(failed);
    if (!unknown && failed.code() != StatusCode::kAlreadyExists) return failed;
    const auto read = cluster_.Find(ClaimKind(), claim.metadata.namespace_, name);
    if (!read.ok()) {
      return api::OutcomeUnknown(
          fmt::format("{}; {}", base::Message(failed), base::Message(read.status())));
    }
    if (read->has_value()) {
      const auto* there = (*read)->As<api::ResourceClaim>();
      const api::OwnerReference* const owner = api::ExtendedResourcePod(*there);
      if (pod != nullptr && owner != nullptr && owner->uid == pod->uid) return AsClaim(**read);
      return base::AlreadyExists(base::Message(failed));
    }
    if (left == 1) return failed;
  }
}

Status ClaimWrites::DeleteSpecial(const api::ResourceClaim& claim) {
  const api::ObjectMeta& meta = claim.metadata;
  auto stored = Fetch(claim);
  if (Gone(stored.status())) return {};
  if (stored.ok()) DRAY_RETURN_IF_ERROR(CheckUnused(**stored));
  if (stored.ok()) {
    const auto done = [](const api::ResourceClaim& now) { return !Protected(now); };
    stored = Retry(*stored, done, [&](const ClaimPointer& now) -> StatusOr<ClaimPointer> {
      DRAY_RETURN_IF_ERROR(CheckUnused(*now));
      api::ResourceClaim changed = *now;
      std::erase(changed.metadata.finalizers, kClaimFinalizer);
      DRAY_ASSIGN_OR_RETURN(const api::Object written,
                            cluster_.Update(api::Object::Of(std::move(changed))));
      return AsClaim(written);
    });
  }
  if (Gone(stored.status())) return {};
  if (!stored.ok()) {
    return base::Annotate(stored.status(), fmt::format("update resourceclaim {}", KeyOf(meta)));
  }
  const Status deleted = cluster_.Delete(ClaimKind(), meta.namespace_, meta.name, meta.uid);
  if (Gone(deleted)) return {};
  return base::Annotate(deleted, fmt::format("delete resourceclaim {}", KeyOf(meta)));
}

Status ClaimWrites::SetMappings(
    const api::Pod& pod, std::string_view claim,
    const std::vector<api::ContainerExtendedResourceRequest>& mappings) {
  // Without it no kubelet would give the devices to the containers.
  return WriteStatus(
      pod, "ExtendedResourceClaimStatus", "DRAExtendedResource",
      [&](api::PodStatus& status) {
        api::PodExtendedResourceClaimStatus& mapped =
            status.extended_resource_claim_status.emplace();
        mapped.resource_claim_name = claim;
        mapped.request_mappings = mappings;
      },
      [&](const api::PodStatus& status) {
        const auto& mapped = status.extended_resource_claim_status;
        return mapped.has_value() && mapped->resource_claim_name == claim;
      });
}

Status ClaimWrites::SetNodeAllocatable(
    const api::Pod& pod, const std::vector<api::NodeAllocatableResourceClaimStatus>& claims) {
  // Without it nobody would count what the devices take once the pod is on its node.
  return WriteStatus(
      pod, "NodeAllocatableResourceClaimStatuses", "DRANodeAllocatableResources",
      [&](api::PodStatus& status) { status.node_allocatable_resource_claim_statuses = claims; },
      [&](const api::PodStatus& status) {
        const auto& kept = status.node_allocatable_resource_claim_statuses;
        return kept ? kept->size() == claims.size() : claims.empty();
      });
}

Status ClaimWrites::WriteStatus(const api::Pod& pod, std::string_view what, std::string_view gate,
                                const std::function<void(api::PodStatus&)>& change,
                                const std::function<bool(const api::PodStatus&)>& kept) {
  const auto& meta = pod.metadata;
  const std::string doing = fmt::format("update pod {} {}", KeyOf(meta), what);
  api::Pod changed = pod;
  for (int left = kTries;; --left) {
    change(changed.status);
    const auto written = cluster_.UpdateStatus(api::Object::Of(changed));
    if (written.ok()) {
      if (kept(written->As<api::Pod>()->status)) return {};
      return base::FailedPrecondition(
          fmt::format("{}: the server dropped it: its feature gate {} is off", doing, gate));
    }
    const bool unknown = api::MayHaveHappened(written.status());
    if (left == 1 || (!unknown && !Conflict(written.status()))) {
      return base::Annotate(written.status(), doing);
    }
    const auto read = cluster_.Find(PodKind(), meta.namespace_, meta.name);
    if (!read.ok()) return api::OutcomeUnknown(base::Message(base::Annotate(read.status(), doing)));
    const std::optional<api::Object>& stored = *read;
    if (!stored.has_value() || stored->metadata().uid != meta.uid) {
      return base::NotFound(fmt::format("{}: the pod is gone", doing));
    }
    changed = *stored->As<api::Pod>();
  }
}

}  // namespace dray::scheduler
