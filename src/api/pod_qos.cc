// SPDX-License-Identifier: Apache-2.0
#include "api/pod_qos.h"

#include <array>
#include <optional>

namespace dray::api {
namespace {

base::Quantity AmountOf(const Map<base::Quantity>& resources, std::string_view name) {
  const base::Quantity* amount = resources.Find(name);
  return amount != nullptr ? *amount : base::Quantity();
}

// How one container asks for cpu and memory.
std::string_view ClassOf(const ResourceRequirements& resources) {
  std::array<std::string_view, 2> classes{};
  constexpr std::array<std::string_view, 2> kNames = {"cpu", "memory"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const base::Quantity request = AmountOf(resources.requests, kNames[i]);
    if (request != AmountOf(resources.limits, kNames[i])) return kQosBurstable;
    classes[i] = request.IsZero() ? kQosBestEffort : kQosGuaranteed;
  }
  return classes[0] == classes[1] ? classes[0] : kQosBurstable;
}

}  // namespace

std::string_view QosClassOf(const PodSpec& spec) {
  if (spec.resources && (!spec.resources->requests.empty() || !spec.resources->limits.empty())) {
    return ClassOf(*spec.resources);
  }
  std::optional<std::string_view> all;
  for (const auto* containers : {&spec.init_containers, &spec.containers}) {
    for (const Container& container : *containers) {
      const std::string_view one = ClassOf(container.resources);
      if (all && *all != one) return kQosBurstable;
      all = one;
    }
  }
  return all.value_or(kQosBestEffort);
}

std::string_view QosClassOf(const Pod& pod) {
  return pod.status.qos_class.empty() ? QosClassOf(pod.spec) : pod.status.qos_class;
}

}  // namespace dray::api
