// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/scheduler_page.h"

#include "fmt/format.h"
#include "plane/internal/measures.h"
#include "plane/internal/process_metrics.h"
#include "plane/internal/server_metrics.h"
#include "plane/internal/watch_metrics.h"

namespace dray::plane::internal {

SchedulerPage::SchedulerPage(const base::Clock& clock, const SchedulerPageOptions& options)
    : host_(options.host),
      scheduler_(registry_, clock),
      claims_(registry_),
      requests_(registry_.Counters({"rest_client_requests_total",
                                    "Requests to the API server that were answered.",
                                    {"code", "host", "method"}})),
      durations_(
          registry_.Histograms({"rest_client_request_duration_seconds",
                                "Time from a request to the API server to its answer.",
                                {"host", "verb"}},
                               {0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60})) {
  AddVersionMetrics(registry_, options.kubernetes_version, options.gates);
  AddProcessMetrics(registry_);
  if (options.log != nullptr) AddLogMetrics(registry_, *options.log);
  if (options.lease.empty()) return;
  leading_ = &registry_
                  .Gauges({"leader_election_master_status",
                           "1: this process leads; 0: another one does, or nobody.",
                           {"name"}})
                  .With({options.lease});
}

void SchedulerPage::OnAnswer(const client::HttpRequest& request, int status,
                             std::chrono::nanoseconds took) {
  const std::string code = status == 0 ? "<error>" : fmt::format_int(status).str();
  requests_.With({code, host_, request.method}).Add();
  durations_.With({host_, request.method}).Observe(Seconds(took));
}

void SchedulerPage::SetLeading(bool leading) {
  if (leading_ != nullptr) leading_->Set(leading ? 1 : 0);
}

}  // namespace dray::plane::internal
