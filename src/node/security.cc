// SPDX-License-Identifier: Apache-2.0
#include "node/security.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_split.h"
#include "api/field_table.h"
#include "api/json.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

struct Capabilities {
  std::vector<std::string> add;
  std::vector<std::string> drop;
};
struct Profile {
  std::string type;
  std::string localhost_profile;
};
struct Selinux {
  std::string user;
  std::string role;
  std::string type;
  std::string level;
};
struct Sysctl {
  std::string name;
  std::string value;
};
struct SecurityContext {
  std::optional<std::int64_t> run_as_user;
  std::optional<std::int64_t> run_as_group;
  std::optional<bool> run_as_non_root;
  std::optional<bool> privileged;
  std::optional<bool> read_only_root;
  std::optional<bool> allow_escalation;
  api::Box<Capabilities> capabilities;
  api::Box<Profile> seccomp;
  api::Box<Profile> app_armor;
  api::Box<Selinux> selinux;
  api::Box<api::RawJson> windows;
  std::string proc_mount;
  // Of pods alone.
  std::vector<std::int64_t> supplemental_groups;
  std::optional<std::int64_t> fs_group;
  std::vector<Sysctl> sysctls;
};

const api::StructInfo& InfoOf(const Capabilities*) {
  static const api::StructInfo info = api::Struct<Capabilities>(
      "Capabilities",
      {api::Field<&Capabilities::add>("add"), api::Field<&Capabilities::drop>("drop")});
  return info;
}
const api::StructInfo& InfoOf(const Profile*) {
  static const api::StructInfo info = api::Struct<Profile>(
      "Profile", {api::Field<&Profile::type>("type"),
                  api::Field<&Profile::localhost_profile>("localhostProfile")});
  return info;
}
const api::StructInfo& InfoOf(const Selinux*) {
  static const api::StructInfo info = api::Struct<Selinux>(
      "SELinuxOptions", {api::Field<&Selinux::user>("user"), api::Field<&Selinux::role>("role"),
                         api::Field<&Selinux::type>("type"), api::Field<&Selinux::level>("level")});
  return info;
}
const api::StructInfo& InfoOf(const Sysctl*) {
  static const api::StructInfo info = api::Struct<Sysctl>(
      "Sysctl", {api::Field<&Sysctl::name>("name"), api::Field<&Sysctl::value>("value")});
  return info;
}
const api::StructInfo& InfoOf(const SecurityContext*) {
  static const api::StructInfo info = api::Struct<SecurityContext>(
      "SecurityContext",
      {api::Field<&SecurityContext::run_as_user>("runAsUser"),
       api::Field<&SecurityContext::run_as_group>("runAsGroup"),
       api::Field<&SecurityContext::run_as_non_root>("runAsNonRoot"),
       api::Field<&SecurityContext::privileged>("privileged"),
       api::Field<&SecurityContext::read_only_root>("readOnlyRootFilesystem"),
       api::Field<&SecurityContext::allow_escalation>("allowPrivilegeEscalation"),
       api::Field<&SecurityContext::capabilities>("capabilities"),
       api::Field<&SecurityContext::seccomp>("seccompProfile"),
       api::Field<&SecurityContext::app_armor>("appArmorProfile"),
       api::Field<&SecurityContext::selinux>("seLinuxOptions"),
       api::Field<&SecurityContext::windows>("windowsOptions"),
       api::Field<&SecurityContext::proc_mount>("procMount"),
       api::Field<&SecurityContext::supplemental_groups>("supplementalGroups"),
       api::Field<&SecurityContext::fs_group>("fsGroup"),
       api::Field<&SecurityContext::sysctls>("sysctls")});
  return info;
}

StatusOr<SecurityContext> ReadSecurity(const api::Box<api::RawJson>& raw) {
  if (!raw || raw->text.empty()) return SecurityContext();
  api::JsonDecoder decoder;
  auto read = decoder.Decode<SecurityContext>(raw->text);
  if (!read.ok()) return base::Annotate(read.status(), "securityContext");
  return read;
}

