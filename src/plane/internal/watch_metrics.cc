// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/watch_metrics.h"

#include <utility>

namespace dray::plane::internal {

using metrics::Readings;
using metrics::Registry;

void AddHealthMetrics(Registry& registry,
                      std::function<std::span<const registry::HealthCheck>()> checks) {
  registry.Measure({"kubernetes_healthcheck", "Health checks: 1 if passing.", {"name", "type"}},
                   [checks = std::move(checks)](Readings& readings) {
                     for (const registry::HealthCheck& check : checks()) {
                       const double well = check.check().ok() ? 1 : 0;
                       for (const std::string_view endpoint : registry::kHealthEndpoints) {
                         if (Asks(endpoint, check)) readings.Add({check.name, endpoint}, well);
                       }
                     }
                   });
}

void AddLogMetrics(Registry& registry, const logs::Log& log) {
  registry.Measure(
      {"dray_log_records_total", "Log records written, by level.", {"level"}},
      [&log](Readings& readings) {
        const logs::LogCounts counts = log.counts();
        for (std::size_t i = 0; i < logs::kLevels; ++i) {
          readings.Add({NameOf(static_cast<logs::Level>(i))},
                       static_cast<double>(counts.records[i]));
        }
      },
      Registry::Kind::kCounter);
  registry.Measure(
      {"dray_log_records_lost_total",
       "Log records dropped: too many of one kind, or not read in time.",
       {"reason"}},
      [&log](Readings& readings) {
        const logs::LogCounts counts = log.counts();
        readings.Add({"repeated"}, static_cast<double>(counts.suppressed));
        readings.Add({"not_read"}, static_cast<double>(counts.dropped));
      },
      Registry::Kind::kCounter);
}

void AddAuditMetrics(Registry& registry, const audit::Auditor& auditor) {
  registry.Measure(
      {"apiserver_audit_event_total", "Audit events generated.", {}},
      [&auditor](Readings& readings) {
        readings.Add({}, static_cast<double>(auditor.counts().events));
      },
      Registry::Kind::kCounter);
  registry.Measure(
      {"apiserver_audit_error_total", "Audit events that could not be written.", {"plugin"}},
      [&auditor](Readings& readings) {
        readings.Add({"log"}, static_cast<double>(auditor.counts().errors));
      },
      Registry::Kind::kCounter);
  registry.Measure(
      {"apiserver_audit_level_total", "Requests, by audit level.", {"level"}},
      [&auditor](Readings& readings) {
        const audit::AuditCounts counts = auditor.counts();
        for (std::size_t i = 0; i < audit::kLevels; ++i) {
          readings.Add({NameOf(static_cast<audit::Level>(i))},
                       static_cast<double>(counts.levels[i]));
        }
      },
      Registry::Kind::kCounter);
}

}  // namespace dray::plane::internal
