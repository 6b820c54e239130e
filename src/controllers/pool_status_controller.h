// SPDX-License-Identifier: Apache-2.0
//
// ResourcePoolStatusRequests are answered once, and go an hour after that.
//
// Spec: KEP-5677 (the gate DRAResourcePoolStatus).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "api/gates.h"
#include "api/pool_status_request.h"
#include "base/clock.h"
#include "base/status.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

// One thread.
class PoolStatusController final : public Reconciler {
 public:
  // Source and clock outlive it.
  PoolStatusController(const Source& source, const base::Clock& clock, api::FeatureGates gates);

  std::string_view name() const override { return "resource-pool-status-request-controller"; }

 private:
  using PoolKey = std::pair<std::string, std::string>;  // driver, pool
  struct Pool {
    absl::btree_map<std::string, api::Object> slices;
    absl::btree_set<ObjectKey> claims;  // that have devices of it
  };

  void OnChange(const api::Object* before, const api::Object* after) override;
  void OnSlice(const api::Object* before, const api::Object* after);
  void OnClaim(const api::Object* before, const api::Object* after);
  void OnRequest(const api::Object* before, const api::Object* after);
  void DropIfEmpty(const PoolKey& key);

  Status Reconcile(const ObjectKey& key) override;
  api::ResourcePoolStatusRequestStatus AnswerTo(const api::ResourcePoolStatusRequestSpec& spec,
                                                bool* incomplete) const;
  api::PoolStatus StatusOf(const PoolKey& key, const Pool& pool,
                           const api::ResourcePoolStatusRequestSpec& spec) const;

  const bool enabled_;
  const bool rules_counted_;
  absl::btree_map<PoolKey, Pool> pools_;
  absl::btree_map<std::string, api::Object> rules_;  // by name
  absl::btree_set<ObjectKey> open_;                  // requests without an answer
};

}  // namespace dray::controllers
