// SPDX-License-Identifier: Apache-2.0
//
// CDI specs: files in which a vendor says what a container needs so that it can use a device.
//
// Spec: Container Device Interface 1.1.0; docs/spec/node.md, chapter 14. Structs with field
// tables, as the wire names them; what a struct may hold is checked by Validate. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/errors.h"
#include "api/field_table.h"
#include "base/status.h"
#include "cdi/oci_config.h"

namespace dray::cdi {

struct DeviceNode {
  std::string path;       // in the container
  std::string host_path;  // empty: the same
  std::string type;       // b, c, u, p; empty: as the host's
  std::int64_t major = 0;
  std::int64_t minor = 0;
  std::optional<std::int64_t> file_mode;
  std::string permissions;  // letters of rwm; empty: all of them; "none": none
  std::optional<std::int64_t> uid;
  std::optional<std::int64_t> gid;
  friend bool operator==(const DeviceNode&, const DeviceNode&) = default;
};
const api::StructInfo& InfoOf(const DeviceNode*);

struct NetDevice {
  std::string host_interface_name;
  std::string name;
  friend bool operator==(const NetDevice&, const NetDevice&) = default;
};
const api::StructInfo& InfoOf(const NetDevice*);

struct Mount {
  std::string host_path;
  std::string container_path;
  std::vector<std::string> options;
  std::string type;
  friend bool operator==(const Mount&, const Mount&) = default;
};
const api::StructInfo& InfoOf(const Mount*);

struct Hook {
  std::string
      hook_name;  // prestart, createRuntime, createContainer, startContainer, poststart, ...
  std::string path;
  std::vector<std::string> args;
  std::vector<std::string> env;
  std::optional<std::int64_t> timeout;  // seconds
  friend bool operator==(const Hook&, const Hook&) = default;
};
const api::StructInfo& InfoOf(const Hook*);

// The same in both.
using IntelRdt = oci::IntelRdt;

struct ContainerEdits {
  std::vector<std::string> env;  // NAME=value
  std::vector<DeviceNode> device_nodes;
  std::vector<NetDevice> net_devices;
  std::vector<Hook> hooks;
  std::vector<Mount> mounts;
  std::optional<IntelRdt> intel_rdt;
  std::vector<std::int64_t> additional_gids;

  bool empty() const;
  // `more` comes after what is here; of two intelRdt the later one stays.
  void Append(const ContainerEdits& more);
  friend bool operator==(const ContainerEdits&, const ContainerEdits&) = default;
};
const api::StructInfo& InfoOf(const ContainerEdits*);

struct Device {
  std::string name;
  api::Map<std::string> annotations;
  ContainerEdits container_edits;
  friend bool operator==(const Device&, const Device&) = default;
};
const api::StructInfo& InfoOf(const Device*);

struct Spec {
  std::string cdi_version;
  std::string kind;  // vendor/class
  api::Map<std::string> annotations;
  std::vector<Device> devices;
  ContainerEdits container_edits;  // for every container with one of the devices
  friend bool operator==(const Spec&, const Spec&) = default;
};
const api::StructInfo& InfoOf(const Spec*);

// Everything that makes a spec unusable; none: it is valid.
api::ErrorList Validate(const Spec& spec);
// The edits alone, for those who take them from elsewhere (a driver's settings).
api::ErrorList ValidateEdits(const ContainerEdits& edits, const base::FieldPath& path);

// The oldest version that has what the spec uses, so that old runtimes can read it: 0.3.0 to 1.1.0.
std::string_view LowestVersion(const Spec& spec);

// From the text of a file, YAML or JSON. A field that CDI does not have makes it invalid, as does
// whatever Validate finds; the status names all of it.
StatusOr<Spec> ReadSpec(std::string_view text);

// JSON, indented, with the lowest version, whatever `spec` says. Validate comes first: what is wrong
// is an error, and nobody gets to read it.
StatusOr<std::string> WriteSpec(const Spec& spec);

}  // namespace dray::cdi
