// SPDX-License-Identifier: Apache-2.0
//
// Deployments: a ReplicaSet per version of the pod template, and the way from one to the next.
#pragma once

#include <cstdint>
#include <optional>
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
class DeploymentController final : public Reconciler {
 public:
  // Both outlive it.
  DeploymentController(const Source& source, const base::Clock& clock);

  std::string_view name() const override { return "deployment-controller"; }

 private:
  // A deployment's sets: of its present template, and of others, the oldest first.
  struct Sets {
    std::optional<api::Object> fresh;
    std::vector<api::Object> old;
  };

  void OnChange(const api::Object* before, const api::Object* after) override;
  void QueueSelecting(const api::ObjectMeta& orphan);
  Status Reconcile(const ObjectKey& key) override;
  Sets SetsOf(const api::Object& deployment, std::vector<api::Object> sets) const;

  // Each does what can be done now; what it writes is a change that brings the next step.
  Status EnsureFresh(const api::Object& deployment, Sets& sets, std::int32_t replicas);
  Status MakeFresh(const api::Object& deployment, Sets& sets, std::int32_t replicas);
  Status RollOut(const api::Object& deployment, Sets& sets);
  Status DrainOld(const api::Object& deployment, Sets& sets);
  Status Recreate(const api::Object& deployment, Sets& sets);
  Status ScalePaused(const api::Object& deployment, Sets& sets);
  Status Scale(const api::Object& deployment, api::Object& set, std::int32_t replicas);
  Status RemoveHistory(const api::Object& deployment, const Sets& sets);
  bool HasRunningPods(const std::vector<api::Object>& sets) const;

  Status WriteStatus(const api::Object& deployment, const Sets& sets);

  Children sets_;
  Children pods_;
  Index deployments_;  // by namespace
};

}  // namespace dray::controllers
