// SPDX-License-Identifier: Apache-2.0
#include "container/internal/state_files.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "api/json.h"
#include "fmt/format.h"

namespace dray::container::internal {

using api::Field;
using api::Struct;
using api::StructInfo;

const StructInfo& InfoOf(const SandboxRecord*) {
  using T = SandboxRecord;
  static const StructInfo info = Struct<T>("Sandbox", {
                                                          Field<&T::id>("id"),
                                                          Field<&T::pod_namespace>("podNamespace"),
                                                          Field<&T::pod_name>("podName"),
                                                          Field<&T::pod_uid>("podUID"),
                                                          Field<&T::attempt>("attempt"),
                                                          Field<&T::created_at>("createdAt"),
                                                          Field<&T::cgroup>("cgroup"),
                                                          Field<&T::stopped>("stopped"),
                                                      });
  return info;
}

const StructInfo& InfoOf(const ContainerRecord*) {
  using T = ContainerRecord;
  static const StructInfo info = Struct<T>(
      "Container", {
                       Field<&T::id>("id"),
                       Field<&T::sandbox_id>("sandboxID"),
                       Field<&T::pod_namespace>("podNamespace"),
                       Field<&T::pod_name>("podName"),
                       Field<&T::pod_uid>("podUID"),
                       Field<&T::name>("name"),
                       Field<&T::attempt>("attempt"),
                       Field<&T::created_at>("createdAt"),
                       Field<&T::image>("image"),
                       Field<&T::image_id>("imageID"),
                       Field<&T::log_path>("logPath"),
                       Field<&T::stop_signal>("stopSignal"),
                       Field<&T::own_pids>("ownPids", {.presence = api::Presence::kAlways}),
                       Field<&T::hooks>("hooks", {}),
                       Field<&T::annotations>("annotations"),
                   });
  return info;
}

const StructInfo& InfoOf(const PauseSpec*) {
  using T = PauseSpec;
  static const StructInfo info =
      Struct<T>("Pause", {
                             Field<&T::hostname>("hostname"),
                             Field<&T::network>("network", {.presence = api::Presence::kAlways}),
                             Field<&T::ipc>("ipc", {.presence = api::Presence::kAlways}),
                             Field<&T::uts>("uts", {.presence = api::Presence::kAlways}),
                             Field<&T::pids>("pids"),
                         });
  return info;
}

const StructInfo& InfoOf(const ShimSpec*) {
  using T = ShimSpec;
  static const StructInfo info = Struct<T>("Shim", {
                                                       Field<&T::runc>("runc"),
                                                       Field<&T::runc_root>("runcRoot"),
                                                       Field<&T::id>("id"),
                                                       Field<&T::log_path>("logPath"),
                                                       Field<&T::log_max_bytes>("logMaxBytes"),
                                                       Field<&T::log_max_files>("logMaxFiles"),
                                                       Field<&T::exit_path>("exitPath"),
                                                       Field<&T::tty>("tty"),
                                                       Field<&T::stdin_open>("stdin"),
                                                   });
  return info;
}

const StructInfo& InfoOf(const PidRecord*) {
  static const StructInfo info = Struct<PidRecord>("Pid", {Field<&PidRecord::pid>("pid")});
  return info;
}

const StructInfo& InfoOf(const StartedRecord*) {
  static const StructInfo info =
      Struct<StartedRecord>("Started", {Field<&StartedRecord::started_at>("startedAt")});
  return info;
}

const StructInfo& InfoOf(const ExitRecord*) {
  using T = ExitRecord;
  static const StructInfo info = Struct<T>("Exit", {
                                                       Field<&T::code>("code"),
                                                       Field<&T::finished_at>("finishedAt"),
                                                       Field<&T::oom_killed>("oomKilled"),
                                                       Field<&T::message>("message"),
                                                   });
  return info;
}

Status WriteJsonFile(const std::string& path, const api::TypeInfo& type, const void* value,
                     files::Sync sync) {
  std::string text;
  api::EncodeJson(type, value, text);
  return files::WriteWhole(path, text, 0600, sync);
}

Status ReadJsonFile(const std::string& path, const api::TypeInfo& type, void* value) {
  DRAY_ASSIGN_OR_RETURN(const std::string text, files::ReadWhole(path));
  api::JsonDecoder decoder;
  return base::Annotate(decoder.Decode(text, type, value), path);
}

base::Time TimeOf(const std::string& text) {
  const auto time = base::Time::ParseRfc3339(text);
  return time.ok() ? *time : base::Time();
}

StatusOr<files::Fd> TakeLock(const std::string& path) {
  files::Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return files::Failed("lock", path, errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return base::FailedPrecondition(fmt::format("{} is locked", path));
  }
  return lock;
}

bool IsLocked(const std::string& path) {
  const files::Fd lock(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  // Given back when it is closed: for that moment somebody who wants it may see it taken, but nobody
  // takes a lock that others ask for.
  return lock.valid() && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
}

}  // namespace dray::container::internal