Status SetSeccomp(const Profile& profile, const std::string& folder,
                  container::SecurityConfig& config) {
  if (profile.type == "Unconfined") return {};
  if (profile.type == "RuntimeDefault") {
    config.seccomp = container::Seccomp::kRuntimeDefault;
    return {};
  }
  const std::string& file = profile.localhost_profile;
  if (profile.type != "Localhost" || file.empty() || file.starts_with('/') || LeadsUp(file)) {
    return base::InvalidArgument(
        fmt::format("seccompProfile: type \"{}\" with localhostProfile \"{}\" is not possible",
                    profile.type, file));
  }
  config.seccomp = container::Seccomp::kLocalhost;
  config.seccomp_file = fmt::format("{}/{}", folder, file);
  return {};
}

Status SetAppArmor(const Profile& profile, container::SecurityConfig& config) {
  if (profile.type == "Unconfined") {
    config.app_armor = container::AppArmor::kUnconfined;
  } else if (profile.type == "RuntimeDefault") {
    config.app_armor = container::AppArmor::kRuntimeDefault;
  } else if (profile.type == "Localhost" && !profile.localhost_profile.empty()) {
    config.app_armor = container::AppArmor::kLocalhost;
    config.app_armor_profile = profile.localhost_profile;
  } else {
    return base::InvalidArgument(
        fmt::format("appArmorProfile: type \"{}\" with localhostProfile \"{}\" is not possible",
                    profile.type, profile.localhost_profile));
  }
  return {};
}

container::SelinuxLabel LabelOf(const Selinux& label) {
  return {.user = label.user, .role = label.role, .type = label.type, .level = label.level};
}

Rejection Refuse(std::string_view field, std::string_view why) {
  return {.reason = "FieldNotSupported",
          .message = fmt::format("{}: {} by this node agent", field, why)};
}

// What no pod can disturb others with, and whose it is.
struct SafeSysctl {
  std::string_view name;
  bool of_network = true;  // else of IPC
};
constexpr SafeSysctl kSafe[] = {
    {"kernel.shm_rmid_forced", false},
    {"net.ipv4.ip_local_port_range"},
    {"net.ipv4.tcp_syncookies"},
    {"net.ipv4.ping_group_range"},
    {"net.ipv4.ip_unprivileged_port_start"},
    {"net.ipv4.ip_local_reserved_ports"},
    {"net.ipv4.tcp_keepalive_time"},
    {"net.ipv4.tcp_fin_timeout"},
    {"net.ipv4.tcp_keepalive_intvl"},
    {"net.ipv4.tcp_keepalive_probes"},
    {"net.ipv4.tcp_rmem"},
    {"net.ipv4.tcp_wmem"},
};

std::optional<Rejection> RefusedSysctl(const api::Pod& pod, std::string_view written) {
  const auto refuse = [](std::string text) {
    return Rejection{.reason = "SysctlForbidden",
                     .message = fmt::format("forbidden sysctl: {}", text)};
  };
  const std::string name = SysctlName(written);
  const auto* safe = std::ranges::find(kSafe, name, &SafeSysctl::name);
  if (safe == std::end(kSafe)) return refuse(fmt::format("\"{}\" not allowlisted", name));
  if (safe->of_network && pod.spec.host_network) {
    return refuse(fmt::format("\"{}\" not allowed with host Net enabled", name));
  }
  if (!safe->of_network && pod.spec.host_ipc) {
    return refuse(fmt::format("\"{}\" not allowed with host IPC enabled", name));
  }
  return std::nullopt;
}

std::optional<Rejection> RefusedAppArmor(const Profile& profile, const std::string& field,
                                         const Enforcing& enforcing) {
  if (profile.type == "Unconfined") return std::nullopt;
  if (!enforcing.app_armor) {
    return Rejection{.reason = "AppArmor",
                     .message = "Cannot enforce AppArmor: AppArmor is not enabled on the host"};
  }
  if (profile.type == "RuntimeDefault" && !enforcing.runtime.app_armor_default) {
    return Refuse(field,
                  "RuntimeDefault: this container runtime has no AppArmor profile of its "
                  "own (Localhost profiles are enforced), so that it is not supported");
  }
  return std::nullopt;
}

}  // namespace

bool LeadsUp(std::string_view path) {
  for (const absl::string_view part : absl::StrSplit(base::ToAbsl(path), '/')) {
    if (part == "..") return true;
  }
  return false;
}

