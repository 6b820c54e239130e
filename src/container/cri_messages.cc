// SPDX-License-Identifier: Apache-2.0
//
// From an agent's words to those of CRI. Pure.
#include <algorithm>
#include <charconv>

#include "container/cri_runtime.h"
#include "fmt/format.h"

namespace dray::container {
namespace {

constexpr std::int64_t kCpuPeriod = 100'000;

// The first two numbers of a version: v2.1.9, 1.28.0-rc.1, 1.6.20~ds1.
std::pair<int, int> MajorMinor(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  int major = 0;
  int minor = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), major);
  if (error == std::errc() && end != version.data() + version.size() && *end == '.') {
    std::from_chars(end + 1, version.data() + version.size(), minor);
  }
  return {major, minor};
}

rpc::CriNamespaces NamespacesOf(const SandboxConfig& config) {
  rpc::CriNamespaces namespaces;
  if (config.host_network) namespaces.network = rpc::NamespaceMode::kNode;
  if (config.host_ipc) namespaces.ipc = rpc::NamespaceMode::kNode;
  if (config.shared_pids) namespaces.pid = rpc::NamespaceMode::kPod;
  if (config.host_pid) namespaces.pid = rpc::NamespaceMode::kNode;
  return namespaces;
}

rpc::CriMap LabelsOf(const PodIdentity& pod, const std::map<std::string, std::string>& more) {
  rpc::CriMap labels(more.begin(), more.end());
  labels["io.kubernetes.pod.name"] = pod.name;
  labels["io.kubernetes.pod.namespace"] = pod.namespace_;
  labels["io.kubernetes.pod.uid"] = pod.uid;
  return labels;
}

std::optional<rpc::CriSelinux> LabelOf(const std::optional<SelinuxLabel>& label) {
  if (!label) return std::nullopt;
  return rpc::CriSelinux{
      .user = label->user, .role = label->role, .type = label->type, .level = label->level};
}

std::optional<rpc::CriProfile> AppArmorOf(const SecurityConfig& security) {
  using Type = rpc::CriProfile::Type;
  switch (security.app_armor) {
    case AppArmor::kUnconfined:
      return rpc::CriProfile{.type = Type::kUnconfined, .localhost_ref = {}};
    case AppArmor::kRuntimeDefault:
      return rpc::CriProfile{.type = Type::kRuntimeDefault, .localhost_ref = {}};
    case AppArmor::kLocalhost:
      return rpc::CriProfile{.type = Type::kLocalhost, .localhost_ref = security.app_armor_profile};
    case AppArmor::kNotSet:
      break;
  }
  return std::nullopt;
}

Status NoPlace(std::string_view what) {
  return base::FailedPrecondition(fmt::format(
      "CDI device injection failed: {} cannot be passed to a runtime that does not apply "
      "CDI itself; containerd 2.0 and CRI-O 1.28 do",
      what));
}

rpc::CriMount::Propagation PropagationOf(Propagation propagation) {
  using To = rpc::CriMount::Propagation;
  switch (propagation) {
    case Propagation::kHostToContainer:
      return To::kHostToContainer;
    case Propagation::kBidirectional:
      return To::kBidirectional;
    case Propagation::kPrivate:
      break;
  }
  return To::kPrivate;
}

}  // namespace

bool AppliesCdi(std::string_view runtime, std::string_view version) {
  const auto numbers = MajorMinor(version);
  if (runtime == "containerd") return numbers >= std::pair(2, 0);
  return (runtime == "cri-o" || runtime == "crio") && numbers >= std::pair(1, 28);
}

Status InlineEdits(const cdi::ContainerEdits& edits, rpc::CriContainerConfig& config) {
  if (!edits.hooks.empty()) return NoPlace("a hook");
  if (!edits.net_devices.empty()) return NoPlace("a network device");
  if (edits.intel_rdt) return NoPlace("intelRdt");
  rpc::CriContainerConfig made = config;
  for (const std::string& variable : edits.env) {
    const std::size_t equals = variable.find('=');
    const std::string name = variable.substr(0, equals);
    const auto same =
        std::ranges::find(made.envs, name, &std::pair<std::string, std::string>::first);
    if (same != made.envs.end()) {
      same->second = variable.substr(equals + 1);
    } else {
      made.envs.emplace_back(name, variable.substr(equals + 1));
    }
  }
  for (const cdi::DeviceNode& node : edits.device_nodes) {
    const std::string host = node.host_path.empty() ? node.path : node.host_path;
    // CRI takes what the host has at the path, with its own numbers, mode and owner.
    if (node.file_mode || node.uid || node.gid) {
      return NoPlace(fmt::format("a mode or owner of {}", node.path));
    }
    if (node.permissions == "none")
      return NoPlace(fmt::format("{} without permissions", node.path));
    std::erase_if(made.devices,
                  [&](const rpc::CriDevice& other) { return other.container_path == node.path; });
    made.devices.push_back({.container_path = node.path,
                            .host_path = host,
                            .permissions = node.permissions.empty() ? "rwm" : node.permissions});
  }
  for (const cdi::Mount& mount : edits.mounts) {
    const auto has = [&](std::string_view option) {
      return std::ranges::find(mount.options, option) != mount.options.end();
    };
    if (!mount.type.empty() && mount.type != "bind" && mount.type != "none") {
      return NoPlace(fmt::format("a mount of type {}", mount.type));
    }
    if (!has("bind") && !has("rbind") && mount.type != "bind") {
      return NoPlace(fmt::format("the mount {} that is not a bind mount", mount.container_path));
    }
    for (const std::string& option : mount.options) {
      constexpr std::string_view kKnown[] = {"bind", "rbind", "ro", "rw", "private", "rprivate"};
      if (std::ranges::find(kKnown, option) == std::end(kKnown)) {
        return NoPlace(fmt::format("the option {} of the mount {}", option, mount.container_path));
      }
    }
    std::erase_if(made.mounts, [&](const rpc::CriMount& other) {
      return other.container_path == mount.container_path;
    });
    made.mounts.push_back({.container_path = mount.container_path,
                           .host_path = mount.host_path,
                           .readonly = has("ro")});
  }
  for (const std::int64_t gid : edits.additional_gids) {
    auto& groups = made.security.supplemental_groups;
    if (gid != 0 && std::ranges::find(groups, gid) == groups.end()) groups.push_back(gid);
  }
  made.cdi_devices.clear();
  config = std::move(made);
  return {};
}

