// SPDX-License-Identifier: Apache-2.0
//
// Defaults of pods. What is inside probes, volumes and environment sources is the node's business
// and is passed on as it was written.
#include "api/internal/strategies.h"

namespace dray::api::internal {
namespace {

constexpr std::int64_t kDefaultGracePeriodSeconds = 30;

// An image without tag and digest means its tag "latest".
bool IsLatest(std::string_view image) {
  if (image.empty() || image.find('@') != std::string_view::npos) return false;
  const std::size_t slash = image.rfind('/');
  const std::size_t colon = image.rfind(':');
  const bool tagged =
      colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  return !tagged || image.substr(colon + 1) == "latest";
}

void RoundUpToMilli(Map<base::Quantity>& resources) {
  for (auto& entry : resources) entry.second.RoundUp(base::Quantity::kMilli);
}

void SetResourceDefaults(ResourceRequirements& resources) {
  RoundUpToMilli(resources.limits);
  RoundUpToMilli(resources.requests);
}

// Who limits a resource and does not request it requests the limit. This is how extended resources
// are usually asked for.
void RequestLimits(ResourceRequirements& resources) {
  for (const auto& [name, limit] : resources.limits) {
    if (!resources.requests.contains(name)) resources.requests[name] = limit;
  }
}

void SetContainerDefaults(Container& container, bool host_network) {
  if (container.image_pull_policy.empty()) {
    container.image_pull_policy = IsLatest(container.image) ? "Always" : "IfNotPresent";
  }
  if (container.termination_message_path.empty()) {
    container.termination_message_path = "/dev/termination-log";
  }
  if (container.termination_message_policy.empty()) container.termination_message_policy = "File";
  for (ContainerPort& port : container.ports) {
    if (port.protocol.empty()) port.protocol = "TCP";
    if (host_network && port.host_port == 0) port.host_port = port.container_port;
  }
  SetResourceDefaults(container.resources);
}

void SetSpecDefaults(PodSpec& spec, bool host_ports) {
  for (std::vector<Container>* containers : {&spec.init_containers, &spec.containers}) {
    for (Container& container : *containers) SetContainerDefaults(container, host_ports);
  }
  for (EphemeralContainer& container : spec.ephemeral_containers) {
    SetContainerDefaults(container.common, false);
  }
  RoundUpToMilli(spec.overhead);
  if (spec.resources) SetResourceDefaults(*spec.resources);
  if (spec.service_account_name.empty()) spec.service_account_name = spec.service_account;
  spec.service_account = spec.service_account_name;
  if (spec.dns_policy.empty()) spec.dns_policy = "ClusterFirst";
  if (spec.restart_policy.empty()) spec.restart_policy = kRestartPolicyAlways;
  if (!spec.security_context) spec.security_context = RawJson{"{}"};
  if (!spec.enable_service_links) spec.enable_service_links = true;
  if (spec.scheduler_name.empty()) spec.scheduler_name = kDefaultSchedulerName;
  std::optional<std::int64_t>& grace = spec.termination_grace_period_seconds;
  if (!grace) grace = kDefaultGracePeriodSeconds;
  if (*grace < 0) grace = 1;
}

}  // namespace

void SetTemplateDefaults(PodSpec& spec) {
  // In a template the node's port is left open until there is a pod.
  SetSpecDefaults(spec, false);
}

void SetDefaults(Pod& pod) {
  for (std::vector<Container>* containers : {&pod.spec.init_containers, &pod.spec.containers}) {
    for (Container& container : *containers) RequestLimits(container.resources);
  }
  SetSpecDefaults(pod.spec, pod.spec.host_network);
}

}  // namespace dray::api::internal
