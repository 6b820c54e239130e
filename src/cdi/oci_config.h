// SPDX-License-Identifier: Apache-2.0
//
// The config.json of an OCI bundle: what runc runs. The part of the runtime specification (1.0.2, and
// netDevices of 1.3) that is written or changed here; fields that are not listed survive as they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/box.h"
#include "api/field_table.h"
#include "api/values.h"

namespace dray::cdi::oci {

struct User {
  std::int64_t uid = 0;
  std::int64_t gid = 0;
  std::optional<std::int64_t> umask;
  std::vector<std::int64_t> additional_gids;
  api::UnknownFields unknown;
  friend bool operator==(const User&, const User&) = default;
};
const api::StructInfo& InfoOf(const User*);

struct Capabilities {
  std::vector<std::string> bounding;
  std::vector<std::string> effective;
  std::vector<std::string> inheritable;
  std::vector<std::string> permitted;
  std::vector<std::string> ambient;
  friend bool operator==(const Capabilities&, const Capabilities&) = default;
};
const api::StructInfo& InfoOf(const Capabilities*);

struct Process {
  bool terminal = false;
  User user;
  std::vector<std::string> args;
  std::vector<std::string> env;
  std::string cwd = "/";
  std::optional<Capabilities> capabilities;
  bool no_new_privileges = false;
  std::optional<std::int64_t> oom_score_adj;
  std::string apparmor_profile;  // empty: none
  api::UnknownFields unknown;
  friend bool operator==(const Process&, const Process&) = default;
};
const api::StructInfo& InfoOf(const Process*);

struct Root {
  std::string path;
  bool readonly = false;
  friend bool operator==(const Root&, const Root&) = default;
};
const api::StructInfo& InfoOf(const Root*);

struct Mount {
  std::string destination;
  std::string type;
  std::string source;
  std::vector<std::string> options;
  api::UnknownFields unknown;
  friend bool operator==(const Mount&, const Mount&) = default;
};
const api::StructInfo& InfoOf(const Mount*);

struct Hook {
  std::string path;
  std::vector<std::string> args;
  std::vector<std::string> env;
  std::optional<std::int64_t> timeout;
  friend bool operator==(const Hook&, const Hook&) = default;
};
const api::StructInfo& InfoOf(const Hook*);

struct Hooks {
  std::vector<Hook> prestart;
  std::vector<Hook> create_runtime;
  std::vector<Hook> create_container;
  std::vector<Hook> start_container;
  std::vector<Hook> poststart;
  std::vector<Hook> poststop;
  friend bool operator==(const Hooks&, const Hooks&) = default;
};
const api::StructInfo& InfoOf(const Hooks*);

struct Namespace {
  std::string type;
  std::string path;  // empty: a new one
  friend bool operator==(const Namespace&, const Namespace&) = default;
};
const api::StructInfo& InfoOf(const Namespace*);

struct Device {
  std::string path;
  std::string type;
  std::int64_t major = 0;
  std::int64_t minor = 0;
  std::optional<std::int64_t> file_mode;
  std::optional<std::int64_t> uid;
  std::optional<std::int64_t> gid;
  friend bool operator==(const Device&, const Device&) = default;
};
const api::StructInfo& InfoOf(const Device*);

struct DeviceRule {
  bool allow = false;
  std::string type;
  std::optional<std::int64_t> major;
  std::optional<std::int64_t> minor;
  std::string access;
  friend bool operator==(const DeviceRule&, const DeviceRule&) = default;
};
const api::StructInfo& InfoOf(const DeviceRule*);

struct Memory {
  std::optional<std::int64_t> limit;
  api::UnknownFields unknown;
  friend bool operator==(const Memory&, const Memory&) = default;
};
const api::StructInfo& InfoOf(const Memory*);

struct Cpu {
  std::optional<std::int64_t> shares;
  std::optional<std::int64_t> quota;
  std::optional<std::int64_t> period;
  api::UnknownFields unknown;
  friend bool operator==(const Cpu&, const Cpu&) = default;
};
const api::StructInfo& InfoOf(const Cpu*);

struct Pids {
  std::int64_t limit = 0;
  friend bool operator==(const Pids&, const Pids&) = default;
};
const api::StructInfo& InfoOf(const Pids*);

struct Resources {
  std::vector<DeviceRule> devices;
  std::optional<Memory> memory;
  std::optional<Cpu> cpu;
  std::optional<Pids> pids;
  api::UnknownFields unknown;
  friend bool operator==(const Resources&, const Resources&) = default;
};
const api::StructInfo& InfoOf(const Resources*);

struct NetDevice {
  std::string name;
  friend bool operator==(const NetDevice&, const NetDevice&) = default;
};
const api::StructInfo& InfoOf(const NetDevice*);

struct IntelRdt {
  std::string clos_id;
  std::string l3_cache_schema;
  std::string mem_bw_schema;
  std::vector<std::string> schemata;
  bool enable_monitoring = false;
  friend bool operator==(const IntelRdt&, const IntelRdt&) = default;
};
const api::StructInfo& InfoOf(const IntelRdt*);

struct Linux {
  api::Map<std::string> sysctl;
  std::optional<Resources> resources;
  std::string cgroups_path;
  std::vector<Namespace> namespaces;
  std::vector<Device> devices;
  api::Map<NetDevice> net_devices;
  std::vector<std::string> masked_paths;
  std::vector<std::string> readonly_paths;
  std::optional<IntelRdt> intel_rdt;
  std::string rootfs_propagation;
  api::Box<api::RawJson> seccomp;  // as it is
  api::UnknownFields unknown;
  friend bool operator==(const Linux&, const Linux&) = default;
};
const api::StructInfo& InfoOf(const Linux*);

struct Config {
  std::string oci_version = "1.0.2";
  Process process;
  Root root;
  std::string hostname;
  std::vector<Mount> mounts;
  std::optional<Hooks> hooks;
  api::Map<std::string> annotations;
  Linux linux_;
  api::UnknownFields unknown;
  friend bool operator==(const Config&, const Config&) = default;
};
const api::StructInfo& InfoOf(const Config*);

}  // namespace dray::cdi::oci