rpc::CriSandboxConfig ToCri(const SandboxConfig& config) {
  rpc::CriSandboxConfig made;
  made.metadata = {.name = config.pod.name,
                   .uid = config.pod.uid,
                   .namespace_ = config.pod.namespace_,
                   .attempt = config.attempt};
  made.hostname = config.host_network ? "" : config.hostname;
  made.log_directory = config.log_directory;
  made.labels = LabelsOf(config.pod, config.labels);
  made.annotations = rpc::CriMap(config.annotations.begin(), config.annotations.end());
  made.cgroup_parent = config.cgroup_parent;
  made.security.namespaces = NamespacesOf(config);
  made.security.privileged = config.privileged;
  made.security.selinux = LabelOf(config.selinux);
  made.sysctls = rpc::CriMap(config.sysctls.begin(), config.sysctls.end());
  return made;
}

rpc::CriContainerConfig ToCri(const SandboxConfig& sandbox, const ContainerConfig& config) {
  rpc::CriContainerConfig made;
  made.name = config.name;
  made.attempt = config.attempt;
  made.image = config.image;
  made.command = config.command;
  made.args = config.args;
  made.working_dir = config.working_dir;
  made.envs = config.env;
  for (const Mount& mount : config.mounts) {
    made.mounts.push_back({.container_path = mount.container_path,
                           .host_path = mount.host_path,
                           .readonly = mount.read_only,
                           .propagation = PropagationOf(mount.propagation)});
  }
  made.cdi_devices = config.cdi_devices;
  made.labels = LabelsOf(sandbox.pod, config.labels);
  made.labels["io.kubernetes.container.name"] = config.name;
  made.annotations = rpc::CriMap(config.annotations.begin(), config.annotations.end());
  made.annotations["io.kubernetes.container.restartCount"] = fmt::format("{}", config.attempt);
  made.log_path = config.log_path;
  made.stdin = config.stdin;
  made.tty = config.tty;
  made.resources.cpu_shares = config.limits.cpu_shares;
  if (config.limits.cpu_quota > 0) {
    made.resources.cpu_quota = config.limits.cpu_quota;
    made.resources.cpu_period = kCpuPeriod;
  }
  made.resources.memory_limit_in_bytes = config.limits.memory_bytes;
  // CRI has no place for a limit of processes.
  made.security.privileged = config.security.privileged;
  made.security.namespaces = NamespacesOf(sandbox);
  if (!config.pid_target.empty() &&
      made.security.namespaces.pid == rpc::NamespaceMode::kContainer) {
    made.security.namespaces.pid = rpc::NamespaceMode::kTarget;
    made.security.namespaces.target_id = config.pid_target;
  }
  made.security.run_as_user = config.security.user;
  made.security.run_as_group = config.security.group;
  made.security.readonly_rootfs = config.security.read_only_root;
  made.security.supplemental_groups = config.security.groups;
  made.security.no_new_privs = config.security.no_new_privileges;
  made.security.add_capabilities = config.security.add_capabilities;
  made.security.drop_capabilities = config.security.drop_capabilities;
  // Where nothing is asked for, it is what the runtime is configured to do.
  if (config.security.seccomp == Seccomp::kRuntimeDefault) {
    made.security.seccomp = {.type = rpc::CriProfile::Type::kRuntimeDefault, .localhost_ref = {}};
  } else if (config.security.seccomp == Seccomp::kLocalhost) {
    made.security.seccomp = {.type = rpc::CriProfile::Type::kLocalhost,
                             .localhost_ref = config.security.seccomp_file};
  }
  made.security.apparmor = AppArmorOf(config.security);
  made.security.selinux = LabelOf(config.security.selinux);
  return made;
}

}  // namespace dray::container
