// SPDX-License-Identifier: Apache-2.0
//
// What health, the log and the audit log know, as metrics.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>

#include "audit/auditor.h"
#include "logs/log.h"
#include "metrics/registry.h"
#include "registry/health.h"

namespace dray::plane::internal {

// kubernetes_healthcheck: each check, by endpoint. `checks` is called whenever somebody asks.
void AddHealthMetrics(metrics::Registry& registry,
                      std::function<std::span<const registry::HealthCheck>()> checks);
void AddLogMetrics(metrics::Registry& registry, const logs::Log& log);
void AddAuditMetrics(metrics::Registry& registry, const audit::Auditor& auditor);

}  // namespace dray::plane::internal
