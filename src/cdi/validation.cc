// SPDX-License-Identifier: Apache-2.0
//
// What makes a spec unusable, as CDI's reference library judges it.
#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "base/names.h"
#include "cdi/names.h"
#include "cdi/spec.h"
#include "fmt/format.h"

namespace dray::cdi {
namespace {

using api::ErrorList;
using api::Invalid;
using api::InvalidNumber;
using api::Required;
using base::FieldPath;

constexpr std::array<std::string_view, 10> kVersions = {
    "0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0"};
constexpr std::array<std::string_view, 4> kDeviceTypes = {"b", "c", "u", "p"};
constexpr std::array<std::string_view, 6> kHooks = {
    "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"};
constexpr std::size_t kAnnotationBytes = 256 * 1024;  // of all annotations of one object
constexpr std::size_t kLongestFileName = 255;

std::ptrdiff_t VersionIndex(std::string_view version) {
  return std::ranges::find(kVersions, version) - kVersions.begin();
}

// A number that runtimes keep in 32 bits without sign.
void CheckId(std::int64_t id, const FieldPath& path, ErrorList& errors) {
  if (id < 0 || id > std::numeric_limits<std::uint32_t>::max()) {
    errors.push_back(InvalidNumber(path, id, "must be from 0 to 4294967295"));
  }
}

void CheckEnv(const std::vector<std::string>& env, const FieldPath& path, ErrorList& errors) {
  for (std::size_t i = 0; i < env.size(); ++i) {
    const std::size_t equals = env[i].find('=');
    if (equals == std::string::npos || equals == 0) {
      errors.push_back(Invalid(path.Index(i), env[i], "must have the form NAME=value with a name"));
    }
  }
}

void CheckAnnotations(const api::Map<std::string>& annotations, const FieldPath& path,
                      ErrorList& errors) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : annotations) {
    bytes += key.size() + value.size();
    std::string lower = key.str();
    std::ranges::transform(lower, lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    for (const std::string& reason : base::CheckQualifiedName(lower)) {
      errors.push_back(Invalid(path, key, reason));
    }
  }
  if (bytes > kAnnotationBytes) errors.push_back(api::TooLong(path, kAnnotationBytes));
}

void CheckNode(const DeviceNode& node, const FieldPath& path, ErrorList& errors) {
  if (node.path.empty()) errors.push_back(Required(path / "path"));
  if (!node.type.empty() && std::ranges::find(kDeviceTypes, node.type) == kDeviceTypes.end()) {
    errors.push_back(api::NotSupported(path / "type", node.type, kDeviceTypes));
  }
  if (node.major < 0)
    errors.push_back(InvalidNumber(path / "major", node.major, "must be at least 0"));
  if (node.minor < 0)
    errors.push_back(InvalidNumber(path / "minor", node.minor, "must be at least 0"));
  if (node.permissions != "none" &&
      node.permissions.find_first_not_of("rwm") != std::string::npos) {
    errors.push_back(Invalid(path / "permissions", node.permissions,
                             "must be made of the letters r, w and m, or be none"));
  }
  if (node.file_mode) CheckId(*node.file_mode, path / "fileMode", errors);
  if (node.uid) CheckId(*node.uid, path / "uid", errors);
  if (node.gid) CheckId(*node.gid, path / "gid", errors);
}

void CheckNetDevices(const std::vector<NetDevice>& devices, const FieldPath& path,
                     ErrorList& errors) {
  std::set<std::string_view> hosts;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const NetDevice& device = devices[i];
    const FieldPath at = path.Index(i);
    if (device.host_interface_name.empty()) {
      errors.push_back(Required(at / "hostInterfaceName"));
    } else if (!hosts.insert(device.host_interface_name).second) {
      errors.push_back(api::Duplicate(at / "hostInterfaceName", device.host_interface_name));
    }
    if (device.name.empty()) {
      errors.push_back(Required(at / "name"));
    } else if (!names.insert(device.name).second) {
      errors.push_back(api::Duplicate(at / "name", device.name));
    }
  }
}

