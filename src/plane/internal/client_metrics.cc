// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/client_metrics.h"

#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "plane/internal/measures.h"

namespace dray::plane::internal {

ClientMetrics::ClientMetrics(metrics::Registry& registry, std::string host,
                             const std::string& lease)
    : host_(std::move(host)),
      requests_(registry.Counters({"rest_client_requests_total",
                                   "Requests to the API server, by response code.",
                                   {"code", "host", "method"}})),
      durations_(
          registry.Histograms({"rest_client_request_duration_seconds",
                               "Latency of requests to the API server.",
                               {"host", "verb"}},
                              {0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60})) {
  if (lease.empty()) return;
  leading_ = &registry
                  .Gauges({"leader_election_master_status",
                           "1 if this process is the leader, 0 otherwise.",
                           {"name"}})
                  .With({lease});
}

void ClientMetrics::OnAnswer(const client::HttpRequest& request, int status,
                             std::chrono::nanoseconds took) {
  const std::string code = status == 0 ? "<error>" : fmt::format_int(status).str();
  requests_.With({code, host_, request.method}).Add();
  durations_.With({host_, request.method}).Observe(Seconds(took));
}

void ClientMetrics::SetLeading(bool leading) {
  if (leading_ != nullptr) leading_->Set(leading ? 1 : 0);
}

std::string HostIn(const std::string& url) {
  std::string_view host = url;
  if (const std::size_t scheme = host.find("://"); scheme != host.npos) {
    host.remove_prefix(scheme + 3);
  }
  return std::string(host.substr(0, host.find('/')));
}

}  // namespace dray::plane::internal
