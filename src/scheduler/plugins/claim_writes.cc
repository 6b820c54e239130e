// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/claim_writes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "api/kinds.h"
#include "fmt/format.h"
#include "scheduler/plugins/pod_claims.h"

namespace dray::scheduler {
namespace {

// As often as Kubernetes's clients do.
constexpr int kTries = 5;

const api::KindInfo& ClaimKind() { return api::HubKind(api::TypeInfoOf<api::ResourceClaim>()); }
const api::KindInfo& PodKind() { return api::HubKind(api::TypeInfoOf<api::Pod>()); }

bool Conflict(const Status& status) { return status.code() == StatusCode::kAborted; }
bool Gone(const Status& status) { return status.code() == StatusCode::kNotFound; }

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

const Status& StatusOf(const Status& status) { return status; }
template <typename T>
const Status& StatusOf(const StatusOr<T>& result) {
  return result.status();
}

}  // namespace

StatusOr<ClaimPointer> ClaimWrites::Fetch(const api::ResourceClaim& claim) const {
  const auto& meta = claim.metadata;
  const auto stored = cluster_.Find(ClaimKind(), meta.namespace_, meta.name);
  if (!stored.has_value() || stored->metadata().uid != meta.uid) {
    return base::NotFound(fmt::format("claim {} got deleted in the meantime", KeyOf(meta)));
  }
  return AsClaim(*stored);
}

template <typename Write>
auto ClaimWrites::Retry(ClaimPointer claim, Write write) -> decltype(write(claim)) {
  for (int left = kTries;; --left) {
    auto result = write(claim);
    if (left == 1 || !Conflict(StatusOf(result))) return result;
    auto stored = Fetch(*claim);
    if (!stored.ok()) return stored.status();
    claim = *std::move(stored);
  }
}

StatusOr<ClaimPointer> ClaimWrites::Bind(const ClaimPointer& claim,
                                         const api::AllocationResult* allocation,
                                         const api::Pod& pod) {
  auto stored =
      Retry(claim, [&](const ClaimPointer& now) { return TryBind(now, allocation, pod); });
  if (!stored.ok() || allocation == nullptr || HasAllOf(**stored, *allocation)) return stored;
  // As stored, it says something else about the device than what was decided. What cannot be given
  // back now is seen by the next attempt, as an allocation like any other.
  Deallocate(**stored).IgnoreError();
  return base::FailedPrecondition(
      fmt::format("add allocation and reservation to claim {}: the server dropped shares, consumed "
                  "capacity or admin access of the allocation: its feature gates are not this "
                  "scheduler's",
                  KeyOf(claim->metadata)));
}

StatusOr<ClaimPointer> ClaimWrites::TryBind(const ClaimPointer& claim,
                                            const api::AllocationResult* allocation,
                                            const api::Pod& pod) {
  const std::string key = KeyOf(claim->metadata);
  if (claim->metadata.deletion_timestamp.has_value()) {
    return base::FailedPrecondition(fmt::format("claim {} got deleted in the meantime", key));
  }
  api::ResourceClaim changed = *claim;
  if (allocation != nullptr) {
    if (changed.status.allocation.has_value()) {
      return base::FailedPrecondition(
          fmt::format("claim {} got allocated elsewhere in the meantime", key));
    }
    auto& finalizers = changed.metadata.finalizers;
    if (std::ranges::find(finalizers, kClaimFinalizer) == finalizers.end()) {
      finalizers.emplace_back(kClaimFinalizer);
      auto stored = cluster_.Update(api::Object::Of(std::move(changed)));
      if (!stored.ok()) {
        return base::Annotate(stored.status(), fmt::format("add finalizer to claim {}", key));
      }
      changed = *stored->As<api::ResourceClaim>();
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
    changed.status.reserved_for.push_back(ConsumerOf(pod));
  }
  auto stored = cluster_.UpdateStatus(api::Object::Of(std::move(changed)));
  if (!stored.ok()) {
    return base::Annotate(stored.status(),
                          fmt::format("add {}reservation to claim {}",
                                      allocation != nullptr ? "allocation and " : "", key));
  }
  return AsClaim(*stored);
}

Status ClaimWrites::RemoveReservation(const api::ResourceClaim& claim, const api::Pod& pod) {
  auto stored = Fetch(claim);
  if (!stored.ok()) return {};
  const Status status = Retry(*stored, [&](const ClaimPointer& now) -> Status {
    if (!ReservedFor(*now, pod)) return {};
    api::ResourceClaim changed = *now;
    std::erase_if(changed.status.reserved_for,
                  [&](const auto& consumer) { return consumer.uid == pod.metadata.uid; });
    return cluster_.UpdateStatus(api::Object::Of(std::move(changed))).status();
  });
  if (Gone(status)) return {};
  return base::Annotate(status,
                        fmt::format("remove reservation from claim {}", KeyOf(claim.metadata)));
}

Status ClaimWrites::Deallocate(const api::ResourceClaim& claim) {
  api::ResourceClaim changed = claim;
  changed.status = {.unknown = claim.status.unknown};
  // Not taken again on a conflict: whoever was faster may use the claim by now.
  return base::Annotate(cluster_.UpdateStatus(api::Object::Of(std::move(changed))).status(),
                        fmt::format("deallocate claim {}", KeyOf(claim.metadata)));
}

StatusOr<ClaimPointer> ClaimWrites::CreateSpecial(const api::ResourceClaim& unstored) {
  api::ResourceClaim claim = unstored;
  claim.metadata.name.clear();
  claim.metadata.uid.clear();
  claim.status = {};
  auto stored = cluster_.Create(api::Object::Of(std::move(claim)));
  if (!stored.ok()) {
    return base::Annotate(stored.status(), fmt::format("create claim for extended resources {}/{}",
                                                       unstored.metadata.namespace_,
                                                       unstored.metadata.generate_name));
  }
  return AsClaim(*stored);
}

Status ClaimWrites::DeleteSpecial(const api::ResourceClaim& claim) {
  const api::ObjectMeta& meta = claim.metadata;
  auto stored = Fetch(claim);
  if (!stored.ok()) return {};
  const Status removed = Retry(*stored, [&](const ClaimPointer& now) -> Status {
    api::ResourceClaim changed = *now;
    if (std::erase(changed.metadata.finalizers, kClaimFinalizer) == 0) return {};
    return cluster_.Update(api::Object::Of(std::move(changed))).status();
  });
  if (Gone(removed)) return {};
  if (!removed.ok()) {
    return base::Annotate(removed, fmt::format("update resourceclaim {}", KeyOf(meta)));
  }
  const Status deleted = cluster_.Delete(ClaimKind(), meta.namespace_, meta.name, meta.uid);
  if (Gone(deleted)) return {};
  return base::Annotate(deleted, fmt::format("delete resourceclaim {}", KeyOf(meta)));
}

Status ClaimWrites::SetMappings(
    const api::Pod& pod, std::string_view claim,
    const std::vector<api::ContainerExtendedResourceRequest>& mappings) {
  const auto& meta = pod.metadata;
  const std::string doing = fmt::format("update pod {} ExtendedResourceClaimStatus", KeyOf(meta));
  api::Pod changed = pod;
  for (int left = kTries;; --left) {
    api::PodExtendedResourceClaimStatus& status =
        changed.status.extended_resource_claim_status.emplace();
    status.resource_claim_name = claim;
    status.request_mappings = mappings;
    const auto written = cluster_.UpdateStatus(api::Object::Of(changed));
    if (written.ok()) {
      // Without it no kubelet would give the devices to the containers.
      const auto& mapped = written->As<api::Pod>()->status.extended_resource_claim_status;
      if (mapped.has_value() && mapped->resource_claim_name == claim) return {};
      return base::FailedPrecondition(fmt::format(
          "{}: the server dropped it: its feature gate DRAExtendedResource is off", doing));
    }
    if (left == 1 || !Conflict(written.status())) return base::Annotate(written.status(), doing);
    const auto stored = cluster_.Find(PodKind(), meta.namespace_, meta.name);
    if (!stored.has_value() || stored->metadata().uid != meta.uid) {
      return base::NotFound(fmt::format("{}: the pod is gone", doing));
    }
    changed = *stored->As<api::Pod>();
  }
}

}  // namespace dray::scheduler
