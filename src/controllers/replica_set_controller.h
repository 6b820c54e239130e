// SPDX-License-Identifier: Apache-2.0
//
// ReplicaSets: as many pods as they say, from their template.
#pragma once

#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "api/workloads.h"
#include "base/clock.h"
#include "base/status.h"
#include "controllers/children.h"
#include "controllers/index.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

// One thread.
class ReplicaSetController final : public Reconciler {
 public:
  // Both outlive it.
  ReplicaSetController(const Source& source, const base::Clock& clock);

  std::string_view name() const override { return "replicaset-controller"; }

 private:
  void OnChange(const api::Object* before, const api::Object* after) override;
  void OnPod(const api::Object* before, const api::Object* after);
  void QueueSelecting(const api::ObjectMeta& orphan);

  Status Reconcile(const ObjectKey& key) override;
  Status Scale(const api::Object& set, const std::vector<api::Object>& active);
  Status MakePods(const api::Object& set, std::size_t count);
  Status DeletePods(const api::Object& set, std::vector<api::Object> active, std::size_t count);
  Status WriteStatus(const api::Object& set, const Status& scaled);
  std::vector<api::Object> Active(const std::vector<api::Object>& pods) const;

  Children pods_;
  Index sets_;  // by namespace
};

}  // namespace dray::controllers
