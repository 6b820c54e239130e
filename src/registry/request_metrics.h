// SPDX-License-Identifier: Apache-2.0
//
// RequestMetrics: how many requests there are, of which kind, how they end and how long they take.
// Names and labels are kube-apiserver's.
#pragma once

#include <memory>
#include <string_view>

#include "api/kinds.h"
#include "apiserver/http.h"
#include "base/clock.h"
#include "metrics/registry.h"

namespace dray::registry {

// What a request is about. All views are of constants: labels never come from clients, who could
// otherwise make as many metrics as they like.
struct RequestLabels {
  std::string_view verb;                // GET, LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE, ...
  const api::KindInfo* kind = nullptr;  // null: no resource, or none that is known
  std::string_view subresource = {};    // one that discovery knows
  std::string_view scope = {};          // cluster, namespace, resource
  bool dry_run = false;
  bool mutating = false;
};

// Thread-safe.
class RequestMetrics {
 public:
  // Both outlive it.
  RequestMetrics(metrics::Registry& registry, const base::Clock& clock);

  // From now until its answer the request counts as under way; a stream until its end.
  std::shared_ptr<apiserver::Responder> Observe(std::shared_ptr<apiserver::Responder> responder,
                                                const RequestLabels& labels);

 private:
  class ObservedResponder;
  class ObservedStream;

  const base::Clock& clock_;
  metrics::Family<metrics::Counter>& requests_;
  metrics::Family<metrics::Histogram>& durations_;
  metrics::Family<metrics::Gauge>& long_running_;
  metrics::Family<metrics::Counter>& watch_events_;
  metrics::Family<metrics::Gauge>& in_flight_;
  metrics::Gauge& reading_;
  metrics::Gauge& mutating_;
};

}  // namespace dray::registry
