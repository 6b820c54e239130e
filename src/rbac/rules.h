// SPDX-License-Identifier: Apache-2.0
//
// What a rule of a role allows, and whether some rules allow all that others do. Pure.
//
// Spec: Kubernetes, "Using RBAC authorization"; docs/decisions.md rows 670 to 677.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "api/authorization.h"
#include "api/rbac.h"

namespace dray::rbac {

// "*" among verbs, groups, resources or paths is any. Resources may be "pods", "pods/log" (that part
// alone), "*/scale" (that part of any) or "*" (everything, parts too). A path that ends with '*'
// is a prefix. Resource names are only looked at when there are some: a request without a name then
// is not allowed.
bool Allows(const api::PolicyRule& rule, const api::AuthorizationRequest& request);
inline bool Allows(std::span<const api::PolicyRule> rules,
                   const api::AuthorizationRequest& request) {
  for (const api::PolicyRule& rule : rules) {
    if (Allows(rule, request)) return true;
  }
  return false;
}

// What is wanted and not had.
struct Missing {
  std::vector<api::PolicyRule> rules;  // each of one verb and one thing; the first of them
  bool more = false;                   // there may be others: it was not looked any further
  bool empty() const { return rules.empty() && !more; }
};
// So many are named, and so many texts compared to find them: three lists in a role can have more
// combinations than anybody can check. What was not looked at counts as missing.
inline constexpr std::size_t kMostMissing = 100;
inline constexpr std::size_t kMostComparisons = 10'000'000;

// Which of `wanted` the rules `had` do not allow. Compares what is written, as Kubernetes does: to
// have every verb by name is not to have "*".
Missing Uncovered(std::span<const api::PolicyRule> had, std::span<const api::PolicyRule> wanted);

// `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}`
std::string CompactText(const api::PolicyRule& rule);
// Rules that differ in their verbs alone, as one; in order of their text, a line each.
std::string CompactText(const Missing& missing);

}  // namespace dray::rbac
