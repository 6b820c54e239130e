// SPDX-License-Identifier: Apache-2.0
#include "node/refusals.h"

#include <string>
#include <string_view>
#include <vector>

#include "api/field_table.h"
#include "api/json.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

struct ProfileType {
  std::string type;
};
struct SecurityFields {
  api::Box<api::RawJson> se_linux;
  api::Box<ProfileType> app_armor;
  api::Box<api::RawJson> windows;
  std::string proc_mount;
  std::vector<api::RawJson> sysctls;
  std::string groups_policy;
};

const api::StructInfo& InfoOf(const ProfileType*) {
  static const api::StructInfo info =
      api::Struct<ProfileType>("AppArmorProfile", {api::Field<&ProfileType::type>("type")});
  return info;
}
const api::StructInfo& InfoOf(const SecurityFields*) {
  static const api::StructInfo info = api::Struct<SecurityFields>(
      "SecurityContext", {api::Field<&SecurityFields::se_linux>("seLinuxOptions"),
                          api::Field<&SecurityFields::app_armor>("appArmorProfile"),
                          api::Field<&SecurityFields::windows>("windowsOptions"),
                          api::Field<&SecurityFields::proc_mount>("procMount"),
                          api::Field<&SecurityFields::sysctls>("sysctls"),
                          api::Field<&SecurityFields::groups_policy>("supplementalGroupsPolicy")});
  return info;
}

Rejection Refuse(std::string_view field, std::string_view why) {
  return {.reason = "FieldNotSupported",
          .message = fmt::format("{}: {} by this node agent", field, why)};
}

std::optional<Rejection> RefusedSecurity(const api::Box<api::RawJson>& json,
                                         const std::string& field) {
  if (!json || json->text.empty()) return std::nullopt;
  api::JsonDecoder decoder;
  const auto read = decoder.Decode<SecurityFields>(json->text);
  if (!read.ok()) return Refuse(field, "cannot be understood");
  if (read->se_linux) return Refuse(field + ".seLinuxOptions", "SELinux is not supported");
  if (read->windows) return Refuse(field + ".windowsOptions", "Windows is not supported");
  if (read->app_armor && read->app_armor->type != "Unconfined") {
    return Refuse(field + ".appArmorProfile", "AppArmor is not supported");
  }
  if (!read->proc_mount.empty() && read->proc_mount != "Default") {
    return Refuse(field + ".procMount", fmt::format("{} is not supported", read->proc_mount));
  }
  if (!read->sysctls.empty()) return Refuse(field + ".sysctls", "sysctls are not set");
  return std::nullopt;
}

std::optional<Rejection> RefusedInContainer(const api::Pod& pod, const api::Container& container,
                                            const std::string& field) {
  if (auto refused = RefusedSecurity(container.security_context, field + ".securityContext")) {
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

std::optional<Rejection> RefusedField(const api::Pod& pod) {
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
  if (spec.resources) {
    for (const std::string_view name : {"cpu", "memory"}) {
      if (spec.resources->limits.Find(name) != nullptr) {
        return Refuse(fmt::format("spec.resources.limits[{}]", name),
                      "limits for a pod as a whole are not kept (those of containers are)");
      }
    }
  }
  if (auto refused = RefusedSecurity(spec.security_context, "spec.securityContext")) return refused;
  for (std::size_t i = 0; i < spec.init_containers.size(); ++i) {
    if (auto refused = RefusedInContainer(pod, spec.init_containers[i],
                                          fmt::format("spec.initContainers[{}]", i))) {
      return refused;
    }
  }
  for (std::size_t i = 0; i < spec.containers.size(); ++i) {
    if (auto refused =
            RefusedInContainer(pod, spec.containers[i], fmt::format("spec.containers[{}]", i))) {
      return refused;
    }
  }
  return std::nullopt;
}

}  // namespace dray::node
