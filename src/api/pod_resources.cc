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

// What all claims take, each once, whoever uses it: an init container that is over gives nothing
// back.
Resources OfClaims(const Pod& pod, PodResourcesOptions options) {
  Resources total;
  if (!options.node_allocatable || !pod.status.node_allocatable_resource_claim_statuses) {
    return total;
  }
  for (const auto& claim : *pod.status.node_allocatable_resource_claim_statuses) {
    for (const NodeAllocatableMappedResources& mapped : claim.mapping) {
      if (mapped.quantity) total[mapped.name] += *mapped.quantity;
    }
    for (const NodeAllocatableOverheadResources& overhead : claim.overhead) {
      if (overhead.per_pod) total[overhead.name] += *overhead.per_pod;
      if (overhead.per_container && !claim.containers.empty()) {
        base::Quantity all = *overhead.per_container;
        total[overhead.name] += all.Mul(static_cast<std::int64_t>(claim.containers.size()));
      }
    }
  }
  return total;
}

// Devices do not limit what was not limited, but for huge pages, which cannot be overcommitted.
void RaiseLimits(Resources& limits, const Resources& of_claims) {
  for (const auto& [name, amount] : of_claims) {
    if (limits.contains(name.view()) || name.view().starts_with(kHugePagesPrefix)) {
      limits[name] += amount;
    }
  }
}

Resources RequestsWithStatus(const Pod& pod, const Resources& of_claims) {
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
  // What the node has set up for the containers includes what their devices stand for.
  Resources total = Aggregate(pod, actuated);
  Resources of_allocated = Aggregate(pod, allocated);
  AddResources(of_allocated, of_claims);
  MaxResources(total, of_allocated);
  if (!infeasible) {
    Resources of_spec = SpecRequests(pod);
    AddResources(of_spec, of_claims);
    MaxResources(total, of_spec);
  }
  return total;
}

Resources SpecLimits(const Pod& pod) {
  return Aggregate(pod, [](const Container& c) { return c.resources.limits; });
}

Resources LimitsWithStatus(const Pod& pod, const Resources& of_claims) {
  const bool infeasible = ResizeIsInfeasible(pod);
  Resources total = Aggregate(pod, [&](const Container& c) {
    const ContainerStatus* status = FindStatus(pod, c.name);
    if (status != nullptr && status->resources && !status->resources->limits.empty()) {
      return status->resources->limits;
    }
    return infeasible ? Resources() : c.resources.limits;
  });
  if (!infeasible) {
    Resources of_spec = SpecLimits(pod);
    RaiseLimits(of_spec, of_claims);
    MaxResources(total, of_spec);
  }
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
  const Resources of_claims = OfClaims(pod, options);
  Resources total;
  if (options.use_status) {
    total = RequestsWithStatus(pod, of_claims);
  } else {
    total = SpecRequests(pod);
    AddResources(total, of_claims);
  }
  if (pod.spec.resources) ApplyPodLevel(total, pod.spec.resources->requests);
  AddResources(total, pod.spec.overhead);
  return total;
}

Map<base::Quantity> PodLimits(const Pod& pod, PodResourcesOptions options) {
  const Resources of_claims = OfClaims(pod, options);
  Resources total;
  if (options.use_status) {
    total = LimitsWithStatus(pod, of_claims);
  } else {
    total = SpecLimits(pod);
    RaiseLimits(total, of_claims);
  }
  if (pod.spec.resources) ApplyPodLevel(total, pod.spec.resources->limits);
  // Overhead does not limit what was not limited.
  for (const auto& [name, overhead] : pod.spec.overhead) {
    base::Quantity* limit = total.Find(name);
    if (limit != nullptr && !limit->IsZero()) *limit += overhead;
  }
  return total;
}

Map<base::Quantity> NodeAllocatableOf(const Pod& pod, std::string_view container) {
  Resources total;
  if (!pod.status.node_allocatable_resource_claim_statuses) return total;
  for (const auto& claim : *pod.status.node_allocatable_resource_claim_statuses) {
    if (std::ranges::find(claim.containers, container) == claim.containers.end()) continue;
    for (const NodeAllocatableMappedResources& mapped : claim.mapping) {
      if (mapped.quantity) total[mapped.name] += *mapped.quantity;
    }
    for (const NodeAllocatableOverheadResources& overhead : claim.overhead) {
      if (overhead.per_pod) total[overhead.name] += *overhead.per_pod;
      if (overhead.per_container) total[overhead.name] += *overhead.per_container;
    }
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