void CheckHook(const Hook& hook, const FieldPath& path, ErrorList& errors) {
  if (std::ranges::find(kHooks, hook.hook_name) == kHooks.end()) {
    errors.push_back(api::NotSupported(path / "hookName", hook.hook_name, kHooks));
  }
  if (hook.path.empty()) errors.push_back(Required(path / "path"));
  CheckEnv(hook.env, path / "env", errors);
}

void CheckIntelRdt(const IntelRdt& rdt, const FieldPath& path, ErrorList& errors) {
  const std::string& id = rdt.clos_id;
  const bool ok = id == "/" || (id != "." && id != ".." && id.size() <= kLongestFileName &&
                                id.find_first_of("/\n") == std::string::npos);
  if (!ok) errors.push_back(Invalid(path / "closID", id, "must be a file name, or \"/\""));
}

}  // namespace

ErrorList ValidateEdits(const ContainerEdits& edits, const FieldPath& path) {
  ErrorList errors;
  CheckEnv(edits.env, path / "env", errors);
  for (std::size_t i = 0; i < edits.device_nodes.size(); ++i) {
    CheckNode(edits.device_nodes[i], (path / "deviceNodes").Index(i), errors);
  }
  CheckNetDevices(edits.net_devices, path / "netDevices", errors);
  for (std::size_t i = 0; i < edits.hooks.size(); ++i) {
    CheckHook(edits.hooks[i], (path / "hooks").Index(i), errors);
  }
  for (std::size_t i = 0; i < edits.mounts.size(); ++i) {
    const FieldPath at = (path / "mounts").Index(i);
    if (edits.mounts[i].host_path.empty()) errors.push_back(Required(at / "hostPath"));
    if (edits.mounts[i].container_path.empty()) errors.push_back(Required(at / "containerPath"));
  }
  if (edits.intel_rdt) CheckIntelRdt(*edits.intel_rdt, path / "intelRdt", errors);
  for (std::size_t i = 0; i < edits.additional_gids.size(); ++i) {
    CheckId(edits.additional_gids[i], (path / "additionalGids").Index(i), errors);
  }
  return errors;
}

ErrorList Validate(const Spec& spec) {
  ErrorList errors;
  const FieldPath version("cdiVersion");
  if (spec.cdi_version.empty()) {
    errors.push_back(Required(version));
  } else if (VersionIndex(spec.cdi_version) == static_cast<std::ptrdiff_t>(kVersions.size())) {
    errors.push_back(api::NotSupported(version, spec.cdi_version, kVersions));
  } else if (VersionIndex(spec.cdi_version) < VersionIndex(LowestVersion(spec))) {
    errors.push_back(
        Invalid(version, spec.cdi_version,
                fmt::format("must be at least {} for what the spec uses", LowestVersion(spec))));
  }
  if (spec.kind.empty()) {
    errors.push_back(Required(FieldPath("kind")));
  } else if (const auto kind = ParseKind(spec.kind); !kind.ok()) {
    errors.push_back(Invalid(FieldPath("kind"), spec.kind, base::Message(kind.status())));
  }
  CheckAnnotations(spec.annotations, FieldPath("annotations"), errors);
  if (spec.devices.empty()) {
    errors.push_back(Required(FieldPath("devices"), "a spec has at least one device"));
  }
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < spec.devices.size(); ++i) {
    const Device& device = spec.devices[i];
    const FieldPath at = FieldPath("devices").Index(i);
    if (device.name.empty()) {
      errors.push_back(Required(at / "name"));
    } else if (!IsDeviceName(device.name)) {
      errors.push_back(Invalid(at / "name", device.name,
                               "must begin and end with a letter or digit, and have letters, "
                               "digits, '_', '-', '.' and ':' between them"));
    } else if (!names.insert(device.name).second) {
      errors.push_back(api::Duplicate(at / "name", device.name));
    }
    CheckAnnotations(device.annotations, at / "annotations", errors);
    if (device.container_edits.empty()) {
      errors.push_back(
          Required(at / "containerEdits", "a device without edits gives a container nothing"));
    }
    api::Append(errors, ValidateEdits(device.container_edits, at / "containerEdits"));
  }
  api::Append(errors, ValidateEdits(spec.container_edits, FieldPath("containerEdits")));
  return errors;
}

}  // namespace dray::cdi
