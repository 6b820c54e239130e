// SPDX-License-Identifier: Apache-2.0
#include "scheduler/pod_info.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "api/json.h"
#include "api/node.h"
#include "api/pod_resources.h"

namespace dray::scheduler {
namespace {

constexpr std::int64_t kDefaultMilliCpu = 100;
constexpr std::int64_t kDefaultMemory = 200 * 1024 * 1024;

bool AsksForBoth(const api::Container& container) {
  return container.resources.requests.contains(api::kResourceCpu) &&
         container.resources.requests.contains(api::kResourceMemory);
}

// A container that says nothing of cpu or memory is counted with a little of it, so that a node
// full of them does not look empty. One that says zero means it.
void FillIn(std::vector<api::Container>& containers) {
  for (api::Container& container : containers) {
    auto& requests = container.resources.requests;
    if (!requests.contains(api::kResourceCpu)) {
      requests[api::kResourceCpu] = base::Quantity::FromMilli(kDefaultMilliCpu);
    }
    if (!requests.contains(api::kResourceMemory)) {
      requests[api::kResourceMemory] = base::Quantity::FromInt(kDefaultMemory);
    }
  }
}

Resources NonZero(const api::Pod& pod, const Resources& requests, api::PodResourcesOptions options,
                  ResourceNames& names) {
  Resources non_zero;
  if (std::ranges::all_of(pod.spec.containers, AsksForBoth) &&
      std::ranges::all_of(pod.spec.init_containers, AsksForBoth)) {
    non_zero = requests;
  } else {
    api::Pod filled;
    filled.spec.containers = pod.spec.containers;
    filled.spec.init_containers = pod.spec.init_containers;
    filled.spec.overhead = pod.spec.overhead;
    filled.spec.resources = pod.spec.resources;
    if (options.use_status || options.node_allocatable) filled.status = pod.status;
    FillIn(filled.spec.containers);
    FillIn(filled.spec.init_containers);
    non_zero = Resources::From(api::PodRequests(filled, options), names);
  }
  non_zero.pods = 1;
  return non_zero;
}

// Sidecars hold their ports as long as the pod runs; other init containers let go of theirs.
std::vector<HostPort> HostPorts(const api::Pod& pod) {
  std::vector<HostPort> ports;
  const auto add = [&](const api::Container& container) {
    for (const api::ContainerPort& port : container.ports) {
      if (port.host_port <= 0) continue;
      ports.push_back({.ip = port.host_ip,
                       .protocol = port.protocol.empty() ? "TCP" : port.protocol,
                       .port = port.host_port});
    }
  };
  for (const api::Container& container : pod.spec.init_containers) {
    if (container.restart_policy == "Always") add(container);
  }
  for (const api::Container& container : pod.spec.containers) add(container);
  return ports;
}

std::uint64_t ShapeOf(const PodInfo& info) {
  const api::PodSpec& spec = info.pod->spec;
  // What most pods do not have goes in as JSON: it is looked at seldom and compared by SameShape.
  std::string rest;
  if (spec.affinity) rest += api::EncodeJson(*spec.affinity);
  for (const auto& toleration : spec.tolerations) rest += api::EncodeJson(toleration);
  for (const auto& spread : spec.topology_spread_constraints) rest += api::EncodeJson(spread);
  for (const auto& [key, value] : spec.node_selector) {
    rest.append(key.view()).append("=").append(value).append(",");
  }
  for (const HostPort& port : info.host_ports) {
    rest.append(port.ip).append("/").append(port.protocol).append(std::to_string(port.port));
  }
  std::uint64_t hash =
      absl::HashOf(rest, spec.node_name, info.requests.milli_cpu, info.requests.memory,
                   info.requests.ephemeral_storage, info.requests.pods);
  hash = absl::HashOf(hash, info.non_zero.milli_cpu, info.non_zero.memory);
  for (const auto& scalar : info.requests.scalars) {
    hash = absl::HashOf(hash, scalar.name, scalar.amount);
  }
  return hash;
}

}  // namespace

std::string KeyOf(const api::Pod& pod) { return pod.metadata.namespace_ + "/" + pod.metadata.name; }

bool IsTerminated(const api::Pod& pod) {
  return pod.status.phase == api::kPodSucceeded || pod.status.phase == api::kPodFailed;
}

std::shared_ptr<const PodInfo> PodInfo::From(std::shared_ptr<const api::Pod> pod,
                                             ResourceNames& names, std::int32_t priority,
                                             bool node_allocatable) {
  auto info = std::make_shared<PodInfo>();
  info->key = KeyOf(*pod);
  info->priority = pod->spec.priority.value_or(priority);
  const api::PodResourcesOptions options{.use_status = !pod->spec.node_name.empty(),
                                         .node_allocatable = node_allocatable};
  info->requests = Resources::From(api::PodRequests(*pod, options), names);
  info->requests.pods = 1;
  info->non_zero = NonZero(*pod, info->requests, options, names);
  info->names = names.Pin({&info->requests, &info->non_zero});
  info->host_ports = HostPorts(*pod);
  if (const api::Affinity* affinity = pod->spec.affinity.get(); affinity != nullptr) {
    info->has_affinity =
        affinity->pod_affinity.has_value() || affinity->pod_anti_affinity.has_value();
    info->has_required_anti_affinity =
        affinity->pod_anti_affinity.has_value() && !affinity->pod_anti_affinity->required.empty();
  }
  info->pod = std::move(pod);
  info->shape = ShapeOf(*info);
  return info;
}

bool SameShape(const PodInfo& a, const PodInfo& b) {
  const api::PodSpec& left = a.pod->spec;
  const api::PodSpec& right = b.pod->spec;
  return a.shape == b.shape && a.requests == b.requests && a.non_zero == b.non_zero &&
         a.host_ports == b.host_ports && left.node_name == right.node_name &&
         left.node_selector == right.node_selector && left.tolerations == right.tolerations &&
         left.affinity == right.affinity &&
         left.topology_spread_constraints == right.topology_spread_constraints;
}

}  // namespace dray::scheduler
