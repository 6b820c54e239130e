// SPDX-License-Identifier: Apache-2.0
//
// The folders, runc and shims, sandboxes, and the list of everything. Containers: runc_containers.cc.
#include "container/internal/runc_home.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <utility>

#include "container/internal/cgroups.h"
#include "container/internal/shim_run.h"
#include "container/internal/waiting.h"
#include "container/log_format.h"
#include "fmt/format.h"
#include "image/digest.h"

namespace dray::container::internal {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRuncTime{30'000};
constexpr milliseconds kShimTime{60'000};

std::string HashOf(const std::string& text) {
  return std::string(image::HexOf(image::DigestOf(text)));
}

}  // namespace

std::string RuncHome::ContainerFolder(std::string_view id) const {
  return fmt::format("{}/containers/{}", options_.root, id);
}
std::string RuncHome::SandboxFolder(std::string_view id) const {
  return fmt::format("{}/sandboxes/{}", options_.root, id);
}
std::string RuncHome::ExitFile(std::string_view id) const {
  return fmt::format("{}/exits/{}.json", options_.root, id);
}
std::string RuncHome::RuncFolder(std::string_view id) const {
  return fmt::format("{}/runc/{}", options_.root, id);
}

std::string RuncHome::SandboxId(const PodIdentity& pod, std::uint32_t attempt) {
  return HashOf(fmt::format("sandbox\n{}\n{}", pod.uid, attempt)).substr(0, 32);
}

std::string RuncHome::ContainerId(std::string_view sandbox_id, std::string_view name,
                                  std::uint32_t attempt) {
  return HashOf(fmt::format("container\n{}\n{}\n{}", sandbox_id, name, attempt)).substr(0, 32);
}

std::vector<std::string> RuncHome::Runc(std::vector<std::string> args) const {
  std::vector<std::string> argv = {options_.runc, "--root", options_.root + "/runc"};
  argv.insert(argv.end(), std::make_move_iterator(args.begin()),
              std::make_move_iterator(args.end()));
  return argv;
}

std::string RuncHome::LockOf(std::string_view id) const {
  return fmt::format("{}/locks/{}", options_.root, id);
}

Status RuncHome::RunRunc(const std::string& id, std::vector<std::string> args) const {
  StatusOr<files::Fd> lock = base::Internal("not taken");
  if (!WaitUntil(kRuncTime, [&] {
        lock = TakeLock(LockOf(id));
        return lock.ok();
      })) {
    return lock.status();
  }
  const std::string what = args.front();
  DRAY_ASSIGN_OR_RETURN(const CommandResult result,
                        RunCommand(Runc(std::move(args)), kRuncTime, {{kLockFd, lock->get()}}));
  if (result.code == 0) return {};
  std::string why = result.err;
  while (!why.empty() && (why.back() == '\n' || why.back() == ' ')) why.pop_back();
  if (why.empty()) why = fmt::format("it ended with {}", result.code);
  return base::FailedPrecondition(fmt::format("runc {}: {}", what, why));
}

Status RuncHome::Open() {
  DRAY_RETURN_IF_ERROR(files::MakeFolder(options_.root, 0700));
  for (const char* below : {"sandboxes", "containers", "exits", "runc", "locks"}) {
    DRAY_RETURN_IF_ERROR(files::MakeFolder(fmt::format("{}/{}", options_.root, below), 0700));
  }
  return Sweep();
}

// What has no created.json or pid.json is of an agent that was killed while it made it, or removed it.
// One that does not go stays a leftover, which nobody is told of: no reason not to begin.
Status RuncHome::Sweep() {
  DRAY_ASSIGN_OR_RETURN(const auto containers, files::NamesIn(options_.root + "/containers"));
  for (const std::string& id : containers) {
    if (ReadRecord<PidRecord>(ContainerFolder(id) + "/created.json").ok() &&
        ReadRecord<ContainerRecord>(ContainerFolder(id) + "/container.json").ok()) {
      continue;
    }
    (void)CleanUp(id);
  }
  DRAY_ASSIGN_OR_RETURN(const auto exits, files::NamesIn(ExitsFolder()));
  for (const std::string& file : exits) {
    const std::string id = file.substr(0, file.find('.'));
    if (Exists(ContainerFolder(id))) continue;
    (void)files::RemoveFile(fmt::format("{}/{}", ExitsFolder(), file));
  }
  DRAY_ASSIGN_OR_RETURN(const auto locks, files::NamesIn(options_.root + "/locks"));
  for (const std::string& id : locks) {
    if (!Exists(ContainerFolder(id)) && !IsLocked(LockOf(id))) (void)files::RemoveFile(LockOf(id));
  }
  DRAY_ASSIGN_OR_RETURN(const auto sandboxes, files::NamesIn(options_.root + "/sandboxes"));
  for (const std::string& id : sandboxes) {
    if (ReadRecord<PidRecord>(SandboxFolder(id) + "/pid.json").ok() &&
        ReadRecord<SandboxRecord>(SandboxFolder(id) + "/sandbox.json").ok()) {
      continue;
    }
    (void)RemoveSandbox(id);
  }
  return {};
}

StatusOr<RuntimeInfo> RuncHome::Probe() const {
  DRAY_ASSIGN_OR_RETURN(const CommandResult result,
                        RunCommand({options_.runc, "--version"}, kRuncTime));
  if (result.code != 0) {
    return base::Unavailable(fmt::format("{} --version ended with {}", options_.runc, result.code));
  }
  // "runc version 1.1.5+ds1"
  std::string_view line = std::string_view(result.out).substr(0, result.out.find('\n'));
  const std::size_t space = line.rfind(' ');
  return RuntimeInfo{.name = "runc",
                     .version = std::string(space == line.npos ? line : line.substr(space + 1))};
}

Status RuncHome::StartShim(const std::string& kind, const std::string& folder,
                           const std::string& lock_file) {
  // Held from before it is started until it has ended, whoever of us is killed meanwhile: where it is
  // free nobody is at work.
  DRAY_ASSIGN_OR_RETURN(files::Fd lock, TakeLock(fmt::format("{}/{}", folder, lock_file)));
  DRAY_ASSIGN_OR_RETURN(Pipe ready, MakePipe());
  std::vector<std::string> argv = options_.shim;
  argv.push_back(kind);
  DRAY_ASSIGN_OR_RETURN(const pid_t child,
                        Spawn({.argv = argv,
                               .fds = {{kReadyFd, ready.write.get()}, {kLockFd, lock.get()}},
                               .terminal = {},
                               .folder = folder}));
  ready.write.Reset();
  lock.Reset();
  (void)WaitFor(child);  // it goes on by itself
  std::string said;
  const auto deadline = std::chrono::steady_clock::now() + kShimTime;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd polled{ready.read.get(), POLLIN, 0};
    if (left.count() <= 0) {
      return base::MakeStatus(StatusCode::kDeadlineExceeded, "the shim says nothing");
    }
    if (::poll(&polled, 1, static_cast<int>(left.count())) <= 0) continue;
    char buffer[4096];
    const ssize_t n = ::read(ready.read.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    said.append(buffer, static_cast<std::size_t>(n));
  }
  if (said == "ok") return {};
  return base::FailedPrecondition(said.empty() ? "the shim ended without a word" : said);
}

bool RuncHome::SandboxLives(const std::string& id) const {
  return Exists(SandboxFolder(id) + "/pid.json") && IsLocked(SandboxFolder(id) + "/pause.lock");
}

SandboxInfo RuncHome::InfoOf(const SandboxRecord& record) const {
  return {
      .id = record.id,
      .pod = {.namespace_ = record.pod_namespace, .name = record.pod_name, .uid = record.pod_uid},
      .attempt = static_cast<std::uint32_t>(record.attempt),
      .ready = !record.stopped && SandboxLives(record.id),
      .created_at = TimeOf(record.created_at),
      .ips = {}};
}

StatusOr<SandboxInfo> RuncHome::RunSandbox(const SandboxConfig& config) {
  const std::string id = SandboxId(config.pod, config.attempt);
  const std::string folder = SandboxFolder(id);
  const auto before = ReadRecord<SandboxRecord>(folder + "/sandbox.json");
  if (before.ok() && SandboxLives(id) && !before->stopped) return InfoOf(*before);
  if (Exists(folder)) DRAY_RETURN_IF_ERROR(RemoveSandbox(id));
  const std::string parent =
      config.cgroup_parent.empty() ? options_.cgroup_parent : config.cgroup_parent;
  const SandboxRecord record{.id = id,
                             .pod_namespace = config.pod.namespace_,
                             .pod_name = config.pod.name,
                             .pod_uid = config.pod.uid,
                             .attempt = config.attempt,
                             .created_at = LogTime(clock_.Now()),
                             .cgroup = fmt::format("{}/pod{}", parent, config.pod.uid),
                             .stopped = false};
  const PauseSpec pause{.hostname = config.host_network ? "" : config.hostname,
                        .network = !config.host_network,
                        .ipc = !config.host_ipc,
                        .uts = !config.host_network,
                        .pids = config.shared_pids && !config.host_pid};
  DRAY_RETURN_IF_ERROR(files::MakeFolder(folder, 0700));
  DRAY_RETURN_IF_ERROR(WriteRecord(folder + "/sandbox.json", record));
  DRAY_RETURN_IF_ERROR(WriteRecord(folder + "/pause.json", pause));
  // The groups of its containers are in it.
  if (!config.limits.none()) {
    if (const Status limited = LimitCgroup(record.cgroup, config.limits); !limited.ok()) {
      (void)RemoveSandbox(id);
      return base::Annotate(limited, "sandbox");
    }
  }
  if (const Status started = StartShim("pause", folder, "pause.lock"); !started.ok()) {
    (void)RemoveSandbox(id);
    return base::Annotate(started, "sandbox");
  }
  return InfoOf(record);
}

StatusOr<files::Fd> RuncHome::NetworkOf(const std::string& id) const {
  const auto pid = ReadRecord<PidRecord>(SandboxFolder(id) + "/pid.json");
  files::Fd network;
  if (pid.ok()) {
    network =
        files::Fd(::open(fmt::format("/proc/{}/ns/net", pid->pid).c_str(), O_RDONLY | O_CLOEXEC));
  }
  // It lived after it was opened, so that it was its own.
  if (!network.valid() || !SandboxLives(id)) {
    return base::FailedPrecondition(fmt::format("sandbox {} is not ready", id));
  }
  return network;
}

Status RuncHome::EndPause(const std::string& id) {
  const std::string folder = SandboxFolder(id);
  const std::string lock = folder + "/pause.lock";
  if (!IsLocked(lock)) return {};
  // One that is being made says its pid soon, or ends.
  (void)WaitUntil(kDeathTime, [&] { return Exists(folder + "/pid.json") || !IsLocked(lock); });
  const auto pid = ReadRecord<PidRecord>(folder + "/pid.json");
  // The lock is its own: nobody else can have the pid by now.
  if (pid.ok() && pid->pid > 1 && IsLocked(lock)) ::kill(static_cast<pid_t>(pid->pid), SIGKILL);
  if (!WaitUntil(kDeathTime, [&] { return !IsLocked(lock); })) {
    return base::Unavailable(fmt::format("the process of sandbox {} does not end", id));
  }
  return {};
}

Status RuncHome::EndSandbox(const std::string& id) {
  auto record = ReadRecord<SandboxRecord>(SandboxFolder(id) + "/sandbox.json");
  if (!record.ok())
    return record.status().code() == StatusCode::kNotFound ? Status() : record.status();
  if (!record->stopped) {
    record->stopped = true;
    DRAY_RETURN_IF_ERROR(WriteRecord(SandboxFolder(id) + "/sandbox.json", *record));
  }
  return EndPause(id);
}

Status RuncHome::RemoveSandbox(const std::string& id) {
  const std::string folder = SandboxFolder(id);
  if (!Exists(folder)) return {};
  const auto record = ReadRecord<SandboxRecord>(folder + "/sandbox.json");
  // From now on it is a leftover, and goes, whatever becomes of us.
  DRAY_RETURN_IF_ERROR(EndPause(id));
  DRAY_RETURN_IF_ERROR(files::RemoveFile(folder + "/pid.json"));
  // Another attempt of the same pod may live in the group: what is in use stays.
  if (record.ok() && !record->cgroup.empty()) (void)RemoveCgroup(record->cgroup);
  return files::RemoveTree(folder);
}

StatusOr<Inventory> RuncHome::List() {
  Inventory inventory;
  DRAY_ASSIGN_OR_RETURN(const auto sandboxes, files::NamesIn(options_.root + "/sandboxes"));
  for (const std::string& id : sandboxes) {
    const auto record = ReadRecord<SandboxRecord>(SandboxFolder(id) + "/sandbox.json");
    // Being made, or being removed.
    if (!record.ok() || !Exists(SandboxFolder(id) + "/pid.json")) continue;
    inventory.sandboxes.push_back(InfoOf(*record));
  }
  DRAY_ASSIGN_OR_RETURN(const auto containers, files::NamesIn(options_.root + "/containers"));
  for (const std::string& id : containers) {
    if (!Exists(ContainerFolder(id) + "/created.json")) continue;
    auto info = InfoOf(id);
    if (info.ok() && Exists(ContainerFolder(id) + "/created.json")) {
      inventory.containers.push_back(*std::move(info));
    }
  }
  return inventory;
}

}  // namespace dray::container::internal
