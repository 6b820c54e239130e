// SPDX-License-Identifier: Apache-2.0
//
// Containers of a pod: names, images, ports, mounts, and the claims that they use. Amounts of
// resources are pod_validation.cc's; probes, hooks and security settings are the node's business.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "api/internal/name_validation.h"
#include "api/internal/pod_validation.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

constexpr std::int32_t kMaxPort = 65535;
constexpr std::size_t kMaxPortName = 15;
constexpr std::string_view kPortRange = "must be between 1 and 65535, inclusive";

bool IsPort(std::int32_t port) { return port >= 1 && port <= kMaxPort; }

// An IANA service name.
std::string_view PortNameFault(std::string_view name) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (name.size() > kMaxPortName) return "must be no more than 15 characters";
  if (!std::ranges::all_of(name, [&](char c) { return lower(c) || digit(c) || c == '-'; })) {
    return "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
  }
  if (std::ranges::none_of(name, lower)) return "must contain at least one letter (a-z)";
  if (name.find("--") != name.npos) return "must not contain consecutive hyphens";
  if (name.front() == '-' || name.back() == '-') return "must not begin or end with a hyphen";
  return {};
}

void CheckPorts(Report& report, const Path& at, const Container& container, PodNames& names) {
  constexpr std::array<std::string_view, 3> kProtocols = {"SCTP", "TCP", "UDP"};
  base::StringSet own;
  for (std::size_t i = 0; i < container.ports.size(); ++i) {
    const ContainerPort& port = container.ports[i];
    const Path here = at.Index(i);
    if (!port.name.empty()) {
      const std::string_view fault = PortNameFault(port.name);
      if (!fault.empty()) {
        report.Invalid(here.Child("name"), port.name, fault);
      } else if (!own.insert(port.name).second) {
        report.Duplicate(here.Child("name"), port.name);
      }
    }
    if (port.container_port == 0) {
      report.Required(here.Child("containerPort"), "");
    } else if (!IsPort(port.container_port)) {
      report.InvalidNumber(here.Child("containerPort"), port.container_port, kPortRange);
    }
    if (!port.protocol.empty()) {
      CheckOneOf(report, here.Child("protocol"), port.protocol, kProtocols);
    }
    if (port.host_port == 0) continue;
    if (!IsPort(port.host_port)) {
      report.InvalidNumber(here.Child("hostPort"), port.host_port, kPortRange);
      continue;
    }
    const std::string used = fmt::format("{}/{}/{}", port.protocol.empty() ? "TCP" : port.protocol,
                                         port.host_ip, port.host_port);
    if (!names.host_ports.insert(used).second) report.Duplicate(here.Child("hostPort"), used);
  }
}

void CheckMounts(Report& report, const Path& at, const std::vector<VolumeMount>& mounts,
                 const PodNames& names) {
  base::StringSet paths;
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const VolumeMount& mount = mounts[i];
    const Path here = at.Index(i);
    if (mount.name.empty()) {
      report.Required(here.Child("name"), "");
    } else if (!names.volumes.contains(mount.name)) {
      report.NotFound(here.Child("name"), mount.name);
    }
    if (mount.mount_path.empty()) {
      report.Required(here.Child("mountPath"), "");
    } else if (!paths.insert(mount.mount_path).second) {
      report.Invalid(here.Child("mountPath"), mount.mount_path, "must be unique");
    }
  }
}

// Either all requests of a claim or some of them, each once.
void CheckClaims(Report& report, const Path& at, const std::vector<ContainerResourceClaim>& claims,
                 const PodNames& names) {
  base::StringSet seen;
  base::StringSet in_part;  // claims of which single requests were named
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const ContainerResourceClaim& claim = claims[i];
    const Path here = at.Index(i);
    if (claim.name.empty()) {
      report.Required(here, "");
      continue;
    }
    if (!claim.request.empty()) CheckForm(report, here.Child("request"), claim.request, kDnsLabel);
    const std::string key =
        claim.request.empty() ? claim.name : fmt::format("{}/{}", claim.name, claim.request);
    const bool overlaps =
        seen.contains(claim.name) || (claim.request.empty() && in_part.contains(claim.name));
    if (!claim.request.empty()) in_part.insert(claim.name);
    if (!seen.insert(key).second) {
      report.Duplicate(here, key);
    } else if (overlaps) {
      report.Duplicate(here, claim.name);
    }
    if (names.claims.contains(claim.name)) continue;
    FieldError unknown = NotFound(here.ToFieldPath(), claim.name);
    unknown.detail = "must be one of the names in pod.spec.resourceClaims";
    if (names.claims.empty()) unknown.detail += " which is empty";
    report.Add(std::move(unknown));
  }
}

