// SPDX-License-Identifier: Apache-2.0
#include "controllers/role_aggregation.h"

#include <array>
#include <utility>
#include <vector>

#include "api/rbac.h"
#include "rbac/aggregation.h"

namespace dray::controllers {
namespace {

std::array<const api::KindInfo*, 1> Kinds() { return {&KindOf<api::ClusterRole>()}; }

}  // namespace

RoleAggregation::RoleAggregation(const Source& source, const base::Clock& clock)
    : Reconciler(source, clock, Kinds()) {}

// Labels and rules of any role may be another one's: those that gather are few.
void RoleAggregation::OnChange(const api::Object* before, const api::Object* after) {
  const std::string& name = (after != nullptr ? after : before)->metadata().name;
  const auto* role = after == nullptr ? nullptr : after->As<api::ClusterRole>();
  if (role == nullptr) {
    roles_.erase(name);
    gathering_.erase(name);
  } else {
    roles_.insert(name);
    if (role->aggregation_rule) {
      gathering_.insert(name);
    } else {
      gathering_.erase(name);
    }
  }
  for (const std::string& one : gathering_) queue().Add(ObjectKey::Of<api::ClusterRole>("", one));
}

Status RoleAggregation::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  const auto* role = found == nullptr ? nullptr : found->As<api::ClusterRole>();
  if (role == nullptr || !role->aggregation_rule) return {};
  std::vector<const api::ClusterRole*> all;
  for (const std::string& name : roles_) {
    if (const auto* one = view().Find<api::ClusterRole>("", name)) all.push_back(one);
  }
  std::vector<api::PolicyRule> rules = rbac::AggregatedRules(*role, all);
  if (rules == role->rules) return {};
  // Only of what was looked at: whoever changes the selectors meanwhile is asked again.
  api::Object next = *found;
  next.Mutable<api::ClusterRole>()->rules = std::move(rules);
  const Status written = view().Update(std::move(next)).status();
  // It is gone; there is nothing to gather for.
  return written.code() == StatusCode::kNotFound ? Status() : written;
}

}  // namespace dray::controllers
