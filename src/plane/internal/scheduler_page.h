// SPDX-License-Identifier: Apache-2.0
//
// SchedulerPage: the metrics of a scheduler that runs by itself, under kube-scheduler's names.
#pragma once

#include <string>

#include "api/gates.h"
#include "base/clock.h"
#include "logs/log.h"
#include "metrics/registry.h"
#include "plane/internal/client_metrics.h"
#include "plane/internal/controller_metrics.h"
#include "plane/internal/scheduler_metrics.h"

namespace dray::plane::internal {

struct SchedulerPageOptions {
  api::FeatureGates gates;
  std::string kubernetes_version;  // of the API server
  std::string host;                // of the API server
  std::string lease;               // empty: there is no election
  const logs::Log* log = nullptr;  // outlives it
};

// Thread-safe, but for what belongs to the scheduler's thread.
class SchedulerPage {
 public:
  // The clock outlives it.
  SchedulerPage(const base::Clock& clock, const SchedulerPageOptions& options);

  metrics::Registry& registry() { return registry_; }
  const metrics::Registry& registry() const { return registry_; }
  SchedulerMetrics& scheduler() { return scheduler_; }
  ClaimMetrics& claims() { return claims_; }

  ClientMetrics& client() { return client_; }

 private:
  metrics::Registry registry_;
  SchedulerMetrics scheduler_;
  ClaimMetrics claims_;
  ClientMetrics client_;
};

}  // namespace dray::plane::internal
