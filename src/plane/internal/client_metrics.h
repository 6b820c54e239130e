// SPDX-License-Identifier: Apache-2.0
//
// What a process beside the API server tells of its requests and of its lease, under Kubernetes's names.
#pragma once

#include <chrono>
#include <string>

#include "client/http_client.h"
#include "metrics/registry.h"

namespace dray::plane::internal {

// Thread-safe.
class ClientMetrics {
 public:
  // The registry outlives it. `host`: of the API server; `lease`: empty if there is no election.
  ClientMetrics(metrics::Registry& registry, std::string host, const std::string& lease);

  void OnAnswer(const client::HttpRequest& request, int status, std::chrono::nanoseconds took);
  void SetLeading(bool leading);

 private:
  const std::string host_;
  metrics::Family<metrics::Counter>& requests_;
  metrics::Family<metrics::Histogram>& durations_;
  metrics::Gauge* leading_ = nullptr;
};

// Of a URL: "127.0.0.1:6443".
std::string HostIn(const std::string& url);

}  // namespace dray::plane::internal
