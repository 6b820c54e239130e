// SPDX-License-Identifier: Apache-2.0
//
// PlaneMetrics: all metrics of a control plane, and the pages that show them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/gates.h"
#include "apiserver/http.h"
#include "apiserver/server.h"
#include "base/clock.h"
#include "metrics/registry.h"
#include "plane/internal/census.h"
#include "plane/internal/controller_metrics.h"
#include "plane/internal/scheduler_metrics.h"
#include "plane/internal/server_metrics.h"
#include "registry/objects.h"
#include "registry/request_metrics.h"

namespace dray::plane::internal {

// Outlives everything that it observes. Thread-safe.
class PlaneMetrics {
 public:
  // The clock outlives it.
  PlaneMetrics(const base::Clock& clock, const api::FeatureGates& gates,
               const std::string& kubernetes_version);

  // Before anybody asks. Objects outlive the last answer; `stats` is called as long as somebody
  // asks. `path` is the database's; empty: there is none.
  void Watch(const registry::Objects& objects, const std::string& path,
             std::function<apiserver::ServerStats()> stats);

  std::string Text() const { return registry_.Text(); }
  // /metrics and /metrics/resources; nothing for other paths.
  std::optional<apiserver::Response> Answer(const apiserver::Request& request) const;

  metrics::Registry& registry() { return registry_; }
  registry::RequestMetrics& requests() { return requests_; }
  StoreMetrics& store() { return store_; }
  SchedulerMetrics& scheduler() { return scheduler_; }
  ControllerMetrics& controllers() { return controllers_; }
  ClaimMetrics& claims() { return claims_; }

 private:
  const base::Clock& clock_;
  metrics::Registry registry_;
  registry::RequestMetrics requests_;
  StoreMetrics store_;
  SchedulerMetrics scheduler_;
  ControllerMetrics controllers_;
  ClaimMetrics claims_;
  const registry::Objects* objects_ = nullptr;
  std::unique_ptr<Census> census_;
};

}  // namespace dray::plane::internal
