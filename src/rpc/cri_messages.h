// SPDX-License-Identifier: Apache-2.0
//
// What an agent and a container runtime say to each other (CRI, package runtime.v1), as plain values:
// the part that an agent needs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dray::rpc {

using CriMap = std::map<std::string, std::string>;

struct CriVersion {
  std::string runtime_name;         // containerd
  std::string runtime_version;      // v2.1.9
  std::string runtime_api_version;  // v1
  friend bool operator==(const CriVersion&, const CriVersion&) = default;
};

struct CriCondition {
  std::string type;  // RuntimeReady, NetworkReady
  bool status = false;
  std::string reason;
  std::string message;
  friend bool operator==(const CriCondition&, const CriCondition&) = default;
};

struct CriStatus {
  std::vector<CriCondition> conditions;
  CriMap info;  // containerd: its configuration as JSON in "config"
  friend bool operator==(const CriStatus&, const CriStatus&) = default;
};

enum class CgroupDriver : std::uint8_t { kSystemd, kCgroupfs };

enum class NamespaceMode : std::uint8_t { kPod, kContainer, kNode, kTarget };

// As Kubernetes has it where a pod does not say otherwise.
struct CriNamespaces {
  NamespaceMode network = NamespaceMode::kPod;
  NamespaceMode pid = NamespaceMode::kContainer;
  NamespaceMode ipc = NamespaceMode::kPod;
  std::string target_id;  // of kTarget, which is for pid alone: a container
  friend bool operator==(const CriNamespaces&, const CriNamespaces&) = default;
};

struct CriPodMetadata {
  std::string name;
  std::string uid;
  std::string namespace_;
  std::uint32_t attempt = 0;
  friend bool operator==(const CriPodMetadata&, const CriPodMetadata&) = default;
};

// 0: no such limit.
struct CriResources {
  std::int64_t cpu_period = 0;
  std::int64_t cpu_quota = 0;
  std::int64_t cpu_shares = 0;
  std::int64_t memory_limit_in_bytes = 0;
  std::int64_t oom_score_adj = 0;
  std::string cpuset_cpus;
  std::string cpuset_mems;
  CriMap unified;  // cgroup v2 file -> content
  friend bool operator==(const CriResources&, const CriResources&) = default;
};

// Of seccomp or AppArmor.
struct CriProfile {
  enum class Type : std::uint8_t { kRuntimeDefault, kUnconfined, kLocalhost };
  Type type = Type::kUnconfined;
  std::string localhost_ref;
  friend bool operator==(const CriProfile&, const CriProfile&) = default;
};

struct CriSelinux {
  std::string user;
  std::string role;
  std::string type;
  std::string level;
  friend bool operator==(const CriSelinux&, const CriSelinux&) = default;
};

// Of a sandbox and of a container; a sandbox has no capabilities.
struct CriSecurity {
  bool privileged = false;
  CriNamespaces namespaces;
  std::optional<std::int64_t> run_as_user;
  std::optional<std::int64_t> run_as_group;
  bool readonly_rootfs = false;
  std::vector<std::int64_t> supplemental_groups;
  bool no_new_privs = false;
  std::vector<std::string> add_capabilities;
  std::vector<std::string> drop_capabilities;
  std::vector<std::string> masked_paths;
  std::vector<std::string> readonly_paths;
  std::optional<CriProfile> seccomp;  // none: the runtime's own idea
  std::optional<CriProfile> apparmor;
  std::optional<CriSelinux> selinux;
  friend bool operator==(const CriSecurity&, const CriSecurity&) = default;
};

struct CriSandboxConfig {
  CriPodMetadata metadata;
  std::string hostname;  // empty with the host's network, or runtimes refuse
  std::string log_directory;
  std::vector<std::string> dns_servers;
  std::vector<std::string> dns_searches;
  std::vector<std::string> dns_options;
  CriMap labels;
  CriMap annotations;
  std::string cgroup_parent;
  CriMap sysctls;
  CriSecurity security;
};

enum class CriSandboxState : std::uint8_t { kReady, kNotReady };

// As ListPodSandbox tells; addresses only PodSandboxStatus does.
struct CriSandbox {
  std::string id;
  CriPodMetadata metadata;
  CriSandboxState state = CriSandboxState::kNotReady;
  std::int64_t created_at = 0;  // ns since 1970
  CriMap labels;
  CriMap annotations;
  std::vector<std::string> ips;
  friend bool operator==(const CriSandbox&, const CriSandbox&) = default;
};

struct CriMount {
  enum class Propagation : std::uint8_t { kPrivate, kHostToContainer, kBidirectional };
  std::string container_path;
  std::string host_path;
  bool readonly = false;
  Propagation propagation = Propagation::kPrivate;
  friend bool operator==(const CriMount&, const CriMount&) = default;
};

struct CriDevice {
  std::string container_path;
  std::string host_path;
  std::string permissions;  // of rwm
  friend bool operator==(const CriDevice&, const CriDevice&) = default;
};

struct CriContainerConfig {
  std::string name;
  std::uint32_t attempt = 0;  // the restart count
  std::string image;          // the id or reference that ImageStatus or PullImage gave
  std::string user_specified_image;
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::string working_dir;
  std::vector<std::pair<std::string, std::string>> envs;
  std::vector<CriMount> mounts;
  std::vector<CriDevice> devices;
  std::vector<std::string>
      cdi_devices;  // names; runtimes before containerd 1.7 say nothing and do nothing
  CriMap labels;
  CriMap annotations;
  std::string log_path;  // below the sandbox's log directory
  bool stdin = false;
  bool stdin_once = false;
  bool tty = false;
  CriResources resources;
  CriSecurity security;
};

enum class CriContainerState : std::uint8_t { kCreated, kRunning, kExited, kUnknown };

// As ListContainers tells; what begins with started_at only ContainerStatus does.
struct CriContainer {
  std::string id;
  std::string sandbox_id;  // only ListContainers
  std::string name;
  std::uint32_t attempt = 0;
  CriContainerState state = CriContainerState::kUnknown;
  std::int64_t created_at = 0;  // ns since 1970
  std::string image;
  std::string image_ref;
  std::string image_id;
  CriMap labels;
  CriMap annotations;
  std::int64_t started_at = 0;
  std::int64_t finished_at = 0;
  std::int32_t exit_code = 0;
  std::string reason;
  std::string message;
  std::string log_path;
  CriMap info;  // of a verbose status; containerd: JSON in "info"
  friend bool operator==(const CriContainer&, const CriContainer&) = default;
};

struct CriExecResult {
  std::string out;
  std::string err;
  std::int32_t exit_code = 0;
};

struct CriImage {
  std::string id;
  std::vector<std::string> repo_tags;
  std::vector<std::string> repo_digests;
  std::uint64_t size = 0;
  std::optional<std::int64_t> uid;
  std::string username;
  friend bool operator==(const CriImage&, const CriImage&) = default;
};

struct CriAuth {
  std::string username;
  std::string password;
  std::string auth;
  std::string server_address;
  std::string identity_token;
  std::string registry_token;
};

struct CriEvent {
  enum class Type : std::uint8_t { kCreated, kStarted, kStopped, kDeleted };
  std::string container_id;
  Type type = Type::kCreated;
  std::int64_t created_at = 0;
};

}  // namespace dray::rpc
