// SPDX-License-Identifier: Apache-2.0
#include "cdi/apply.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "fmt/format.h"

namespace dray::cdi {
namespace {

void ApplyEnv(const std::vector<std::string>& edits, std::vector<std::string>& env) {
  for (const std::string& edit : edits) {
    const std::string_view name_equals = std::string_view(edit).substr(0, edit.find('=') + 1);
    const auto same = std::ranges::find_if(
        env, [&](const std::string& variable) { return variable.starts_with(name_equals); });
    if (same != env.end()) {
      *same = edit;
    } else {
      env.push_back(edit);
    }
  }
}

// With what the spec leaves to the host.
StatusOr<oci::Device> DeviceFor(const DeviceNode& node, const oci::User& user,
                                const LookUpDevice& look_up) {
  oci::Device device{.path = node.path,
                     .type = node.type,
                     .major = node.major,
                     .minor = node.minor,
                     .file_mode = node.file_mode,
                     .uid = node.uid,
                     .gid = node.gid};
  if (node.type.empty() || (node.major == 0 && node.type != "p")) {
    const std::string& path = node.host_path.empty() ? node.path : node.host_path;
    DRAY_ASSIGN_OR_RETURN(const HostDevice host, look_up(path));
    // "u" is another word for "c".
    const std::string wanted = node.type == "u" ? "c" : node.type;
    if (!wanted.empty() && wanted != host.type) {
      return base::FailedPrecondition(
          fmt::format("{} must be a device of type {} for the CDI device {}, and is of type {}",
                      path, node.type, node.path, host.type));
    }
    if (device.type.empty()) device.type = host.type;
    if (device.major == 0 && device.type != "p") {
      device.major = host.major;
      device.minor = host.minor;
    }
  }
  if (!device.uid && user.uid > 0) device.uid = user.uid;
  if (!device.gid && user.gid > 0) device.gid = user.gid;
  return device;
}

void ApplyDevice(const oci::Device& device, const std::string& permissions, oci::Linux& linux_) {
  std::erase_if(linux_.devices,
                [&](const oci::Device& other) { return other.path == device.path; });
  linux_.devices.push_back(device);
  if ((device.type != "b" && device.type != "c") || permissions == "none") return;
  if (!linux_.resources) linux_.resources.emplace();
  linux_.resources->devices.push_back({.allow = true,
                                       .type = device.type,
                                       .major = device.major,
                                       .minor = device.minor,
                                       .access = permissions.empty() ? "rwm" : permissions});
}

// "/a//b/../c" has the elements a and c.
std::ptrdiff_t PathElements(std::string_view path) {
  std::ptrdiff_t count = 0;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view element = path.substr(at, end - at);
    if (element == "..") {
      count = std::max<std::ptrdiff_t>(count - 1, 0);
    } else if (!element.empty() && element != ".") {
      ++count;
    }
    at = end + 1;
  }
  return count;
}

bool HasUserNamespace(const oci::Config& config) {
  return std::ranges::any_of(config.linux_.namespaces,
                             [](const oci::Namespace& one) { return one.type == "user"; });
}

void ApplyMounts(const std::vector<Mount>& mounts, oci::Config& config) {
  if (mounts.empty()) return;
  for (const Mount& mount : mounts) {
    std::erase_if(config.mounts, [&](const oci::Mount& other) {
      return other.destination == mount.container_path;
    });
    oci::Mount made{.destination = mount.container_path,
                    .type = mount.type,
                    .source = mount.host_path,
                    .options = mount.options};
    const auto has = [&](std::string_view option) {
      return std::ranges::find(made.options, option) != made.options.end();
    };
    if (HasUserNamespace(config) && (has("bind") || has("rbind")) && !has("idmap") &&
        !has("ridmap")) {
      made.options.emplace_back("idmap");
    }
    config.mounts.push_back(std::move(made));
  }
  // What is mounted on a folder must come after what the folder is in.
  std::ranges::stable_sort(config.mounts, {},
                           [](const oci::Mount& mount) { return PathElements(mount.destination); });
}

std::vector<oci::Hook>& HooksNamed(std::string_view name, oci::Hooks& hooks) {
  if (name == "prestart") return hooks.prestart;
  if (name == "createRuntime") return hooks.create_runtime;
  if (name == "createContainer") return hooks.create_container;
  if (name == "startContainer") return hooks.start_container;
  if (name == "poststart") return hooks.poststart;
  return hooks.poststop;
}

}  // namespace

StatusOr<HostDevice> DeviceOfHost(const std::string& path) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0) {
    return base::FailedPrecondition(
        fmt::format("a CDI device needs {}: {}", path, std::strerror(errno)));
  }
  HostDevice device{.major = major(about.st_rdev), .minor = minor(about.st_rdev)};
  if (S_ISBLK(about.st_mode)) {
    device.type = "b";
  } else if (S_ISCHR(about.st_mode)) {
    device.type = "c";
  } else if (S_ISFIFO(about.st_mode)) {
    device.type = "p";
  } else {
    return base::FailedPrecondition(
        fmt::format("a CDI device needs {}, which is neither a device nor a fifo", path));
  }
  return device;
}

Status Apply(const ContainerEdits& edits, const LookUpDevice& look_up, oci::Config& config) {
  std::vector<oci::Device> devices;
  for (const DeviceNode& node : edits.device_nodes) {
    DRAY_ASSIGN_OR_RETURN(oci::Device device, DeviceFor(node, config.process.user, look_up));
    devices.push_back(std::move(device));
  }
  // Nothing fails from here on.
  ApplyEnv(edits.env, config.process.env);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    ApplyDevice(devices[i], edits.device_nodes[i].permissions, config.linux_);
  }
  for (const NetDevice& device : edits.net_devices) {
    config.linux_.net_devices[device.host_interface_name].name = device.name;
  }
  ApplyMounts(edits.mounts, config);
  if (!edits.hooks.empty() && !config.hooks) config.hooks.emplace();
  for (const Hook& hook : edits.hooks) {
    HooksNamed(hook.hook_name, *config.hooks)
        .push_back(
            {.path = hook.path, .args = hook.args, .env = hook.env, .timeout = hook.timeout});
  }
  if (edits.intel_rdt) config.linux_.intel_rdt = edits.intel_rdt;
  std::vector<std::int64_t>& gids = config.process.user.additional_gids;
  for (const std::int64_t gid : edits.additional_gids) {
    if (gid != 0 && std::ranges::find(gids, gid) == gids.end()) gids.push_back(gid);
  }
  return {};
}

}  // namespace dray::cdi
