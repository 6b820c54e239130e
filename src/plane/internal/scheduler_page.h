// SPDX-License-Identifier: Apache-2.0
//
// SchedulerPage: the metrics of a scheduler that runs by itself, under kube-scheduler's names.
#pragma once

#include <chrono>
#include <string>

#include "api/gates.h"
#include "base/clock.h"
#include "client/http_client.h"
#include "logs/log.h"
#include "metrics/registry.h"
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

  void OnAnswer(const client::HttpRequest& request, int status, std::chrono::nanoseconds took);
  void SetLeading(bool leading);

 private:
  const std::string host_;
  metrics::Registry registry_;
  SchedulerMetrics scheduler_;
  ClaimMetrics claims_;
  metrics::Family<metrics::Counter>& requests_;
  metrics::Family<metrics::Histogram>& durations_;
  metrics::Gauge* leading_ = nullptr;
};

}  // namespace dray::plane::internal
