// SPDX-License-Identifier: Apache-2.0
#include "rpc/internal/cri_convert.h"

#include <vector>

namespace dray::rpc::internal {
namespace {

template <class Repeated>
void SetStrings(const std::vector<std::string>& from, Repeated& to) {
  to.Assign(from.begin(), from.end());
}

cri::NamespaceMode Mode(NamespaceMode mode) { return static_cast<cri::NamespaceMode>(mode); }

void SetNamespaces(const CriNamespaces& from, cri::NamespaceOption& to) {
  to.set_network(Mode(from.network));
  to.set_pid(Mode(from.pid));
  to.set_ipc(Mode(from.ipc));
  to.set_target_id(from.target_id);
}

void SetProfile(const CriProfile& from, cri::SecurityProfile& to) {
  to.set_profile_type(static_cast<cri::SecurityProfile::ProfileType>(from.type));
  to.set_localhost_ref(from.localhost_ref);
}

// What the security contexts of sandboxes and containers have in common.
template <class Context>
void SetSecurity(const CriSecurity& from, Context& to) {
  SetNamespaces(from.namespaces, *to.mutable_namespace_options());
  if (from.run_as_user) to.mutable_run_as_user()->set_value(*from.run_as_user);
  if (from.run_as_group) to.mutable_run_as_group()->set_value(*from.run_as_group);
  to.set_readonly_rootfs(from.readonly_rootfs);
  to.mutable_supplemental_groups()->Assign(from.supplemental_groups.begin(),
                                           from.supplemental_groups.end());
  to.set_privileged(from.privileged);
  if (from.seccomp) SetProfile(*from.seccomp, *to.mutable_seccomp());
  if (from.apparmor) SetProfile(*from.apparmor, *to.mutable_apparmor());
  if (from.selinux) {
    to.mutable_selinux_options()->set_user(from.selinux->user);
    to.mutable_selinux_options()->set_role(from.selinux->role);
    to.mutable_selinux_options()->set_type(from.selinux->type);
    to.mutable_selinux_options()->set_level(from.selinux->level);
  }
}

void SetSecurityOfContainer(const CriSecurity& from, cri::LinuxContainerSecurityContext& to) {
  SetSecurity(from, to);
  SetStrings(from.add_capabilities, *to.mutable_capabilities()->mutable_add_capabilities());
  SetStrings(from.drop_capabilities, *to.mutable_capabilities()->mutable_drop_capabilities());
  to.set_no_new_privs(from.no_new_privs);
  SetStrings(from.masked_paths, *to.mutable_masked_paths());
  SetStrings(from.readonly_paths, *to.mutable_readonly_paths());
}

void SetResources(const CriResources& from, cri::LinuxContainerResources& to) {
  to.set_cpu_period(from.cpu_period);
  to.set_cpu_quota(from.cpu_quota);
  to.set_cpu_shares(from.cpu_shares);
  to.set_memory_limit_in_bytes(from.memory_limit_in_bytes);
  to.set_oom_score_adj(from.oom_score_adj);
  to.set_cpuset_cpus(from.cpuset_cpus);
  to.set_cpuset_mems(from.cpuset_mems);
  SetMap(from.unified, *to.mutable_unified());
}

CriPodMetadata MetadataOf(const cri::PodSandboxMetadata& from) {
  return {.name = from.name(),
          .uid = from.uid(),
          .namespace_ = from.namespace_(),
          .attempt = from.attempt()};
}

CriSandboxState StateOf(cri::PodSandboxState state) {
  return state == cri::SANDBOX_READY ? CriSandboxState::kReady : CriSandboxState::kNotReady;
}

CriContainerState StateOf(cri::ContainerState state) {
  switch (state) {
    case cri::CONTAINER_CREATED:
      return CriContainerState::kCreated;
    case cri::CONTAINER_RUNNING:
      return CriContainerState::kRunning;
    case cri::CONTAINER_EXITED:
      return CriContainerState::kExited;
    default:
      return CriContainerState::kUnknown;
  }
}

}  // namespace

cri::PodSandboxConfig ToMessage(const CriSandboxConfig& config) {
  cri::PodSandboxConfig out;
  out.mutable_metadata()->set_name(config.metadata.name);
  out.mutable_metadata()->set_uid(config.metadata.uid);
  out.mutable_metadata()->set_namespace_(config.metadata.namespace_);
  out.mutable_metadata()->set_attempt(config.metadata.attempt);
  out.set_hostname(config.hostname);
  out.set_log_directory(config.log_directory);
  // An empty configuration is one that says "no servers"; absent, the node's is taken.
  if (!config.dns_servers.empty() || !config.dns_searches.empty() || !config.dns_options.empty()) {
    SetStrings(config.dns_servers, *out.mutable_dns_config()->mutable_servers());
    SetStrings(config.dns_searches, *out.mutable_dns_config()->mutable_searches());
    SetStrings(config.dns_options, *out.mutable_dns_config()->mutable_options());
  }
  SetMap(config.labels, *out.mutable_labels());
  SetMap(config.annotations, *out.mutable_annotations());
  out.mutable_linux()->set_cgroup_parent(config.cgroup_parent);
  SetSecurity(config.security, *out.mutable_linux()->mutable_security_context());
  SetMap(config.sysctls, *out.mutable_linux()->mutable_sysctls());
  return out;
}

cri::ContainerConfig ToMessage(const CriContainerConfig& config) {
  cri::ContainerConfig out;
  out.mutable_metadata()->set_name(config.name);
  out.mutable_metadata()->set_attempt(config.attempt);
  out.mutable_image()->set_image(config.image);
  out.mutable_image()->set_user_specified_image(config.user_specified_image);
  SetStrings(config.command, *out.mutable_command());
  SetStrings(config.args, *out.mutable_args());
  out.set_working_dir(config.working_dir);
  for (const auto& [key, value] : config.envs) {
    auto* env = out.add_envs();
    env->set_key(key);
    env->set_value(value);
  }
  for (const CriMount& from : config.mounts) {
    auto* mount = out.add_mounts();
    mount->set_container_path(from.container_path);
    mount->set_host_path(from.host_path);
    mount->set_readonly(from.readonly);
    mount->set_propagation(static_cast<cri::MountPropagation>(from.propagation));
  }
  for (const CriDevice& from : config.devices) {
    auto* device = out.add_devices();
    device->set_container_path(from.container_path);
    device->set_host_path(from.host_path);
    device->set_permissions(from.permissions);
  }
  SetMap(config.labels, *out.mutable_labels());
  SetMap(config.annotations, *out.mutable_annotations());
  out.set_log_path(config.log_path);
  out.set_stdin(config.stdin);
  out.set_stdin_once(config.stdin_once);
  out.set_tty(config.tty);
  SetResources(config.resources, *out.mutable_linux()->mutable_resources());
  SetSecurityOfContainer(config.security, *out.mutable_linux()->mutable_security_context());
  for (const std::string& name : config.cdi_devices) out.add_cdi_devices()->set_name(name);
  return out;
}

cri::AuthConfig ToMessage(const CriAuth& auth) {
  cri::AuthConfig out;
  out.set_username(auth.username);
  out.set_password(auth.password);
  out.set_auth(auth.auth);
  out.set_server_address(auth.server_address);
  out.set_identity_token(auth.identity_token);
  out.set_registry_token(auth.registry_token);
  return out;
}

CriSandbox FromMessage(const cri::PodSandbox& sandbox) {
  return {.id = sandbox.id(),
          .metadata = MetadataOf(sandbox.metadata()),
          .state = StateOf(sandbox.state()),
          .created_at = sandbox.created_at(),
          .labels = MapOf(sandbox.labels()),
          .annotations = MapOf(sandbox.annotations())};
}

CriSandbox FromMessage(const cri::PodSandboxStatus& status) {
  CriSandbox out{.id = status.id(),
                 .metadata = MetadataOf(status.metadata()),
                 .state = StateOf(status.state()),
                 .created_at = status.created_at(),
                 .labels = MapOf(status.labels()),
                 .annotations = MapOf(status.annotations())};
  // None on the host's network.
  if (!status.network().ip().empty()) out.ips.push_back(status.network().ip());
  for (const auto& ip : status.network().additional_ips()) out.ips.push_back(ip.ip());
  return out;
}

CriContainer FromMessage(const cri::Container& container) {
  return {.id = container.id(),
          .sandbox_id = container.pod_sandbox_id(),
          .name = container.metadata().name(),
          .attempt = container.metadata().attempt(),
          .state = StateOf(container.state()),
          .created_at = container.created_at(),
          .image = container.image().image(),
          .image_ref = container.image_ref(),
          .image_id = container.image_id(),
          .labels = MapOf(container.labels()),
          .annotations = MapOf(container.annotations())};
}

CriContainer FromMessage(const cri::ContainerStatus& status) {
  return {.id = status.id(),
          .name = status.metadata().name(),
          .attempt = status.metadata().attempt(),
          .state = StateOf(status.state()),
          .created_at = status.created_at(),
          .image = status.image().image(),
          .image_ref = status.image_ref(),
          .image_id = status.image_id(),
          .labels = MapOf(status.labels()),
          .annotations = MapOf(status.annotations()),
          .started_at = status.started_at(),
          .finished_at = status.finished_at(),
          .exit_code = status.exit_code(),
          .reason = status.reason(),
          .message = status.message(),
          .log_path = status.log_path()};
}

CriImage FromMessage(const cri::Image& image) {
  CriImage out{.id = image.id(),
               .repo_tags = {image.repo_tags().begin(), image.repo_tags().end()},
               .repo_digests = {image.repo_digests().begin(), image.repo_digests().end()},
               .size = image.size(),
               .username = image.username()};
  if (image.has_uid()) out.uid = image.uid().value();
  return out;
}

}  // namespace dray::rpc::internal
