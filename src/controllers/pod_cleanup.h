// SPDX-License-Identifier: Apache-2.0
//
// Pods that nobody will end: those of nodes that are gone, those that were deleted before they had
// a node, and the oldest of too many that have ended.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>

#include "absl/container/btree_set.h"
#include "api/cluster.h"
#include "api/pod.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/string_map.h"
#include "controllers/index.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

struct PodCleanupOptions {
  // Pods that have ended and are kept.
  std::size_t ended_pods = 12'500;
};

// One thread.
class PodCleanup final : public Reconciler {
 public:
  // Cluster and clock outlive it.
  PodCleanup(const Source& source, const base::Clock& clock, PodCleanupOptions options = {});

  std::string_view name() const override { return "pod-garbage-collector"; }

 private:
  using Ended = std::tuple<base::Time, std::string, std::string>;  // created, namespace, name

  void OnChange(const api::Object* before, const api::Object* after) override;
  void OnNode(const api::Object* before, const api::Object* after);
  Status Reconcile(const ObjectKey& key) override;
  Status ReconcileLost(const api::Object& pod);

  void Leave(const std::string& node, const ObjectKey& pod);
  void End(const Ended& pod);
  void Revive(const Ended& pod);

  const PodCleanupOptions options_;
  base::StringMap<absl::btree_set<ObjectKey>> pods_on_;  // by node
  base::StringMap<std::chrono::nanoseconds> lost_;       // since when a node is not there
  // Pods that have ended, by age: the newest, as many as may stay, and those that are older.
  absl::btree_set<Ended> ended_;
  absl::btree_set<Ended> too_many_;
};

}  // namespace dray::controllers