StatusOr<container::SecurityConfig> SecurityOf(const api::Pod& pod, const api::Container& container,
                                               const SecurityPlace& place) {
  DRAY_ASSIGN_OR_RETURN(const SecurityContext whole, ReadSecurity(pod.spec.security_context));
  DRAY_ASSIGN_OR_RETURN(const SecurityContext own, ReadSecurity(container.security_context));
  container::SecurityConfig config;
  config.user = own.run_as_user ? own.run_as_user : whole.run_as_user;
  config.group = own.run_as_group ? own.run_as_group : whole.run_as_group;
  config.groups = whole.supplemental_groups;
  if (whole.fs_group) config.groups.push_back(*whole.fs_group);
  config.privileged = own.privileged.value_or(false);
  config.read_only_root = own.read_only_root.value_or(false);
  config.no_new_privileges = !own.allow_escalation.value_or(true) && !config.privileged;
  if (own.capabilities) {
    config.add_capabilities = own.capabilities->add;
    config.drop_capabilities = own.capabilities->drop;
  }
  if (own.seccomp || whole.seccomp) {
    DRAY_RETURN_IF_ERROR(
        SetSeccomp(own.seccomp ? *own.seccomp : *whole.seccomp, place.seccomp_folder, config));
  }
  if (own.app_armor || whole.app_armor) {
    DRAY_RETURN_IF_ERROR(SetAppArmor(own.app_armor ? *own.app_armor : *whole.app_armor, config));
  }
  if (own.selinux || whole.selinux) {
    config.selinux = LabelOf(own.selinux ? *own.selinux : *whole.selinux);
  }
  const bool non_root = own.run_as_non_root.value_or(whole.run_as_non_root.value_or(false));
  if (non_root && config.user == 0) {
    return base::FailedPrecondition(
        "container's runAsUser breaks non-root policy: runAsNonRoot is set and runAsUser is 0");
  }
  config.non_root = non_root;
  if (non_root && !config.user && !place.runtime_checks_user) {
    return base::FailedPrecondition(
        "container has runAsNonRoot and image may run as root: set runAsUser");
  }
  return config;
}

std::optional<container::SelinuxLabel> SelinuxOf(const api::Pod& pod) {
  const auto read = ReadSecurity(pod.spec.security_context);
  if (!read.ok() || !read->selinux) return std::nullopt;
  return LabelOf(*read->selinux);
}

std::map<std::string, std::string> SysctlsOf(const api::Pod& pod) {
  std::map<std::string, std::string> sysctls;
  const auto read = ReadSecurity(pod.spec.security_context);
  if (!read.ok()) return sysctls;
  for (const Sysctl& one : read->sysctls) sysctls[SysctlName(one.name)] = one.value;
  return sysctls;
}

bool HasPrivileged(const api::Pod& pod) {
  const auto any = [](const std::vector<api::Container>& containers) {
    return std::ranges::any_of(containers, [](const api::Container& one) {
      const auto security = ReadSecurity(one.security_context);
      return security.ok() && security->privileged.value_or(false);
    });
  };
  return any(pod.spec.init_containers) || any(pod.spec.containers);
}

std::optional<Rejection> RefusedSecurity(const api::Pod& pod, const api::Box<api::RawJson>& json,
                                         const std::string& field, const Enforcing& enforcing) {
  if (!json || json->text.empty()) return std::nullopt;
  const auto read = ReadSecurity(json);
  if (!read.ok()) return Refuse(field, "cannot be understood");
  if (read->windows) return Refuse(field + ".windowsOptions", "Windows is not supported");
  if (read->selinux && !enforcing.runtime.selinux) {
    return Refuse(field + ".seLinuxOptions",
                  "SELinux is not supported with this container runtime");
  }
  if (read->app_armor) {
    if (auto refused = RefusedAppArmor(*read->app_armor, field + ".appArmorProfile", enforcing)) {
      return refused;
    }
  }
  if (!read->proc_mount.empty() && read->proc_mount != "Default") {
    return Refuse(field + ".procMount", fmt::format("{} is not supported", read->proc_mount));
  }
  for (const Sysctl& one : read->sysctls) {
    if (auto refused = RefusedSysctl(pod, one.name)) return refused;
  }
  return std::nullopt;
}

std::string SysctlName(std::string_view written) {
  std::string name(written);
  const std::size_t first = name.find_first_of("./");
  if (first == name.npos || name[first] == '.') return name;
  for (char& c : name) c = c == '/' ? '.' : (c == '.' ? '/' : c);
  return name;
}

}  // namespace dray::node
