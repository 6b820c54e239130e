// SPDX-License-Identifier: Apache-2.0
#include "rbac/aggregation.h"

#include <algorithm>
#include <set>
#include <string>

#include "api/json.h"
#include "api/label_selector.h"

namespace dray::rbac {

std::vector<api::PolicyRule> AggregatedRules(const api::ClusterRole& role,
                                             std::span<const api::ClusterRole* const> all) {
  std::vector<api::PolicyRule> rules;
  if (!role.aggregation_rule) return rules;
  std::vector<const api::ClusterRole*> others;
  for (const api::ClusterRole* other : all) {
    if (other->metadata.name != role.metadata.name) others.push_back(other);
  }
  std::ranges::sort(others, {}, [](const auto* other) { return other->metadata.name; });
  std::set<std::string> seen;  // as text: a role may have very many
  for (const api::LabelSelector& selector : role.aggregation_rule->cluster_role_selectors) {
    const auto matcher = api::LabelMatcher::From(selector);
    if (!matcher.ok()) continue;
    for (const api::ClusterRole* other : others) {
      if (!matcher->Matches(other->metadata.labels)) continue;
      for (const api::PolicyRule& rule : other->rules) {
        if (seen.insert(api::EncodeJson(rule)).second) rules.push_back(rule);
      }
    }
  }
  return rules;
}

}  // namespace dray::rbac
