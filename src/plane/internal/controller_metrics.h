// SPDX-License-Identifier: Apache-2.0
//
// What controllers do, as metrics under Kubernetes's names.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "api/cluster.h"
#include "controllers/all_controllers.h"
#include "controllers/observer.h"
#include "metrics/registry.h"

namespace dray::plane::internal {

// An observer of one set of controllers, on their thread; others read the metrics.
class ControllerMetrics final : public controllers::Observer {
 public:
  // Outlives it.
  explicit ControllerMetrics(metrics::Registry& registry);

  void OnReconciled(std::string_view controller, bool ok, std::chrono::nanoseconds waited,
                    std::chrono::nanoseconds took) override;
  void OnTaintEviction(std::chrono::nanoseconds late) override;
  // Called after every turn.
  void Publish(const controllers::ControllerList& controllers);

 private:
  metrics::Family<metrics::Gauge>& depth_;
  metrics::Family<metrics::Counter>& adds_;
  metrics::Family<metrics::Counter>& retries_;
  metrics::Family<metrics::Histogram>& waited_;
  metrics::Family<metrics::Histogram>& took_;
  metrics::Counter& evictions_;
  metrics::Histogram& evictions_late_;
};

// Claims that are created, by whom and how that ended.
class ClaimMetrics {
 public:
  // Outlives it.
  explicit ClaimMetrics(metrics::Registry& registry);

  // The cluster as the scheduler or the controllers are to see it: the claims that they create are
  // counted. Both outlive it.
  std::unique_ptr<api::Cluster> ForScheduler(api::Cluster& cluster);
  std::unique_ptr<api::Cluster> ForControllers(api::Cluster& cluster);

 private:
  class CountedCluster;
  void Created(const api::Object& claim, bool ok, bool by_scheduler);

  metrics::Family<metrics::Counter>& all_;
  metrics::Family<metrics::Counter>& scheduler_;
  metrics::Family<metrics::Counter>& controllers_;
};

}  // namespace dray::plane::internal
