// SPDX-License-Identifier: Apache-2.0
//
// The end of reservations, allocations and claims.
#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "api/pod_claims.h"
#include "controllers/pods.h"
#include "controllers/resource_claim_controller.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

// The scheduler protects a claim a moment before it allocates it. One that is protected for longer
// without having anything lost its allocation when a controller was stopped between two writes.
constexpr std::chrono::seconds kProtectionGrace{30};

bool IsProtected(const api::ResourceClaim& claim) {
  return std::ranges::find(claim.metadata.finalizers, api::kClaimFinalizer) !=
         claim.metadata.finalizers.end();
}

}  // namespace

StatusOr<bool> ResourceClaimController::IsPodOver(std::string_view namespace_,
                                                  std::string_view name,
                                                  std::string_view uid) const {
  const auto over = [&](const api::Pod& pod) { return pod.metadata.uid != uid || IsDone(pod); };
  if (const auto* pod = view().Find<api::Pod>(namespace_, name)) return over(*pod);
  // It may be too new for the watch. A claim must not be taken from it then.
  DRAY_ASSIGN_OR_RETURN(const auto stored, view().Fetch<api::Pod>(namespace_, name));
  return !stored.has_value() || over(*stored->As<api::Pod>());
}

StatusOr<bool> ResourceClaimController::IsOver(
    const api::ResourceClaim& claim, const api::ResourceClaimConsumerReference& user) const {
  if (api::IsGroup(user)) return IsGroupOver(claim, user);
  if (!user.api_group.empty() || user.resource != "pods") return false;  // nobody we know
  return IsPodOver(claim.metadata.namespace_, user.name, user.uid);
}

Status ResourceClaimController::RemoveFinalizer(const api::Object& claim) {
  api::Object changed = claim;
  std::erase(changed.MutableMetadata().finalizers, api::kClaimFinalizer);
  return view().Update(std::move(changed)).status();
}

Status ResourceClaimController::Release(
    const api::Object& claim, std::vector<api::ResourceClaimConsumerReference> remaining) {
  // Not taken again on a conflict: whoever was faster may have reserved it.
  api::Object changed = claim;
  api::ResourceClaimStatus& status = changed.Mutable<api::ResourceClaim>()->status;
  status.reserved_for = std::move(remaining);
  // Only the last user takes the devices along: somebody may have allocated a claim that was never
  // used so far.
  const bool unused = status.reserved_for.empty();
  if (unused && IsProtected(*claim.As<api::ResourceClaim>())) status.allocation.reset();
  DRAY_ASSIGN_OR_RETURN(const api::Object stored, view().UpdateStatus(std::move(changed)));
  const api::ResourceClaim& now = *stored.As<api::ResourceClaim>();
  if (now.status.allocation.has_value() || !IsProtected(now)) return {};
  return RemoveFinalizer(stored);
}

Status ResourceClaimController::Unprotect(const api::Object& claim) {
  const ObjectKey key = ObjectKey::Of(claim);
  const std::string& version = claim.metadata().resource_version;
  const std::chrono::nanoseconds now = clock().Monotonic();
  Needless& noticed = needless_[key];
  if (noticed.version != version) noticed = {version, now + kProtectionGrace};
  if (now >= noticed.until) return RemoveFinalizer(claim);
  queue().AddAfter(key, noticed.until - now);
  return {};
}

bool ResourceClaimController::IsLeft(const api::ResourceClaim& claim) const {
  const api::ObjectMeta& metadata = claim.metadata;
  // One that was made for a pod goes with it.
  if (!claim.status.allocation.has_value() || OwningPod(metadata) != nullptr) return false;
  if (!left_.contains(ObjectKey::Of<api::ResourceClaim>(metadata.namespace_, metadata.name))) {
    return false;
  }
  // A pod that waits is about to use it, or to let its scheduler give it back. One that is too new to
  // be known here gets other devices.
  const auto pods = pods_of_claim_.At(fmt::format("{}/{}", metadata.namespace_, metadata.name));
  return std::ranges::none_of(pods, [&](const std::string& name) {
    const auto* pod = view().Find<api::Pod>(metadata.namespace_, name);
    return pod != nullptr && !IsDone(*pod);
  });
}

Status ResourceClaimController::ReconcileClaim(const api::Object& object) {
  const api::ResourceClaim& claim = *object.As<api::ResourceClaim>();
  std::vector<api::ResourceClaimConsumerReference> remaining;
  for (const auto& user : claim.status.reserved_for) {
    DRAY_ASSIGN_OR_RETURN(const bool over, IsOver(claim, user));
    if (!over) remaining.push_back(user);
  }
  const bool unused = remaining.empty();
  const bool going = claim.metadata.deletion_timestamp.has_value();
  const bool needless =
      unused && !going && !claim.status.allocation.has_value() && IsProtected(claim);
  if (remaining.size() < claim.status.reserved_for.size()) {
    DRAY_RETURN_IF_ERROR(Release(object, std::move(remaining)));
  } else if (unused && IsProtected(claim) && (going || IsLeft(claim))) {
    DRAY_RETURN_IF_ERROR(Release(object, {}));
  } else if (needless) {
    DRAY_RETURN_IF_ERROR(Unprotect(object));
  }
  if (!needless) needless_.erase(ObjectKey::Of(object));
  if (!unused || going) return {};
  // Owners are followed by the garbage collector, but a pod that is over may stay for long, and
  // its claim is not to be in the way of others.
  const api::OwnerReference* pod = OwningPod(claim.metadata);
  if (pod == nullptr) return {};
  DRAY_ASSIGN_OR_RETURN(const bool over, IsPodOver(claim.metadata.namespace_, pod->name, pod->uid));
  return over ? view().Delete(object) : Status();
}

}  // namespace dray::controllers
