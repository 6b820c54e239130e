// SPDX-License-Identifier: Apache-2.0
//
// Runtime: what runs pods and containers. Three of them: runc on this machine, a CRI server, and
// one that only says so. An agent cannot tell which.
//
// Nothing here waits: the function that is handed in is called once, from any thread and perhaps
// before the call returns, with what came of it. Every operation may be asked again after a failure
// or a restart; what is done already is done: a sandbox is known by its pod's UID and attempt, a
// container by its sandbox, name and attempt, and asking for it again gives the same id. Names are
// the labels: a runtime tells after a restart of the agent what it runs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "files/files.h"

namespace dray::container {

template <class T>
using Done = std::function<void(StatusOr<T>)>;
using DoneStatus = std::function<void(Status)>;

// Whose it is; kept as labels io.kubernetes.pod.* and io.kubernetes.container.name.
struct PodIdentity {
  std::string namespace_;
  std::string name;
  std::string uid;
  friend bool operator==(const PodIdentity&, const PodIdentity&) = default;
};

// Of SELinux; what is empty is the runtime's choice.
struct SelinuxLabel {
  std::string user;
  std::string role;
  std::string type;
  std::string level;
  friend bool operator==(const SelinuxLabel&, const SelinuxLabel&) = default;
};

// Of a container, or of all of a pod together: 0 means that there is no such limit.
struct Limits {
  std::int64_t cpu_shares = 0;
  std::int64_t cpu_quota = 0;  // of 100 ms
  std::int64_t memory_bytes = 0;
  std::int64_t pids = 0;
  bool none() const { return *this == Limits(); }
  friend bool operator==(const Limits&, const Limits&) = default;
};

struct SandboxConfig {
  PodIdentity pod;
  std::uint32_t attempt = 0;
  std::string hostname;       // empty with the host's network
  std::string log_directory;  // /var/log/pods/<ns>_<name>_<uid>
  std::string cgroup_parent;  // empty: the runtime's own choice
  bool host_network = false;
  bool host_pid = false;
  bool host_ipc = false;
  bool shared_pids = false;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  bool privileged = false;  // a container of it is: CRI servers want to know that beforehand
  std::map<std::string, std::string> sysctls;  // of the pod's namespaces
  std::optional<SelinuxLabel> selinux;
  Limits limits;  // of all of it
};

// Who sees what is mounted below a mount later: nobody else, the container what the host mounts, or
// each what the other mounts.
enum class Propagation : std::uint8_t { kPrivate, kHostToContainer, kBidirectional };

struct Mount {
  std::string container_path;
  std::string host_path;
  bool read_only = false;
  Propagation propagation = Propagation::kPrivate;
  friend bool operator==(const Mount&, const Mount&) = default;
};

// Which system calls a container may make: all, what its runtime thinks right, or what a file says.
enum class Seccomp : std::uint8_t { kUnconfined, kRuntimeDefault, kLocalhost };

// kNotSet: what the runtime does with containers of which nobody says anything.
enum class AppArmor : std::uint8_t { kNotSet, kUnconfined, kRuntimeDefault, kLocalhost };

struct SecurityConfig {
  std::optional<std::int64_t> user;
  std::optional<std::int64_t> group;
  std::vector<std::int64_t> groups;
  bool privileged = false;
  bool read_only_root = false;
  bool no_new_privileges = false;
  std::vector<std::string> add_capabilities;
  std::vector<std::string> drop_capabilities;
  Seccomp seccomp = Seccomp::kUnconfined;
  std::string seccomp_file;  // of kLocalhost: absolute
  bool non_root = false;     // whoever the image runs as, it must not be root
  AppArmor app_armor = AppArmor::kNotSet;
  std::string app_armor_profile;  // of kLocalhost: the name by which the kernel knows it
  std::optional<SelinuxLabel> selinux;
};

struct ContainerConfig {
  std::string name;
  std::uint32_t attempt = 0;         // the restart count
  std::string image;                 // as FindImage named it
  std::vector<std::string> command;  // empty: the image's
  std::vector<std::string> args;
  std::string working_dir;
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<Mount> mounts;
  std::vector<std::string> cdi_devices;  // qualified names, each once
  Limits limits;
  SecurityConfig security;
  std::string log_path;  // below the sandbox's log directory: <container>/<restarts>.log
  bool tty = false;
  bool stdin = false;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::string stop_signal;  // SIGUSR1; empty: the image's
  // The id of a container of the same sandbox that runs, and whose processes this one sees. Empty, or
  // containers of the pod see each other's anyway: none.
  std::string pid_target;
};

enum class ContainerState : std::uint8_t { kCreated, kRunning, kExited, kUnknown };

struct ContainerInfo {
  std::string id;
  std::string sandbox_id;
  PodIdentity pod;
  std::string name;
  std::uint32_t attempt = 0;
  ContainerState state = ContainerState::kUnknown;
  base::Time created_at;
  base::Time started_at;
  base::Time finished_at;
  std::int32_t exit_code = 0;
  std::string reason;   // Completed, Error, OOMKilled
  std::string message;  // for people
  std::string image;
  std::string image_id;
  std::string log_path;  // absolute
  std::map<std::string, std::string> annotations;
};

struct SandboxInfo {
  std::string id;
  PodIdentity pod;
  std::uint32_t attempt = 0;
  bool ready = false;
  base::Time created_at;
  std::vector<std::string> ips;
};

struct Inventory {
  std::vector<SandboxInfo> sandboxes;
  std::vector<ContainerInfo> containers;
};

struct RuntimeInfo {
  std::string name;     // runc, containerd
  std::string version;  // 1.1.5
  // Why pods cannot have a network of their own now; empty: they can.
  std::string network = {};
};

// What a runtime does for containers where the machine can.
struct Abilities {
  bool selinux = false;            // passes labels on
  bool app_armor_default = false;  // has an AppArmor profile of its own
};

struct ImageInfo {
  std::string id;   // to be used in ContainerConfig
  std::string ref;  // name@digest, or the id
};

struct ExecResult {
  std::int32_t exit_code = 0;
  std::string out;
  std::string err;
};

// What is kept of input that a process does not read.
inline constexpr std::size_t kMostInput = 1u << 20;

// A command that runs in a container while somebody listens; bytes come as they are.
class ExecSession {
 public:
  virtual ~ExecSession() = default;
  // Whoever has more to write than the process reads asks first, and waits for ExecEvents::room.
  virtual void Write(std::string bytes) = 0;
  // Whether kMostInput bytes or more are kept that the process has not read.
  virtual bool Full() const = 0;
  virtual void CloseInput() = 0;
  virtual void Resize(std::uint16_t columns, std::uint16_t rows) = 0;
};

struct ExecConfig {
  std::string container_id;
  std::vector<std::string> command;  // empty: attach to the container's own process
  bool tty = false;
  bool stdin = false;
};

struct ExecEvents {
  std::function<void(std::string)> out;
  std::function<void(std::string)> err;
  Done<std::int32_t> done;  // the exit code
  // The session was full and is not any more. May be left out.
  std::function<void()> room;
};

// A TCP connection to a port of a pod.
struct PortConnection {
  files::Fd socket;
  // Asked when the other side has closed the socket, from any thread: what was wrong, or nothing. May
  // be left out. A CRI server says nothing when somebody listens on a port, and only afterwards that
  // nobody does.
  std::function<std::string()> fault = nullptr;
};

// Thread-safe.
class Runtime {
 public:
  virtual ~Runtime() = default;
  // Not OK: it cannot run anything now, and why.
  virtual void Probe(Done<RuntimeInfo> done) = 0;
  // Everything of ours, running or not. `on_change` may be called at any time from any thread to
  // say that listing again is worth it; without such calls an agent looks every second.
  virtual void List(Done<Inventory> done) = 0;
  virtual void OnChange(std::function<void()> on_change) = 0;

