// SPDX-License-Identifier: Apache-2.0
//
// ClusterRoles that gather others: their rules follow those of the roles that they select.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "controllers/reconciler.h"

namespace dray::controllers {

// One thread.
class RoleAggregation final : public Reconciler {
 public:
  // Source and clock outlive it.
  RoleAggregation(const Source& source, const base::Clock& clock);

  std::string_view name() const override { return "clusterrole-aggregation"; }

 private:
  void OnChange(const api::Object* before, const api::Object* after) override;
  Status Reconcile(const ObjectKey& key) override;

  std::set<std::string, std::less<>> roles_;      // all, by name
  std::set<std::string, std::less<>> gathering_;  // those that gather others
};

}  // namespace dray::controllers
