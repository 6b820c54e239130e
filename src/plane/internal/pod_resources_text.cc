// SPDX-License-Identifier: Apache-2.0
//
// What pods ask for, one line per pod and resource.
#include <string>

#include "api/pod.h"
#include "api/pod_resources.h"
#include "fmt/format.h"
#include "metrics/registry.h"
#include "plane/internal/server_metrics.h"

namespace dray::plane::internal {
namespace {

bool IsOver(const api::Pod& pod) {
  return pod.status.phase == api::kPodSucceeded || pod.status.phase == api::kPodFailed;
}

std::string_view UnitOf(std::string_view resource) {
  if (resource == "cpu") return "cores";
  const bool bytes = resource == "memory" || resource == "ephemeral-storage" ||
                     resource == "storage" || resource.starts_with("hugepages-");
  return bytes ? "bytes" : "integer";
}

void Add(metrics::Family<metrics::Gauge>& family, const api::Pod& pod,
         const api::Map<base::Quantity>& amounts) {
  const std::string priority =
      pod.spec.priority ? fmt::format("{}", *pod.spec.priority) : std::string();
  for (const auto& [name, amount] : amounts) {
    const std::string_view resource = name.view();
    family
        .With({pod.metadata.namespace_, pod.metadata.name, pod.spec.node_name,
               pod.spec.scheduler_name, priority, resource, UnitOf(resource)})
        .Set(amount.AsApproximateDouble());
  }
}

}  // namespace

std::string PodResourcesText(const registry::Objects& objects) {
  const std::vector<std::string> labels = {"namespace", "pod",      "node", "scheduler",
                                           "priority",  "resource", "unit"};
  metrics::Registry page;
  auto& requests = page.Gauges(
      {"kube_pod_resource_request", "Resources requested by pods that have not ended.", labels});
  auto& limits = page.Gauges(
      {"kube_pod_resource_limit", "Resource limits of pods that have not ended.", labels});
  for (const auto& stored : objects.Readable(api::HubKind(api::TypeInfoOf<api::Pod>()))) {
    const api::Pod& pod = *stored->object().As<api::Pod>();
    if (IsOver(pod)) continue;
    Add(requests, pod, api::PodRequests(pod));
    Add(limits, pod, api::PodLimits(pod));
  }
  return page.Text();
}

}  // namespace dray::plane::internal