  virtual void RunSandbox(const SandboxConfig& config, Done<SandboxInfo> done) = 0;
  // What still runs in it is killed. Nothing by that id: done.
  virtual void StopSandbox(const std::string& id, DoneStatus done) = 0;
  virtual void RemoveSandbox(const std::string& id, DoneStatus done) = 0;

  // NotFound: no image by that reference is here, and none can be had.
  virtual void FindImage(const std::string& reference, Done<ImageInfo> done) = 0;
  virtual void Create(const std::string& sandbox_id, const SandboxConfig& sandbox,
                      const ContainerConfig& config, Done<std::string> done) = 0;
  virtual void Start(const std::string& container_id, DoneStatus done) = 0;
  // TERM, and KILL after the grace period; done when nothing of it runs.
  virtual void Stop(const std::string& container_id, std::chrono::seconds grace,
                    DoneStatus done) = 0;
  virtual void Remove(const std::string& container_id, DoneStatus done) = 0;

  virtual void ExecSync(const std::string& container_id, std::vector<std::string> command,
                        std::chrono::seconds timeout, Done<ExecResult> done) = 0;
  // Null with an error told to `events.done`.
  virtual std::shared_ptr<ExecSession> Exec(const ExecConfig& config, ExecEvents events) = 0;

  virtual Abilities abilities() const { return {}; }

  // Whether Create refuses what SecurityConfig::non_root forbids.
  virtual bool ChecksUser() const { return false; }

  // To a port of the loopback interface that a sandbox has.
  virtual void Connect(const std::string& sandbox_id, std::uint16_t port,
                       std::chrono::nanoseconds timeout, Done<PortConnection> done) {
    (void)sandbox_id;
    (void)port;
    (void)timeout;
    done(base::FailedPrecondition("this container runtime cannot connect to ports of a pod"));
  }
};

}  // namespace dray::container
