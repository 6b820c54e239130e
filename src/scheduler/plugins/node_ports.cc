// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/node_ports.h"

#include <algorithm>
#include <string_view>

#include "fmt/format.h"
#include "scheduler/plugins/changes.h"

namespace dray::scheduler {
namespace {

bool AnyAddress(std::string_view ip) { return ip.empty() || ip == "0.0.0.0"; }
std::string_view Protocol(const HostPort& port) {
  return port.protocol.empty() ? "TCP" : std::string_view(port.protocol);
}

bool UsesAnyOf(const api::Pod& pod, const std::vector<HostPort>& wanted) {
  const auto uses = [&](const api::Container& container) {
    return std::ranges::any_of(container.ports, [&](const api::ContainerPort& p) {
      const HostPort port{.ip = p.host_ip, .protocol = p.protocol, .port = p.host_port};
      return std::ranges::any_of(wanted, [&](const HostPort& w) { return Conflict(w, port); });
    });
  };
  const auto sidecar_uses = [&](const api::Container& container) {
    return container.restart_policy == "Always" && uses(container);
  };
  return std::ranges::any_of(pod.spec.containers, uses) ||
         std::ranges::any_of(pod.spec.init_containers, sidecar_uses);
}

}  // namespace

bool Conflict(const HostPort& a, const HostPort& b) {
  if (a.port <= 0 || a.port != b.port || Protocol(a) != Protocol(b)) return false;
  return AnyAddress(a.ip) || AnyAddress(b.ip) || a.ip == b.ip;
}

PluginStatus NodePorts::PreFilter(CycleState&, const PodInfo& pod, World&) {
  return pod.host_ports.empty() ? PluginStatus::Skip() : PluginStatus::Success();
}

PluginStatus NodePorts::Filter(CycleState&, const PodInfo& pod, const NodeInfo& node) {
  for (const HostPort& wanted : pod.host_ports) {
    for (const HostPort& used : node.ports) {
      if (!Conflict(wanted, used)) continue;
      Reason reason{.code = "node_ports",
                    .text = "node(s) didn't have free ports for the requested pod ports"};
      reason.shortages.push_back(
          {.what = fmt::format("host port {}/{}", wanted.port, Protocol(wanted)),
           .needed = "1",
           .free = "0"});
      return PluginStatus::Unschedulable(std::move(reason));
    }
  }
  return PluginStatus::Success();
}

Hint NodePorts::Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) {
  const PodChange seen = ReadPodChange(pod, change, old);
  if (seen.kind == PodChange::Kind::kGone) {
    return UsesAnyOf(*seen.before, pod.host_ports) ? Hint::kQueue : Hint::kSkip;
  }
  const NodeChange node = ReadNodeChange(change, old);
  return node.before == nullptr && node.after != nullptr ? Hint::kQueue : Hint::kSkip;
}

}  // namespace dray::scheduler
