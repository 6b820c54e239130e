// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/plane_metrics.h"

#include <utility>

#include "plane/internal/process_metrics.h"

namespace dray::plane::internal {

PlaneMetrics::PlaneMetrics(const base::Clock& clock, const api::FeatureGates& gates,
                           const std::string& kubernetes_version)
    : clock_(clock),
      requests_(registry_, clock),
      store_(registry_),
      scheduler_(registry_, clock),
      controllers_(registry_),
      claims_(registry_) {
  AddVersionMetrics(registry_, kubernetes_version, gates);
  AddProcessMetrics(registry_);
  registry_
      .Counters({"kubelet_started_containers_errors_total",
                 "Containers that failed to start; always 0 on simulated nodes.",
                 {}})
      .With({});
}

void PlaneMetrics::Watch(const registry::Objects& objects, const std::string& path,
                         std::function<apiserver::ServerStats()> stats) {
  objects_ = &objects;
  census_ = std::make_unique<Census>(objects, clock_);
  AddObjectMetrics(registry_, objects, path);
  AddCensusMetrics(registry_, *census_);
  AddConnectionMetrics(registry_, std::move(stats));
}

std::optional<apiserver::Response> PlaneMetrics::Answer(const apiserver::Request& request) const {
  std::string text;
  if (request.path == "/metrics") {
    text = registry_.Text();
  } else if (request.path == "/metrics/resources") {
    text = PodResourcesText(*objects_);
  } else {
    return std::nullopt;
  }
  apiserver::Response response;
  response.headers.Add("Content-Type", std::string(metrics::kTextContentType));
  response.body = std::make_shared<const std::string>(std::move(text));
  return response;
}

}  // namespace dray::plane::internal
