// SPDX-License-Identifier: Apache-2.0
#include "api/pod_resources.h"

#include <algorithm>

#include "api/extended_resources.h"

namespace dray::api {
namespace {

using Resources = Map<base::Quantity>;

bool IsSidecar(const Container& container) { return container.restart_policy == "Always"; }

bool IsPodLevelResource(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with(kHugePagesPrefix);
}

const ContainerStatus* FindStatus(const Pod& pod, std::string_view name) {
  for (const auto* list : {&pod.status.container_statuses, &pod.status.init_container_statuses}) {
    const auto found = std::ranges::find(*list, name, &ContainerStatus::name);
    if (found != list->end()) return &*found;
  }
  return nullptr;
}

// The node said that the pod can never have the size that its spec asks for.
bool ResizeIsInfeasible(const Pod& pod) {
  const auto found =
      std::ranges::find(pod.status.conditions, "PodResizePending", &PodCondition::type);
  return found != pod.status.conditions.end() && found->reason == "Infeasible";
}

// The pod's amounts when `amounts_of` gives those of a container. While the i-th init container
// runs, so do the sidecars before it.
template <typename F>
Resources Aggregate(const Pod& pod, F amounts_of) {
  Resources total;
  for (const Container& container : pod.spec.containers) {
    AddResources(total, amounts_of(container));
  }
  Resources sidecars;
  Resources initialising;
  for (const Container& container : pod.spec.init_containers) {
    Resources running = amounts_of(container);
    if (IsSidecar(container)) {
      AddResources(total, running);
      AddResources(sidecars, running);
      running = sidecars;
    } else {
      AddResources(running, sidecars);
    }
    MaxResources(initialising, running);
  }
  MaxResources(total, initialising);
  return total;
}

Resources SpecRequests(const Pod& pod) {
  return Aggregate(pod, [](const Container& c) { return c.resources.requests; });
}

Resources RequestsWithStatus(const Pod& pod) {
  const bool infeasible = ResizeIsInfeasible(pod);
  const auto allocated = [&](const Container& c) {
    const ContainerStatus* status = FindStatus(pod, c.name);
    if (status != nullptr && !status->allocated_resources.empty()) {
      return status->allocated_resources;
    }
    return infeasible ? Resources() : c.resources.requests;
  };
  const auto actuated = [&](const Container& c) {
    const ContainerStatus* status = FindStatus(pod, c.name);
    if (status != nullptr && status->resources && !status->resources->requests.empty()) {
      return status->resources->requests;
    }
    return allocated(c);
  };
  Resources total = Aggregate(pod, actuated);
  MaxResources(total, Aggregate(pod, allocated));
  if (!infeasible) MaxResources(total, SpecRequests(pod));
  return total;
}

Resources SpecLimits(const Pod& pod) {
  return Aggregate(pod, [](const Container& c) { return c.resources.limits; });
}

Resources LimitsWithStatus(const Pod& pod) {
  const bool infeasible = ResizeIsInfeasible(pod);
  Resources total = Aggregate(pod, [&](const Container& c) {
    const ContainerStatus* status = FindStatus(pod, c.name);
    if (status != nullptr && status->resources && !status->resources->limits.empty()) {
      return status->resources->limits;
    }
    return infeasible ? Resources() : c.resources.limits;
  });
  if (!infeasible) MaxResources(total, SpecLimits(pod));
  return total;
}

// An amount for the whole pod stands instead of the containers' sum.
void ApplyPodLevel(Resources& total, const Resources& pod_level) {
  for (const auto& [name, amount] : pod_level) {
    if (IsPodLevelResource(name)) total[name] = amount;
  }
}

}  // namespace

Map<base::Quantity> PodRequests(const Pod& pod, PodResourcesOptions options) {
  Resources total = options.use_status ? RequestsWithStatus(pod) : SpecRequests(pod);
  if (pod.spec.resources) ApplyPodLevel(total, pod.spec.resources->requests);
  AddResources(total, pod.spec.overhead);
  return total;
}

Map<base::Quantity> PodLimits(const Pod& pod, PodResourcesOptions options) {
  Resources total = options.use_status ? LimitsWithStatus(pod) : SpecLimits(pod);
  if (pod.spec.resources) ApplyPodLevel(total, pod.spec.resources->limits);
  // Overhead does not limit what was not limited.
  for (const auto& [name, overhead] : pod.spec.overhead) {
    base::Quantity* limit = total.Find(name);
    if (limit != nullptr && !limit->IsZero()) *limit += overhead;
  }
  return total;
}

void AddResources(Map<base::Quantity>& to, const Map<base::Quantity>& from) {
  for (const auto& [name, amount] : from) to[name] += amount;
}

void MaxResources(Map<base::Quantity>& to, const Map<base::Quantity>& from) {
  for (const auto& [name, amount] : from) {
    base::Quantity* have = to.Find(name);
    if (have == nullptr) {
      to[name] = amount;
    } else if (*have < amount) {
      *have = amount;
    }
  }
}

}  // namespace dray::api