void CheckContainer(Report& report, const Path& at, const Container& container, PodNames& names) {
  constexpr std::array<std::string_view, 3> kPull = {"Always", "IfNotPresent", "Never"};
  constexpr std::array<std::string_view, 2> kMessages = {"FallbackToLogsOnError", "File"};
  CheckPodName(report, at.Child("name"), container.name, names.containers);
  if (container.image.empty()) {
    report.Required(at.Child("image"), "");
  } else if (container.image.front() == ' ' || container.image.back() == ' ') {
    report.Invalid(at.Child("image"), container.image,
                   "must not have leading or trailing whitespace");
  }
  if (!container.image_pull_policy.empty()) {
    CheckOneOf(report, at.Child("imagePullPolicy"), container.image_pull_policy, kPull);
  }
  if (!container.termination_message_policy.empty()) {
    CheckOneOf(report, at.Child("terminationMessagePolicy"), container.termination_message_policy,
               kMessages);
  }
  const Path ports = at.Child("ports");
  CheckPorts(report, ports, container, names);
  const Path env = at.Child("env");
  for (std::size_t i = 0; i < container.env.size(); ++i) {
    const Path here = env.Index(i);
    if (container.env[i].name.empty()) report.Required(here.Child("name"), "");
  }
  const Path mounts = at.Child("volumeMounts");
  CheckMounts(report, mounts, container.volume_mounts, names);
  const Path resources = at.Child("resources");
  const Path claims = resources.Child("claims");
  CheckClaims(report, claims, container.resources.claims, names);
}

// What would make a container part of the pod's service: somebody who looks into it has no use for it.
void CheckIsForDebugging(Report& report, const Path& at, const Container& container) {
  constexpr std::string_view kWhy = "cannot be set for an Ephemeral Container";
  const ResourceRequirements& resources = container.resources;
  const std::pair<std::string_view, bool> parts[] = {
      {"ports", !container.ports.empty()},
      {"resources",
       !resources.limits.empty() || !resources.requests.empty() || !resources.claims.empty()},
      {"resizePolicy", !container.resize_policy.empty()},
      {"restartPolicy", container.restart_policy.has_value()},
      {"restartPolicyRules", !container.restart_policy_rules.empty()},
      {"livenessProbe", container.liveness_probe.has_value()},
      {"readinessProbe", container.readiness_probe.has_value()},
      {"startupProbe", container.startup_probe.has_value()},
      {"lifecycle", container.lifecycle.has_value()},
  };
  for (const auto& [name, is_set] : parts) {
    if (is_set) report.Forbidden(at.Child(name), kWhy);
  }
  const Path mounts = at.Child("volumeMounts");
  for (std::size_t i = 0; i < container.volume_mounts.size(); ++i) {
    const Path here = mounts.Index(i);
    if (!container.volume_mounts[i].sub_path.empty()) report.Forbidden(here.Child("subPath"), kWhy);
    if (!container.volume_mounts[i].sub_path_expr.empty()) {
      report.Forbidden(here.Child("subPathExpr"), kWhy);
    }
  }
}

}  // namespace

void CheckPodName(Report& report, const Path& at, std::string_view name, base::StringSet& names) {
  if (name.empty()) {
    report.Required(at, "");
  } else if (!names.insert(std::string(name)).second) {
    report.Duplicate(at, name);
  } else {
    CheckForm(report, at, name, kDnsLabel);
  }
}

void ValidateContainers(Report& report, const Path& at, const std::vector<Container>& containers,
                        PodNames& names) {
  for (std::size_t i = 0; i < containers.size(); ++i) {
    CheckContainer(report, at.Index(i), containers[i], names);
  }
}

void ValidateEphemeralContainers(Report& report, const Path& at,
                                 const std::vector<EphemeralContainer>& containers,
                                 PodNames& names) {
  const base::StringSet others = names.containers;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Path here = at.Index(i);
    const EphemeralContainer& container = containers[i];
    CheckContainer(report, here, container.common, names);
    const std::string& target = container.target_container_name;
    if (!target.empty() && !others.contains(target)) {
      report.NotFound(here.Child("targetContainerName"), target);
    }
    CheckIsForDebugging(report, here, container.common);
  }
}

}  // namespace dray::api::internal
