// SPDX-License-Identifier: Apache-2.0
#include "planner/asked.h"

#include <algorithm>
#include <string>

#include "fmt/format.h"

namespace dray::planner {
namespace {

template <typename Outcome>
bool IsIn(const Outcome& outcome, std::string_view namespace_) {
  return namespace_.empty() || outcome.namespace_ == namespace_;
}

}  // namespace

Asked PendingIn(const Plan& plan, const PendingOptions& options) {
  const std::string_view namespace_ = options.namespace_;
  Asked asked;
  for (const PodOutcome& pod : plan.pods) {
    if (!IsIn(pod, namespace_) || !pod.explanation || (pod.made && !options.made)) continue;
    asked.pods.push_back(&pod);
  }
  for (const ClaimOutcome& claim : plan.claims) {
    if (IsIn(claim, namespace_) && claim.explanation) asked.claims.push_back(&claim);
  }
  for (const MissingPods& entry : plan.missing) {
    if (IsIn(entry, namespace_)) asked.missing.push_back(&entry);
  }
  return asked;
}

Asked About(const Plan& plan, std::string_view kind, std::string_view name,
            std::string_view namespace_) {
  const bool claims = kind == "ResourceClaim";
  const std::string owner = fmt::format("{}/{}", kind, name);
  const auto is_of = [&](const PodOutcome& pod) {
    if (kind == "Pod") return pod.name == name;
    if (claims) {
      return std::ranges::any_of(pod.claims, [&](const ClaimUse& use) { return use.name == name; });
    }
    return std::ranges::find(pod.owners, owner) != pod.owners.end();
  };
  Asked asked;
  for (const PodOutcome& pod : plan.pods) {
    if (IsIn(pod, namespace_) && is_of(pod)) asked.pods.push_back(&pod);
  }
  for (const ClaimOutcome& claim : plan.claims) {
    if (IsIn(claim, namespace_) && claims && claim.claim.name == name) {
      asked.claims.push_back(&claim);
    }
  }
  for (const MissingPods& entry : plan.missing) {
    if (IsIn(entry, namespace_) && std::ranges::find(entry.owners, owner) != entry.owners.end()) {
      asked.missing.push_back(&entry);
    }
  }
  return asked;
}

}  // namespace dray::planner
