// SPDX-License-Identifier: Apache-2.0
#include "container/container_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "container/internal/seccomp.h"
#include "fmt/format.h"

namespace dray::container {
namespace {

namespace oci = cdi::oci;

constexpr std::string_view kDefaultPath =
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::int64_t kCpuPeriod = 100'000;  // microseconds

// What every container runtime gives to root in a container.
constexpr std::array<std::string_view, 14> kDefaultCapabilities = {
    "CAP_CHOWN",   "CAP_DAC_OVERRIDE", "CAP_FSETID",           "CAP_FOWNER",
    "CAP_MKNOD",   "CAP_NET_RAW",      "CAP_SETGID",           "CAP_SETUID",
    "CAP_SETFCAP", "CAP_SETPCAP",      "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT",
    "CAP_KILL",    "CAP_AUDIT_WRITE"};

constexpr std::array<std::string_view, 10> kMasked = {
    "/proc/asound",        "/proc/acpi",       "/proc/kcore",       "/proc/keys",
    "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug",
    "/proc/scsi",          "/sys/firmware"};
constexpr std::array<std::string_view, 5> kReadOnly = {"/proc/bus", "/proc/fs", "/proc/irq",
                                                       "/proc/sys", "/proc/sysrq-trigger"};

void SetVariable(std::vector<std::string>& env, std::string_view name, std::string_view value) {
  const std::string begin = fmt::format("{}=", name);
  const auto same = std::ranges::find_if(
      env, [&](const std::string& variable) { return variable.starts_with(begin); });
  std::string variable = fmt::format("{}{}", begin, value);
  if (same != env.end()) {
    *same = std::move(variable);
  } else {
    env.push_back(std::move(variable));
  }
}

bool HasVariable(const std::vector<std::string>& env, std::string_view begin) {
  return std::ranges::any_of(env, [&](const std::string& one) { return one.starts_with(begin); });
}

std::vector<std::string> EnvOf(const SandboxConfig& sandbox, const ContainerConfig& config,
                               const image::ImageConfig& image) {
  std::vector<std::string> env;
  for (const std::string& variable : image.env) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    SetVariable(env, variable.substr(0, equals), variable.substr(equals + 1));
  }
  if (!HasVariable(env, "PATH=")) env.insert(env.begin(), std::string(kDefaultPath));
  if (!sandbox.hostname.empty()) SetVariable(env, "HOSTNAME", sandbox.hostname);
  if (config.tty && !HasVariable(env, "TERM=")) SetVariable(env, "TERM", "xterm");
  for (const auto& [name, value] : config.env) SetVariable(env, name, value);
  return env;
}

std::optional<std::int64_t> Number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// Field `index` of the line of /etc/passwd or /etc/group whose field `key` is `value`.
std::optional<std::string> FieldOf(std::string_view file, std::size_t key, std::string_view value,
                                   std::size_t index) {
  while (!file.empty()) {
    const std::size_t end = std::min(file.find('\n'), file.size());
    std::string_view line = file.substr(0, end);
    file.remove_prefix(std::min(end + 1, file.size()));
    std::vector<std::string_view> fields;
    for (;;) {
      const std::size_t colon = line.find(':');
      fields.push_back(line.substr(0, colon));
      if (colon == line.npos) break;
      line.remove_prefix(colon + 1);
    }
    if (fields.size() > std::max(key, index) && fields[key] == value) {
      return std::string(fields[index]);
    }
  }
  return std::nullopt;
}

// "1000", "1000:1000", "nobody", "nobody:users": the image's way to say who runs.
Status ImageUser(std::string_view text, const ContainerPlace& place, oci::User& user) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  if (!name.empty()) {
    auto uid = Number(name);
    if (!uid) {
      const auto found = FieldOf(place.passwd, 0, name, 2);
      if (found) uid = Number(*found);
    }
    if (!uid) {
      return base::InvalidArgument(
          fmt::format("the image is to run as user \"{}\", and has none of that name", name));
    }
    user.uid = *uid;
    const auto gid = FieldOf(place.passwd, 2, fmt::format("{}", *uid), 3);
    if (gid) user.gid = Number(*gid).value_or(0);
  }
  if (colon == text.npos) return {};
  const std::string_view group = text.substr(colon + 1);
  auto gid = Number(group);
  if (!gid) {
    const auto found = FieldOf(place.group, 0, group, 2);
    if (found) gid = Number(*found);
  }
  if (!gid) {
    return base::InvalidArgument(
        fmt::format("the image is to run as group \"{}\", and has none of that name", group));
  }
  user.gid = *gid;
  return {};
}

