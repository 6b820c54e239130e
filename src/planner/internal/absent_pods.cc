// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/absent_pods.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "api/pod.h"
#include "fmt/format.h"

namespace dray::planner::internal {
namespace {

// Moves what `moves` says from one list to the end of another.
template <typename T, typename Predicate>
void Move(std::vector<T>& from, std::vector<T>& to, Predicate moves) {
  std::ranges::copy_if(from, std::back_inserter(to), moves);
  std::erase_if(from, moves);
}

}  // namespace

AbsentPods::AbsentPods(std::vector<api::Object>& objects, std::vector<std::string>& notes) {
  std::set<std::pair<std::string, std::string>> pods;
  for (const api::Object& object : objects) {
    if (object.As<api::Pod>() == nullptr) continue;
    pods.emplace(object.metadata().namespace_, object.metadata().name);
  }
  for (api::Object& object : objects) {
    if (object.As<api::ResourceClaim>() == nullptr) continue;
    const std::string space = object.metadata().namespace_;
    const auto absent = [&](const std::string& name) { return !pods.contains({space, name}); };
    const auto owner = [&](const api::OwnerReference& reference) {
      return reference.api_version == "v1" && reference.kind == "Pod" && absent(reference.name);
    };
    const auto user = [&](const api::ResourceClaimConsumerReference& reference) {
      return reference.api_group.empty() && reference.resource == "pods" && absent(reference.name);
    };
    const auto& claim = *object.As<api::ResourceClaim>();
    if (std::ranges::none_of(claim.metadata.owner_references, owner) &&
        std::ranges::none_of(claim.status.reserved_for, user)) {
      continue;
    }
    Taken& taken = taken_[{space, object.metadata().name}];
    auto& changed = *object.Mutable<api::ResourceClaim>();
    Move(changed.metadata.owner_references, taken.owners, owner);
    Move(changed.status.reserved_for, taken.users, user);
  }
  if (taken_.empty()) return;
  notes.push_back(
      fmt::format("{} for pods that are not in the input; treated as in use",
                  taken_.size() == 1 ? "1 claim is" : fmt::format("{} claims are", taken_.size())));
}

void AbsentPods::Restore(std::vector<api::Object>& objects) const {
  for (api::Object& object : objects) {
    if (object.As<api::ResourceClaim>() == nullptr) continue;
    const auto found = taken_.find({object.metadata().namespace_, object.metadata().name});
    if (found == taken_.end()) continue;
    auto& claim = *object.Mutable<api::ResourceClaim>();
    auto& owners = claim.metadata.owner_references;
    owners.insert(owners.begin(), found->second.owners.begin(), found->second.owners.end());
    auto& users = claim.status.reserved_for;
    users.insert(users.begin(), found->second.users.begin(), found->second.users.end());
  }
}

}  // namespace dray::planner::internal
