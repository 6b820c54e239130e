// SPDX-License-Identifier: Apache-2.0
//
// Claims of groups (KEP-5729): one per entry of the PodGroup, made before any pod if need be, named in
// the group's status and then in that of its pods, and reserved for the group as long as it is there.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "controllers/resource_claim_controller.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

constexpr std::string_view kGroupVersion = "scheduling.k8s.io/v1beta1";

std::string In(std::string_view namespace_, std::string_view name) {
  return fmt::format("{}/{}", namespace_, name);
}

const std::string* ClaimOf(const api::PodGroup& group, std::string_view entry) {
  const auto& statuses = group.status.resource_claim_statuses;
  const auto it = std::ranges::find(statuses, entry, &api::PodGroupResourceClaimStatus::name);
  if (it == statuses.end() || !it->resource_claim_name) return nullptr;
  return &*it->resource_claim_name;
}

}  // namespace

const api::PodGroup* ResourceClaimController::GroupOf(const api::Pod& pod) const {
  return view().Find<api::PodGroup>(pod.metadata.namespace_, api::GroupNameOf(pod));
}

std::optional<bool> ResourceClaimController::IsOfGroup(const api::Pod& pod,
                                                       const api::PodResourceClaim& entry) const {
  const bool groups = gates_.Enabled(api::Gate::kDRAWorkloadResourceClaims);
  if (!groups || api::GroupNameOf(pod).empty()) return false;
  const api::PodGroup* group = GroupOf(pod);
  if (group == nullptr) return std::nullopt;
  return api::IsOfGroup(entry, group->spec);
}

void ResourceClaimController::FileUnder(const api::PodGroup& group, bool present) {
  const api::ObjectMeta& metadata = group.metadata;
  for (const api::PodGroupResourceClaim& entry : group.spec.resource_claims) {
    if (!entry.resource_claim_template_name) continue;
    const std::string drawer = In(metadata.namespace_, *entry.resource_claim_template_name);
    present ? groups_of_template_.Add(drawer, metadata.name)
            : groups_of_template_.Remove(drawer, metadata.name);
  }
}

void ResourceClaimController::OnGroup(const api::PodGroup* before, const api::PodGroup* after) {
  if (before != nullptr) FileUnder(*before, false);
  if (after != nullptr) FileUnder(*after, true);
  const api::PodGroup& group = after != nullptr ? *after : *before;
  const std::string& namespace_ = group.metadata.namespace_;
  const bool other =
      before == nullptr || after == nullptr || before->metadata.uid != after->metadata.uid;
  if (after != nullptr && !after->spec.resource_claims.empty()) {
    queue().Add(ObjectKey::Of<api::PodGroup>(namespace_, after->metadata.name));
  }
  // What was reserved for one that is gone is looked at again, whether it was made for it or named.
  if (other && before != nullptr) {
    for (const api::PodGroupResourceClaim& entry : before->spec.resource_claims) {
      const std::string* made = ClaimOf(*before, entry.name);
      const std::string* claim = entry.resource_claim_name ? &*entry.resource_claim_name : made;
      if (claim != nullptr) queue().Add(ObjectKey::Of<api::ResourceClaim>(namespace_, *claim));
    }
    for (const std::string& claim : claims_of_pod_.At(before->metadata.uid)) {
      queue().Add(ObjectKey::Of<api::ResourceClaim>(namespace_, claim));
    }
  }
  const bool news =
      other || before->status.resource_claim_statuses != after->status.resource_claim_statuses;
  if (!news) return;
  for (const std::string& pod : pods_of_group_.At(In(namespace_, group.metadata.name))) {
    queue().Add(ObjectKey::Of<api::Pod>(namespace_, pod));
  }
}

StatusOr<bool> ResourceClaimController::IsGroupOver(
    const api::ResourceClaim& claim, const api::ResourceClaimConsumerReference& user) const {
  // Who does not know groups cannot tell.
  if (!gates_.Enabled(api::Gate::kDRAWorkloadResourceClaims)) return false;
  const std::string& namespace_ = claim.metadata.namespace_;
  if (const auto* group = view().Find<api::PodGroup>(namespace_, user.name)) {
    return group->metadata.uid != user.uid;
  }
  DRAY_ASSIGN_OR_RETURN(const auto stored, view().Fetch<api::PodGroup>(namespace_, user.name));
  return !stored.has_value() || stored->metadata().uid != user.uid;
}

StatusOr<std::optional<std::string>> ResourceClaimController::MakeGroupClaim(
    const api::PodGroup& group, const api::PodGroupResourceClaim& entry) {
  if (!entry.resource_claim_template_name) return std::nullopt;
  const std::string& namespace_ = group.metadata.namespace_;
  const auto ours = [&](const api::ResourceClaim& claim) {
    const api::OwnerReference* owner = api::FindController(claim.metadata);
    return owner != nullptr && owner->uid == group.metadata.uid;
  };
  if (const std::string* made = ClaimOf(group, entry.name)) {
    if (const auto* known = view().Find<api::ResourceClaim>(namespace_, *made)) {
      if (ours(*known)) return std::nullopt;
    } else {
      DRAY_ASSIGN_OR_RETURN(const auto stored, view().Fetch<api::ResourceClaim>(namespace_, *made));
      if (stored.has_value() && ours(*stored->As<api::ResourceClaim>())) return std::nullopt;
    }
  }
  for (const std::string& name : claims_of_pod_.At(group.metadata.uid)) {
    const auto* claim = view().Find<api::ResourceClaim>(namespace_, name);
    if (claim == nullptr || claim->metadata.deletion_timestamp) continue;
    const std::string* made_for = claim->metadata.annotations.Find(api::kPodClaimNameAnnotation);
    if (made_for != nullptr && *made_for == entry.name) return name;
  }
  return CreateFrom(*entry.resource_claim_template_name,
                    {group.metadata, kGroupVersion, "PodGroup"}, entry.name);
}

Status ResourceClaimController::ReconcileGroup(const api::Object& object) {
  const api::PodGroup& group = *object.As<api::PodGroup>();
  if (group.metadata.deletion_timestamp.has_value()) return {};
  std::map<std::string, std::string> made;
  for (const api::PodGroupResourceClaim& entry : group.spec.resource_claims) {
    const auto claim = MakeGroupClaim(group, entry);
    if (!claim.ok()) {
      return NotMade(object, fmt::format("PodGroupResourceClaim {}", entry.name), claim.status());
    }
    if (claim->has_value()) made[entry.name] = **claim;
  }
  if (made.empty()) return {};
  return view().EditStatus(object, [&](api::Object& changed) {
    auto& statuses = changed.Mutable<api::PodGroup>()->status.resource_claim_statuses;
    for (const auto& [entry, claim] : made) {
      const auto it = std::ranges::find(statuses, entry, &api::PodGroupResourceClaimStatus::name);
      if (it == statuses.end()) {
        statuses.push_back({.name = entry, .resource_claim_name = claim});
      } else {
        it->resource_claim_name = claim;
      }
    }
    return true;
  });
}

}  // namespace dray::controllers
