// SPDX-License-Identifier: Apache-2.0
//
// RuncHome's containers: how one is made, started, asked to end and removed, and what is known of it.
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <utility>

#include "api/json.h"
#include "cdi/apply.h"
#include "cdi/folder.h"
#include "container/container_config.h"
#include "container/internal/cgroups.h"
#include "container/internal/runc_home.h"
#include "container/internal/seccomp.h"
#include "container/internal/shim_client.h"
#include "container/internal/waiting.h"
#include "container/log_format.h"
#include "fmt/format.h"

namespace dray::container::internal {
namespace {

using std::chrono::milliseconds;

// Of a container whose shim died with it, or whose machine stopped: nobody saw its code.
constexpr std::int64_t kUnseenCode = 137;

int SignalOf(std::string_view name) {
  static const std::map<std::string_view, int> names = {
      {"HUP", SIGHUP},       {"INT", SIGINT},      {"QUIT", SIGQUIT}, {"KILL", SIGKILL},
      {"USR1", SIGUSR1},     {"USR2", SIGUSR2},    {"TERM", SIGTERM}, {"STOP", SIGSTOP},
      {"PWR", SIGPWR},       {"WINCH", SIGWINCH},  {"ABRT", SIGABRT}, {"ALRM", SIGALRM},
      {"BUS", SIGBUS},       {"CHLD", SIGCHLD},    {"CLD", SIGCHLD},  {"CONT", SIGCONT},
      {"FPE", SIGFPE},       {"ILL", SIGILL},      {"IO", SIGIO},     {"IOT", SIGABRT},
      {"PIPE", SIGPIPE},     {"POLL", SIGPOLL},    {"PROF", SIGPROF}, {"SEGV", SIGSEGV},
      {"SYS", SIGSYS},       {"TRAP", SIGTRAP},    {"TSTP", SIGTSTP}, {"TTIN", SIGTTIN},
      {"TTOU", SIGTTOU},     {"URG", SIGURG},      {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ},
      {"STKFLT", SIGSTKFLT}, {"VTALRM", SIGVTALRM}};
  if (name.starts_with("SIG")) name.remove_prefix(3);
  // RTMIN, RTMIN+3, RTMAX-1.
  for (const auto& [begin, first] : {std::pair<std::string_view, int>{"RTMIN", SIGRTMIN},
                                     std::pair<std::string_view, int>{"RTMAX", SIGRTMAX}}) {
    if (!name.starts_with(begin)) continue;
    int offset = 0;
    const std::string_view rest = name.substr(begin.size());
    if (rest.size() > 1) std::from_chars(rest.data() + 1, rest.data() + rest.size(), offset);
    return rest.starts_with('-') ? first - offset : first + offset;
  }
  if (const auto found = names.find(name); found != names.end()) return found->second;
  int number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number > 0 && number < 65 ? number : SIGTERM;
}

std::vector<std::string> OwnCapabilities() {
  const auto text = files::ReadWhole("/proc/self/status");
  if (!text.ok()) return {};
  const std::size_t at = text->find("CapBnd:\t");
  if (at == std::string::npos) return {};
  std::uint64_t mask = 0;
  std::from_chars(text->data() + at + 8, text->data() + text->size(), mask, 16);
  return CapabilitiesIn(mask);
}

}  // namespace

StatusOr<std::vector<std::string>> RuncHome::ContainersOf(const std::string& sandbox_id) const {
  std::vector<std::string> found;
  DRAY_ASSIGN_OR_RETURN(const auto ids, files::NamesIn(options_.root + "/containers"));
  for (const std::string& id : ids) {
    const auto record = ReadRecord<ContainerRecord>(ContainerFolder(id) + "/container.json");
    if (record.ok() && record->sandbox_id == sandbox_id) found.push_back(id);
  }
  return found;
}

Status RuncHome::MountRoot(const std::string& folder, const std::string& image) const {
  for (const char* below : {"rootfs", "upper", "work"}) {
    DRAY_RETURN_IF_ERROR(files::MakeFolder(fmt::format("{}/{}", folder, below), 0755));
  }
  const std::string options =
      fmt::format("lowerdir={0},upperdir={1}/upper,workdir={1}/work", image, folder);
  const std::string rootfs = folder + "/rootfs";
  if (::mount("overlay", rootfs.c_str(), "overlay", 0, options.c_str()) != 0) {
    return base::FailedPrecondition(fmt::format(
        "cannot lay the container over its image with overlayfs: {}", std::strerror(errno)));
  }
  return {};
}

StatusOr<std::string> RuncHome::Create(const std::string& sandbox_id, const SandboxConfig& sandbox,
                                       const ContainerConfig& config) {
  const std::string id = ContainerId(sandbox_id, config.name, config.attempt);
  const std::string folder = ContainerFolder(id);
  if (Exists(folder)) {
    if (Exists(folder + "/created.json")) return id;
    DRAY_RETURN_IF_ERROR(CleanUp(id));
  }
  const auto home = ReadRecord<SandboxRecord>(SandboxFolder(sandbox_id) + "/sandbox.json");
  const auto pause = ReadRecord<PidRecord>(SandboxFolder(sandbox_id) + "/pid.json");
  if (!home.ok() || !pause.ok() || home->stopped || !SandboxLives(sandbox_id)) {
    return base::FailedPrecondition(fmt::format("sandbox {} is not ready", sandbox_id));
  }
  DRAY_ASSIGN_OR_RETURN(const image::StoredImage image, store_.Find(config.image));
  ContainerPlace place{.pause_pid = pause->pid,
                       .rootfs = "rootfs",
                       .cgroups_path = fmt::format("{}/{}", home->cgroup, id),
                       .capabilities = OwnCapabilities()};
  if (!config.pid_target.empty()) {
    const auto target = ReadRecord<PidRecord>(ContainerFolder(config.pid_target) + "/created.json");
    if (!target.ok() || !Lives(config.pid_target)) {
      return base::FailedPrecondition(
          fmt::format("target container {} is not running", config.pid_target));
    }
    place.target_pid = target->pid;
  }
  if (const auto passwd = files::ReadWholeBelow(image.rootfs, "etc/passwd"); passwd.ok()) {
    place.passwd = *passwd;
  }
  if (const auto group = files::ReadWholeBelow(image.rootfs, "etc/group"); group.ok()) {
    place.group = *group;
  }
  if (config.security.seccomp == Seccomp::kLocalhost && !config.security.privileged) {
    const auto profile = files::ReadWhole(config.security.seccomp_file, 1u << 20);
    if (!profile.ok()) return base::Annotate(profile.status(), "seccomp profile");
    DRAY_RETURN_IF_ERROR(base::Annotate(
        CheckSeccomp(*profile), fmt::format("seccomp profile {}", config.security.seccomp_file)));
    place.seccomp = *profile;
  }
  ContainerConfig wanted = config;
  // A limit that the machine cannot keep would be an error of runc's.
  if (!HasController("memory")) wanted.limits.memory_bytes = 0;
  if (!HasController("cpu")) wanted.limits.cpu_shares = wanted.limits.cpu_quota = 0;
  if (!HasController("pids")) wanted.limits.pids = 0;
  DRAY_ASSIGN_OR_RETURN(cdi::oci::Config made, BuildConfig(sandbox, wanted, image.config, place));
  if (!config.cdi_devices.empty()) {
    DRAY_ASSIGN_OR_RETURN(const cdi::ContainerEdits edits,
                          cdi::Load(options_.cdi_folders).Resolve(config.cdi_devices));
    if (const Status applied = cdi::Apply(edits, &cdi::DeviceOfHost, made); !applied.ok()) {
      return base::Annotate(applied, "CDI device injection failed");
    }
  }
  ContainerRecord record{
      .id = id,
      .sandbox_id = sandbox_id,
      .pod_namespace = sandbox.pod.namespace_,
      .pod_name = sandbox.pod.name,
      .pod_uid = sandbox.pod.uid,
      .name = config.name,
      .attempt = config.attempt,
      .created_at = LogTime(clock_.Now()),
      .image = image.name,
      .image_id = image.Ref(),
      .log_path = fmt::format("{}/{}", sandbox.log_directory, config.log_path),
      .stop_signal = config.stop_signal.empty() ? image.config.stop_signal : config.stop_signal,
      .own_pids = !sandbox.host_pid && !sandbox.shared_pids && config.pid_target.empty(),
      .hooks = made.hooks.has_value(),
      .annotations = {}};
  for (const auto& [key, value] : config.annotations) record.annotations[key] = value;
  const ShimSpec shim{.runc = options_.runc,
                      .runc_root = options_.root + "/runc",
                      .id = id,
                      .log_path = record.log_path,
                      .log_max_bytes = options_.log_max_bytes,
                      .log_max_files = options_.log_max_files,
                      .exit_path = ExitFile(id),
                      .tty = config.tty,
                      .stdin_open = config.stdin};
  const auto make = [&]() -> Status {
    DRAY_RETURN_IF_ERROR(files::MakeFolder(folder, 0700));
    DRAY_RETURN_IF_ERROR(WriteRecord(folder + "/container.json", record));
    DRAY_RETURN_IF_ERROR(files::RemoveFile(ExitFile(id)));
    DRAY_RETURN_IF_ERROR(MountRoot(folder, image.rootfs));
    DRAY_RETURN_IF_ERROR(WriteRecord(folder + "/config.json", made));
    DRAY_RETURN_IF_ERROR(WriteRecord(folder + "/shim.json", shim));
    return StartShim("run", folder, "shim.lock");
  };
  if (const Status status = make(); !status.ok()) {
    (void)CleanUp(id);
    return status;
  }
  return id;
}

bool RuncHome::WasStarted(const std::string& id) const {
  return !Exists(RuncFolder(id) + "/exec.fifo");
}

Status RuncHome::Start(const std::string& id) {
  const std::string folder = ContainerFolder(id);
  if (!Exists(folder + "/created.json")) {
    return base::NotFound(fmt::format("there is no container {}", id));
  }
  if (!Lives(id)) return base::FailedPrecondition(fmt::format("container {} has ended", id));
  if (WasStarted(id)) return {};
  if (!ReadRecord<ContainerRecord>(folder + "/container.json").value_or(ContainerRecord()).hooks) {
    const Status begun = StartByShim(folder);
    if (begun.code() != StatusCode::kUnimplemented) return begun;
  }
  // The time before: it may have ended when runc returns.
  const StartedRecord started{.started_at = LogTime(clock_.Now())};
  const Status ran = RunRunc(id, {"start", id});
  // An agent that was killed right behind it has not written it down.
  const bool runs_already = base::Message(ran).find("already running") != std::string_view::npos;
  if (!ran.ok() && !runs_already) return ran;
  return WriteRecord(folder + "/started.json", started);
}

// How it ended; nothing: it has not. What nobody saw is written down once, so that it stays as it is.
std::optional<ExitRecord> RuncHome::ExitOf(const std::string& id) {
  if (auto seen = ReadRecord<ExitRecord>(ExitFile(id)); seen.ok()) return *std::move(seen);
  if (IsLocked(ContainerFolder(id) + "/shim.lock")) return std::nullopt;
  // The shim may have written it between the two looks.
  if (auto seen = ReadRecord<ExitRecord>(ExitFile(id)); seen.ok()) return *std::move(seen);
  ExitRecord unseen{.code = kUnseenCode,
                    .finished_at = LogTime(clock_.Now()),
                    .oom_killed = false,
                    .message = "nobody saw how it ended: its shim or the machine stopped"};
  // Without its shim it has no log and no end: it is ended.
  (void)RunRunc(id, {"delete", "--force", id});
  (void)WriteRecord(ExitFile(id), unseen, files::Sync::kYes);
  // It was removed meanwhile: what comes after it must not find this.
  if (!Exists(ContainerFolder(id) + "/created.json")) {
    (void)files::RemoveFile(ExitFile(id));
    (void)files::RemoveFile(LockOf(id));
  }
  return unseen;
}

bool RuncHome::Lives(const std::string& id) {
  return Exists(ContainerFolder(id) + "/created.json") && !ExitOf(id).has_value();
}

Status RuncHome::AskToEnd(const std::string& id) {
  const auto record = ReadRecord<ContainerRecord>(ContainerFolder(id) + "/container.json");
  const auto pid = ReadRecord<PidRecord>(ContainerFolder(id) + "/created.json");
  if (!record.ok() || !pid.ok() || !Lives(id)) return {};
  // Its shim has not waited for it, so that the pid is its own.
  if (pid->pid > 1) {
    ::kill(static_cast<pid_t>(pid->pid),
           record->stop_signal.empty() ? SIGTERM : SignalOf(record->stop_signal));
  }
  return {};
}

Status RuncHome::Kill(const std::string& id) {
  const auto record = ReadRecord<ContainerRecord>(ContainerFolder(id) + "/container.json");
  const auto pid = ReadRecord<PidRecord>(ContainerFolder(id) + "/created.json");
  if (!record.ok() || !pid.ok() || !Lives(id)) return {};
  // Others that it started live on where they are not in a namespace of its own.
  if (!record->own_pids) (void)RunRunc(id, {"kill", "--all", id, "KILL"});
  if (pid->pid > 1 && Lives(id)) ::kill(static_cast<pid_t>(pid->pid), SIGKILL);
  return {};
}

// In an order that leaves a leftover at each moment, never a container that looks alive.
Status RuncHome::CleanUp(const std::string& id) {
  const std::string folder = ContainerFolder(id);
  DRAY_RETURN_IF_ERROR(files::RemoveFile(folder + "/created.json"));
  const std::string lock = folder + "/shim.lock";
  if (IsLocked(lock)) {
    // With all that it has started: runc, while it makes the container, is of its session.
    (void)WaitUntil(milliseconds(1000),
                    [&] { return Exists(folder + "/shim.pid.json") || !IsLocked(lock); });
    const auto shim = ReadRecord<PidRecord>(folder + "/shim.pid.json");
    if (shim.ok() && shim->pid > 1 && IsLocked(lock)) {
      ::kill(-static_cast<pid_t>(shim->pid), SIGKILL);
    }
    if (!WaitUntil(kDeathTime, [&] { return !IsLocked(lock); })) {
      return base::Unavailable(fmt::format("the shim of container {} does not end", id));
    }
  }
  (void)WaitUntil(kDeathTime, [&] { return !IsLocked(LockOf(id)); });
  if (Exists(RuncFolder(id))) {
    if (const Status deleted = RunRunc(id, {"delete", "--force", id}); !deleted.ok()) {
      // Half made: runc itself does not know it.
      DRAY_RETURN_IF_ERROR(files::RemoveTree(RuncFolder(id)));
    }
  }
  const auto config = files::ReadWhole(folder + "/config.json");
  if (config.ok()) {
    api::JsonDecoder decoder;
    const auto read = decoder.Decode<cdi::oci::Config>(*config);
    if (read.ok() && !read->linux_.cgroups_path.empty()) {
      (void)RemoveCgroup(read->linux_.cgroups_path);
    }
  }
  const std::string rootfs = folder + "/rootfs";
  while (::umount2(rootfs.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
  }
  DRAY_RETURN_IF_ERROR(files::RemoveFile(ExitFile(id)));
  DRAY_RETURN_IF_ERROR(files::RemoveTree(folder));
  return files::RemoveFile(LockOf(id));
}

Status RuncHome::Remove(const std::string& id) {
  if (!Exists(ContainerFolder(id))) return {};
  DRAY_RETURN_IF_ERROR(Kill(id));
  // Its shim writes the last lines of its log.
  (void)WaitUntil(kDeathTime, [&] { return !Lives(id); });
  return CleanUp(id);
}

StatusOr<ContainerInfo> RuncHome::InfoOf(const std::string& id) {
  const std::string folder = ContainerFolder(id);
  DRAY_ASSIGN_OR_RETURN(const ContainerRecord record,
                        ReadRecord<ContainerRecord>(folder + "/container.json"));
  ContainerInfo info{
      .id = id,
      .sandbox_id = record.sandbox_id,
      .pod = {.namespace_ = record.pod_namespace, .name = record.pod_name, .uid = record.pod_uid},
      .name = record.name,
      .attempt = static_cast<std::uint32_t>(record.attempt),
      .created_at = TimeOf(record.created_at),
      .image = record.image,
      .image_id = record.image_id,
      .log_path = record.log_path};
  for (const auto& [key, value] : record.annotations) info.annotations[key.str()] = value;
  const auto started = ReadRecord<StartedRecord>(folder + "/started.json");
  if (started.ok()) {
    info.started_at = TimeOf(started->started_at);
  } else if (struct stat about{}; WasStarted(id) && ::stat(RuncFolder(id).c_str(), &about) == 0) {
    // The agent was killed before it could say so: that is when runc took the fifo away.
    info.started_at = base::Time::FromUnix(about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
  }
  if (const auto exit = ExitOf(id)) {
    info.state = ContainerState::kExited;
    info.exit_code = static_cast<std::int32_t>(exit->code);
    info.finished_at = TimeOf(exit->finished_at);
    info.message = exit->message;
    info.reason = exit->oom_killed                                      ? "OOMKilled"
                  : exit->code == kUnseenCode && !exit->message.empty() ? "ContainerStatusUnknown"
                  : exit->code == 0                                     ? "Completed"
                                                                        : "Error";
  } else {
    info.state = WasStarted(id) ? ContainerState::kRunning : ContainerState::kCreated;
  }
  return info;
}

}  // namespace dray::container::internal
