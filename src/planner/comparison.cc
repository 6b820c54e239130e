// SPDX-License-Identifier: Apache-2.0
#include "planner/comparison.h"

#include <algorithm>

#include "api/pod.h"
#include "api/resource_claim.h"
#include "fmt/format.h"
#include "planner/internal/outcomes.h"

namespace dray::planner {
namespace {

using internal::KeyOf;

std::optional<State> Find(const std::map<std::string, State>& states, const std::string& key) {
  const auto it = states.find(key);
  if (it == states.end()) return std::nullopt;
  return it->second;
}

}  // namespace

Comparison::Comparison(const std::vector<api::Object>& objects) {
  for (const api::Object& object : objects) {
    if (const auto* pod = object.As<api::Pod>()) {
      pods_[KeyOf(pod->metadata)] =
          pod->spec.node_name.empty() ? State::kRefused : State::kExisting;
    } else if (const auto* claim = object.As<api::ResourceClaim>()) {
      claims_[KeyOf(claim->metadata)] =
          claim->status.allocation.has_value() ? State::kExisting : State::kRefused;
    }
  }
}

void Comparison::Put(std::string_view kind, std::string_view namespace_, std::string_view name) {
  put_.insert(fmt::format("{}/{}/{}", kind, namespace_, name));
}

void Comparison::AddNode(std::string name, std::string like) {
  new_nodes_.emplace_back(std::move(name), std::move(like));
}

std::optional<State> Comparison::Before(const PodOutcome& pod) const {
  return Find(pods_, KeyOf(pod.namespace_, pod.name));
}

std::optional<State> Comparison::Before(const ClaimOutcome& claim) const {
  return Find(claims_, KeyOf(claim.namespace_, claim.claim.name));
}

bool Comparison::IsPut(std::string_view kind, std::string_view namespace_,
                       std::string_view name) const {
  return put_.contains(fmt::format("{}/{}/{}", kind, namespace_, name));
}

bool Comparison::IsNews(const PodOutcome& pod) const {
  if (pod.state != Before(pod) || IsPut("Pod", pod.namespace_, pod.name)) return true;
  return std::ranges::any_of(pod.owners, [&](const std::string& owner) {
    const auto slash = owner.find('/');
    return IsPut(owner.substr(0, slash), pod.namespace_, owner.substr(slash + 1));
  });
}

bool Comparison::IsNews(const ClaimOutcome& claim) const {
  return claim.state != Before(claim) || IsPut("ResourceClaim", claim.namespace_, claim.claim.name);
}

}  // namespace dray::planner
