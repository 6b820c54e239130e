// SPDX-License-Identifier: Apache-2.0
#include "node/refusals.h"

#include <string>
#include <string_view>

#include "fmt/format.h"

namespace dray::node {
namespace {

Rejection Refuse(std::string_view field, std::string_view why) {
  return {.reason = "FieldNotSupported",
          .message = fmt::format("{}: {} by this node agent", field, why)};
}

std::optional<Rejection> RefusedInContainer(const api::Pod& pod, const api::Container& container,
                                            const std::string& field, const Enforcing& enforcing) {
  if (auto refused =
          RefusedSecurity(pod, container.security_context, field + ".securityContext", enforcing)) {
    return refused;
  }
  for (std::size_t i = 0; i < container.ports.size(); ++i) {
    if (container.ports[i].host_port != 0 && !pod.spec.host_network) {
      return Refuse(fmt::format("{}.ports[{}].hostPort", field, i),
                    "ports of the host are not forwarded (hostNetwork: true has them)");
    }
  }
  if (!container.volume_devices.empty()) {
    return Refuse(field + ".volumeDevices", "block volumes are not supported");
  }
  for (std::size_t i = 0; i < container.volume_mounts.size(); ++i) {
    const api::VolumeMount& mount = container.volume_mounts[i];
    const std::string path = fmt::format("{}.volumeMounts[{}]", field, i);
    if (mount.recursive_read_only == "Enabled") {
      return Refuse(path + ".recursiveReadOnly", "Enabled is not supported");
    }
    if (!mount.bind_mount_options.empty()) {
      return Refuse(path + ".bindMountOptions", "options of mounts are not supported");
    }
  }
  for (std::size_t i = 0; i < container.restart_policy_rules.size(); ++i) {
    const std::string& action = container.restart_policy_rules[i].action;
    if (action != "Restart") {
      return Refuse(fmt::format("{}.restartPolicyRules[{}].action", field, i),
                    fmt::format("{} is not supported", action));
    }
  }
  for (std::size_t i = 0; i < container.env.size(); ++i) {
    if (container.env[i].value_from && container.env[i].value_from->file_key_ref) {
      return Refuse(fmt::format("{}.env[{}].valueFrom.fileKeyRef", field, i),
                    "variables from files are not supported");
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Rejection> RefusedDebugger(const api::Pod& pod, const api::Container& container,
                                         const Enforcing& enforcing) {
  return RefusedInContainer(pod, container,
                            fmt::format("spec.ephemeralContainers[{}]", container.name), enforcing);
}

std::optional<Rejection> RefusedField(const api::Pod& pod, const Enforcing& enforcing) {
  const api::PodSpec& spec = pod.spec;
  if (spec.os && spec.os->name != "linux") {
    return Rejection{
        .reason = "PodOSNotSupported",
        .message = fmt::format("spec.os.name: this node runs linux, not {}", spec.os->name)};
  }
  if (spec.host_users == false) {
    return Refuse("spec.hostUsers", "user namespaces are not supported");
  }
  if (spec.runtime_class_name && !spec.runtime_class_name->empty()) {
    return Refuse("spec.runtimeClassName", "runtime classes are not supported");
  }
  if (auto refused =
          RefusedSecurity(pod, spec.security_context, "spec.securityContext", enforcing)) {
    return refused;
  }
  for (std::size_t i = 0; i < spec.init_containers.size(); ++i) {
    if (auto refused = RefusedInContainer(pod, spec.init_containers[i],
                                          fmt::format("spec.initContainers[{}]", i), enforcing)) {
      return refused;
    }
  }
  for (std::size_t i = 0; i < spec.containers.size(); ++i) {
    if (auto refused = RefusedInContainer(pod, spec.containers[i],
                                          fmt::format("spec.containers[{}]", i), enforcing)) {
      return refused;
    }
  }
  return std::nullopt;
}

}  // namespace dray::node