StatusOr<oci::User> UserOf(const ContainerConfig& config, const image::ImageConfig& image,
                           const ContainerPlace& place) {
  oci::User user;
  if (config.security.user) {
    user.uid = *config.security.user;
    const auto gid = FieldOf(place.passwd, 2, fmt::format("{}", user.uid), 3);
    if (gid) user.gid = Number(*gid).value_or(0);
  } else {
    DRAY_RETURN_IF_ERROR(ImageUser(image.user, place, user));
  }
  if (config.security.group) user.gid = *config.security.group;
  for (const std::int64_t group : config.security.groups) {
    if (std::ranges::find(user.additional_gids, group) == user.additional_gids.end()) {
      user.additional_gids.push_back(group);
    }
  }
  return user;
}

std::string CapabilityName(std::string_view name) {
  std::string full(name);
  std::ranges::transform(full, full.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  if (full != "ALL" && !full.starts_with("CAP_")) full.insert(0, "CAP_");
  return full;
}

StatusOr<std::vector<std::string>> CapabilitiesOf(const SecurityConfig& security,
                                                  const ContainerPlace& place) {
  std::vector<std::string> set(kDefaultCapabilities.begin(), kDefaultCapabilities.end());
  if (security.privileged) set = AllCapabilities();
  const auto has = [](const std::vector<std::string>& list, std::string_view name) {
    return std::ranges::find(list, name) != list.end();
  };
  std::vector<std::string> dropped;
  for (const std::string& name : security.drop_capabilities)
    dropped.push_back(CapabilityName(name));
  if (has(dropped, "ALL")) set.clear();
  std::erase_if(set, [&](const std::string& name) { return has(dropped, name); });
  for (const std::string& written : security.add_capabilities) {
    const std::string name = CapabilityName(written);
    if (name == "ALL") {
      for (const std::string& one : AllCapabilities()) {
        if (!has(set, one) && !has(dropped, one)) set.push_back(one);
      }
    } else if (!has(AllCapabilities(), name)) {
      return base::InvalidArgument(fmt::format("there is no capability \"{}\"", written));
    } else if (!has(set, name)) {
      set.push_back(name);
    }
  }
  std::erase_if(set, [&](const std::string& name) { return !has(place.capabilities, name); });
  return set;
}

std::ptrdiff_t Depth(const std::string& path) { return std::ranges::count(path, '/'); }

std::vector<oci::Mount> MountsOf(const SandboxConfig& sandbox, const ContainerConfig& config) {
  const bool privileged = config.security.privileged;
  std::vector<oci::Mount> mounts = {
      {"/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}, {}},
      {"/dev", "tmpfs", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=65536k"}, {}},
      {"/dev/pts",
       "devpts",
       "devpts",
       {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"},
       {}},
      {"/dev/shm", "tmpfs", "shm", {"nosuid", "noexec", "nodev", "mode=1777", "size=65536k"}, {}},
      {"/sys", "sysfs", "sysfs", {"nosuid", "noexec", "nodev", privileged ? "rw" : "ro"}, {}},
  };
  // A message queue's file system is that of the namespace.
  if (!sandbox.host_ipc) {
    mounts.push_back({"/dev/mqueue", "mqueue", "mqueue", {"nosuid", "noexec", "nodev"}, {}});
  }
  for (const Mount& mount : config.mounts) {
    std::erase_if(
        mounts, [&](const oci::Mount& other) { return other.destination == mount.container_path; });
    const std::string_view seen = mount.propagation == Propagation::kBidirectional     ? "rshared"
                                  : mount.propagation == Propagation::kHostToContainer ? "rslave"
                                                                                       : "rprivate";
    mounts.push_back({mount.container_path,
                      "bind",
                      mount.host_path,
                      {"rbind", std::string(seen), mount.read_only ? "ro" : "rw"},
                      {}});
  }
  std::ranges::stable_sort(mounts, {},
                           [](const oci::Mount& mount) { return Depth(mount.destination); });
  return mounts;
}

std::vector<oci::Namespace> NamespacesOf(const SandboxConfig& sandbox,
                                         const ContainerPlace& place) {
  const auto of_pause = [&](std::string_view what) {
    return fmt::format("/proc/{}/ns/{}", place.pause_pid, what);
  };
  std::vector<oci::Namespace> namespaces;
  if (sandbox.shared_pids && !sandbox.host_pid) {
    namespaces.push_back({"pid", of_pause("pid")});
  } else if (!sandbox.host_pid) {
    namespaces.push_back({"pid", place.target_pid == 0
                                     ? std::string()
                                     : fmt::format("/proc/{}/ns/pid", place.target_pid)});
  }
  // A pod on the host's network has the host's name, too.
  if (!sandbox.host_network) {
    namespaces.push_back({"network", of_pause("net")});
    namespaces.push_back({"uts", of_pause("uts")});
  }
  if (!sandbox.host_ipc) namespaces.push_back({"ipc", of_pause("ipc")});
  namespaces.push_back({"mount", ""});
  return namespaces;
}

oci::Resources ResourcesOf(const ContainerConfig& config) {
  oci::Resources resources;
  // Nothing but what runc allows to everybody (null, zero, random, ...) and what is added later.
  resources.devices = {{.allow = config.security.privileged, .type = {}, .access = "rwm"}};
  const Limits& limits = config.limits;
  if (limits.memory_bytes > 0) resources.memory.emplace().limit = limits.memory_bytes;
  if (limits.cpu_shares > 0) resources.cpu.emplace().shares = limits.cpu_shares;
  if (limits.cpu_quota > 0) {
    if (!resources.cpu) resources.cpu.emplace();
    resources.cpu->quota = limits.cpu_quota;
    resources.cpu->period = kCpuPeriod;
  }
  if (limits.pids > 0) resources.pids.emplace().limit = limits.pids;
  return resources;
}

}  // namespace

const std::vector<std::string>& AllCapabilities() {
  static const std::vector<std::string> all = {"CAP_CHOWN",
                                               "CAP_DAC_OVERRIDE",
                                               "CAP_DAC_READ_SEARCH",
                                               "CAP_FOWNER",
                                               "CAP_FSETID",
                                               "CAP_KILL",
                                               "CAP_SETGID",
                                               "CAP_SETUID",
                                               "CAP_SETPCAP",
                                               "CAP_LINUX_IMMUTABLE",
                                               "CAP_NET_BIND_SERVICE",
                                               "CAP_NET_BROADCAST",
                                               "CAP_NET_ADMIN",
                                               "CAP_NET_RAW",
                                               "CAP_IPC_LOCK",
                                               "CAP_IPC_OWNER",
                                               "CAP_SYS_MODULE",
                                               "CAP_SYS_RAWIO",
                                               "CAP_SYS_CHROOT",
                                               "CAP_SYS_PTRACE",
                                               "CAP_SYS_PACCT",
                                               "CAP_SYS_ADMIN",
                                               "CAP_SYS_BOOT",
                                               "CAP_SYS_NICE",
                                               "CAP_SYS_RESOURCE",
                                               "CAP_SYS_TIME",
                                               "CAP_SYS_TTY_CONFIG",
                                               "CAP_MKNOD",
                                               "CAP_LEASE",
                                               "CAP_AUDIT_WRITE",
                                               "CAP_AUDIT_CONTROL",
                                               "CAP_SETFCAP",
                                               "CAP_MAC_OVERRIDE",
                                               "CAP_MAC_ADMIN",
                                               "CAP_SYSLOG",
                                               "CAP_WAKE_ALARM",
                                               "CAP_BLOCK_SUSPEND",
                                               "CAP_AUDIT_READ",
                                               "CAP_PERFMON",
                                               "CAP_BPF",
                                               "CAP_CHECKPOINT_RESTORE"};
  return all;
}

std::vector<std::string> CapabilitiesIn(std::uint64_t mask) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < AllCapabilities().size(); ++i) {
    if ((mask >> i & 1) != 0) names.push_back(AllCapabilities()[i]);
  }
  return names;
}

StatusOr<std::vector<std::string>> CommandOf(const ContainerConfig& config,
                                             const image::ImageConfig& image) {
  std::vector<std::string> command = config.command.empty() ? image.entrypoint : config.command;
  const std::vector<std::string>& args =
      config.args.empty() && config.command.empty() ? image.cmd : config.args;
  command.insert(command.end(), args.begin(), args.end());
  if (command.empty()) {
    return base::InvalidArgument(fmt::format(
        "container {} has no command, and neither has its image {}", config.name, config.image));
  }
  return command;
}

StatusOr<cdi::oci::Config> BuildConfig(const SandboxConfig& sandbox, const ContainerConfig& config,
                                       const image::ImageConfig& image,
                                       const ContainerPlace& place) {
  oci::Config made;
  oci::Process& process = made.process;
  DRAY_ASSIGN_OR_RETURN(process.args, CommandOf(config, image));
  DRAY_ASSIGN_OR_RETURN(process.user, UserOf(config, image, place));
  if (config.security.non_root && process.user.uid == 0) {
    return base::FailedPrecondition(
        "container has runAsNonRoot and image will run as root: set runAsUser");
  }
  process.terminal = config.tty;
  process.env = EnvOf(sandbox, config, image);
  process.cwd = !config.working_dir.empty()  ? config.working_dir
                : !image.working_dir.empty() ? image.working_dir
                                             : "/";
  if (!process.cwd.starts_with('/')) {
    return base::InvalidArgument(
        fmt::format("the working directory \"{}\" must begin with /", process.cwd));
  }
  DRAY_ASSIGN_OR_RETURN(const std::vector<std::string> capabilities,
                        CapabilitiesOf(config.security, place));
  process.capabilities = oci::Capabilities{
      .bounding = capabilities, .effective = capabilities, .permitted = capabilities};
  process.no_new_privileges = config.security.no_new_privileges;
  if (config.security.app_armor == AppArmor::kLocalhost) {
    process.apparmor_profile = config.security.app_armor_profile;
  }
  made.root = {.path = place.rootfs, .readonly = config.security.read_only_root};
  made.mounts = MountsOf(sandbox, config);
  for (const auto& [key, value] : config.annotations) made.annotations[key] = value;
  made.linux_.resources = ResourcesOf(config);
  made.linux_.cgroups_path = place.cgroups_path;
  made.linux_.namespaces = NamespacesOf(sandbox, place);
  // Each of the pod's containers sets them in the namespaces that they share: to what they are.
  for (const auto& [name, value] : sandbox.sysctls) made.linux_.sysctl[name] = value;
  switch (config.security.privileged ? Seccomp::kUnconfined : config.security.seccomp) {
    case Seccomp::kUnconfined:
      break;
    case Seccomp::kRuntimeDefault:
      made.linux_.seccomp = api::RawJson{internal::DefaultSeccomp(capabilities)};
      break;
    case Seccomp::kLocalhost:
      made.linux_.seccomp = api::RawJson{place.seccomp};
      break;
  }
  // Through the root what is mounted has to pass.
  for (const Mount& mount : config.mounts) {
    if (mount.propagation == Propagation::kBidirectional) {
      made.linux_.rootfs_propagation = "rshared";
    } else if (mount.propagation == Propagation::kHostToContainer &&
               made.linux_.rootfs_propagation.empty()) {
      made.linux_.rootfs_propagation = "rslave";
    }
  }
  if (!config.security.privileged) {
    made.linux_.masked_paths.assign(kMasked.begin(), kMasked.end());
    made.linux_.readonly_paths.assign(kReadOnly.begin(), kReadOnly.end());
  }
  return made;
}

}  // namespace dray::container
