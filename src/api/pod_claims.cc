// SPDX-License-Identifier: Apache-2.0
#include "api/pod_claims.h"

#include <algorithm>

namespace dray::api {

const PodResourceClaimStatus* FindClaimStatus(const Pod& pod, const PodResourceClaim& entry) {
  if (!pod.status.resource_claim_statuses.has_value()) return nullptr;
  const auto& statuses = *pod.status.resource_claim_statuses;
  const auto it = std::ranges::find(statuses, entry.name, &PodResourceClaimStatus::name);
  return it == statuses.end() ? nullptr : &*it;
}

namespace {

constexpr std::size_t kFewStatuses = 8;

template <typename FindStatus>
std::optional<std::string_view> NameBehind(const PodResourceClaim& entry, FindStatus find_status) {
  if (entry.resource_claim_name.has_value()) return *entry.resource_claim_name;
  if (!entry.resource_claim_template_name.has_value()) return std::nullopt;
  const PodResourceClaimStatus* status = find_status();
  if (status == nullptr || !status->resource_claim_name.has_value()) return std::nullopt;
  return *status->resource_claim_name;
}

}  // namespace

std::optional<std::string_view> ClaimNameOf(const Pod& pod, const PodResourceClaim& entry) {
  return NameBehind(entry, [&] { return FindClaimStatus(pod, entry); });
}

ClaimsOfPod::ClaimsOfPod(const Pod& pod) : pod_(pod) {
  if (!pod.status.resource_claim_statuses.has_value()) return;
  const auto& statuses = *pod.status.resource_claim_statuses;
  if (statuses.size() <= kFewStatuses) return;
  statuses_.reserve(statuses.size());
  for (const PodResourceClaimStatus& status : statuses) statuses_.emplace(status.name, &status);
}

const PodResourceClaimStatus* ClaimsOfPod::FindStatus(const PodResourceClaim& entry) const {
  if (statuses_.empty()) return FindClaimStatus(pod_, entry);
  const auto found = statuses_.find(entry.name);
  return found == statuses_.end() ? nullptr : found->second;
}

std::optional<std::string_view> ClaimsOfPod::NameOf(const PodResourceClaim& entry) const {
  return NameBehind(entry, [&] { return FindStatus(entry); });
}

bool OwnedBy(const ResourceClaim& claim, const Pod& pod) {
  const OwnerReference* owner = FindController(claim.metadata);
  if (owner == nullptr) return false;
  if (owner->uid == pod.metadata.uid) return true;
  const OwnerReference* group = OwningGroup(claim.metadata);
  return group != nullptr && group->name == GroupNameOf(pod);
}

bool ReservedFor(const ResourceClaim& claim, const Pod& pod) {
  const std::string_view group = GroupNameOf(pod);
  return std::ranges::any_of(claim.status.reserved_for,
                             [&](const ResourceClaimConsumerReference& user) {
                               return user.uid == pod.metadata.uid ||
                                      (!group.empty() && IsGroup(user) && user.name == group);
                             });
}

std::string_view GroupNameOf(const Pod& pod) {
  if (!pod.spec.scheduling_group || !pod.spec.scheduling_group->pod_group_name) return {};
  return *pod.spec.scheduling_group->pod_group_name;
}

bool IsOfGroup(const PodResourceClaim& entry, const PodGroupSpec& group) {
  return std::ranges::any_of(group.resource_claims, [&](const PodGroupResourceClaim& claim) {
    return claim.name == entry.name && claim.resource_claim_name == entry.resource_claim_name &&
           claim.resource_claim_template_name == entry.resource_claim_template_name;
  });
}

ResourceClaimConsumerReference ConsumerOf(const PodGroup& group) {
  return {.api_group = std::string(kSchedulingGroup),
          .resource = "podgroups",
          .name = group.metadata.name,
          .uid = group.metadata.uid};
}

bool IsGroup(const ResourceClaimConsumerReference& user) {
  return user.api_group == kSchedulingGroup && user.resource == "podgroups";
}

const OwnerReference* OwningGroup(const ObjectMeta& claim) {
  const OwnerReference* owner = FindController(claim);
  if (owner == nullptr || owner->kind != "PodGroup") return nullptr;
  const std::string_view version = owner->api_version;
  const std::size_t slash = version.find('/');
  const bool ours = slash != version.npos && version.substr(0, slash) == kSchedulingGroup;
  return ours ? owner : nullptr;
}

ResourceClaimConsumerReference ConsumerOf(const Pod& pod) {
  return {.resource = "pods", .name = pod.metadata.name, .uid = pod.metadata.uid};
}

}  // namespace dray::api
