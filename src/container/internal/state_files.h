// SPDX-License-Identifier: Apache-2.0
//
// What lies on disk of sandboxes and containers, so that agent, shim and whoever comes after them read
// the same. Each file is written whole or not at all; what is true follows from which ones are there:
//
//   <root>/sandboxes/<id>/  sandbox.json  it is to be; pause.json  for the process that holds it
//                           pause.lock    locked while that lives; pid.json  its pid, once it is ready
//   <root>/containers/<id>/ container.json it is to be;  config.json  the bundle;  shim.json  for the shim
//                           shim.lock     locked while the shim lives
//                           created.json  runc has made it: it exists (without: a leftover)
//                           started.json  when it was started
//   <root>/exits/<id>.json  how it ended
//   <root>/locks/<id>       locked while runc is at work on it for an agent
//   <root>/runc/<id>        runc's own; exec.fifo in it: created and not started
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/field_table.h"
#include "base/status.h"
#include "base/time.h"
#include "container/runtime.h"
#include "files/files.h"

namespace dray::container::internal {

// A sandbox as it was asked for.
struct SandboxRecord {
  std::string id;
  std::string pod_namespace;
  std::string pod_name;
  std::string pod_uid;
  std::int64_t attempt = 0;
  std::string created_at;
  std::string cgroup;  // the pod's
  bool stopped = false;
};
const api::StructInfo& InfoOf(const SandboxRecord*);

struct ContainerRecord {
  std::string id;
  std::string sandbox_id;
  std::string pod_namespace;
  std::string pod_name;
  std::string pod_uid;
  std::string name;
  std::int64_t attempt = 0;
  std::string created_at;
  std::string image;
  std::string image_id;
  std::string log_path;
  std::string stop_signal;
  bool own_pids = true;  // with its first process all others end
  bool hooks = false;    // runc has to start it: some hooks run then
  api::Map<std::string> annotations;
};
const api::StructInfo& InfoOf(const ContainerRecord*);

// What the process that holds a sandbox's namespaces does.
struct PauseSpec {
  std::string hostname;
  bool network = true;
  bool ipc = true;
  bool uts = true;
  bool pids = false;
};
const api::StructInfo& InfoOf(const PauseSpec*);

struct ShimSpec {
  std::string runc;
  std::string runc_root;
  std::string id;
  std::string log_path;
  std::int64_t log_max_bytes = 0;
  std::int64_t log_max_files = 0;
  std::string exit_path;
  bool tty = false;
  bool stdin_open = false;
};
const api::StructInfo& InfoOf(const ShimSpec*);

struct PidRecord {
  std::int64_t pid = 0;
};
const api::StructInfo& InfoOf(const PidRecord*);

struct StartedRecord {
  std::string started_at;
};
const api::StructInfo& InfoOf(const StartedRecord*);

struct ExitRecord {
  std::int64_t code = 0;
  std::string finished_at;
  bool oom_killed = false;
  std::string message;
};
const api::StructInfo& InfoOf(const ExitRecord*);

// What runs does not outlive the machine, so that most of this means nothing after a power cut: an
// unreadable record is that of a leftover. Only how something ended is told later.
Status WriteJsonFile(const std::string& path, const api::TypeInfo& type, const void* value,
                     files::Sync sync);
template <typename T>
Status WriteRecord(const std::string& path, const T& value, files::Sync sync = files::Sync::kNo) {
  return WriteJsonFile(path, api::TypeInfoOf<T>(), &value, sync);
}
Status ReadJsonFile(const std::string& path, const api::TypeInfo& type, void* value);
template <typename T>
StatusOr<T> ReadRecord(const std::string& path) {
  T value;
  DRAY_RETURN_IF_ERROR(ReadJsonFile(path, api::TypeInfoOf<T>(), &value));
  return value;
}

// With nanoseconds; unreadable text is the beginning of time.
base::Time TimeOf(const std::string& text);

// The descriptor that holds the lock goes to the process whose life it tells. Not OK: it is locked.
StatusOr<files::Fd> TakeLock(const std::string& path);
// Somebody who was given it lives.
bool IsLocked(const std::string& path);

}  // namespace dray::container::internal
