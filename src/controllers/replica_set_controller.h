// SPDX-License-Identifier: Apache-2.0
//
// ReplicaSets: as many pods as they say, from their template.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/cluster.h"
#include "api/workloads.h"
#include "base/clock.h"
#include "base/status.h"
#include "controllers/index.h"
#include "controllers/reconciler.h"
#include "controllers/replicas.h"

namespace dray::controllers {

// One thread.
class ReplicaSetController final : public Reconciler {
 public:
  // Both outlive it.
  ReplicaSetController(const Source& source, const base::Clock& clock);

  std::string_view name() const override { return "replicaset-controller"; }
  // Pods that were looked at so far.
  std::uint64_t looked_at() const { return pods_.looked_at(); }

 private:
  void OnChange(const api::Object* before, const api::Object* after) override;
  void OnPod(const api::Object* before, const api::Object* after);
  void QueueSelecting(const api::ObjectMeta& orphan);

  Status Reconcile(const ObjectKey& key) override;
  Status Scale(const api::Object& set, std::size_t active);
  Status MakePods(const api::Object& set, std::size_t count);
  Status DeletePods(const api::Object& set, std::size_t count);
  Status WriteStatus(const api::Object& set, const ReplicaRules& rules, const Status& scaled);

  Replicas pods_;
  Index sets_;  // by namespace
};

}  // namespace dray::controllers
