// SPDX-License-Identifier: Apache-2.0
//
// PodDisruptionBudgets: their status, which says how many pods may be evicted. The eviction itself is
// the API server's, which takes its pod off the status at once; here it is counted again.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "api/cluster.h"
#include "api/disruption_budget.h"
#include "api/pod.h"
#include "base/clock.h"
#include "base/status.h"
#include "controllers/index.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

// One thread.
class DisruptionController final : public Reconciler {
 public:
  // Both outlive it.
  DisruptionController(const Source& source, const base::Clock& clock);

  std::string_view name() const override { return "disruption-controller"; }

 private:
  void OnChange(const api::Object* before, const api::Object* after) override;
  Status Reconcile(const ObjectKey& key) override;
  // How many pods the owners of these want in total.
  std::int32_t WantedBy(const std::vector<const api::Pod*>& pods) const;

  Index budgets_;  // by namespace
  // By namespace and name.
  absl::btree_map<std::pair<std::string, std::string>, api::Object> pods_;
};

}  // namespace dray::controllers
