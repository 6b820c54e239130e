// SPDX-License-Identifier: Apache-2.0
#include "container/internal/cri_logs.h"

#include <stdio.h>
#include <sys/stat.h>

#include <cerrno>

namespace dray::container::internal {

bool CriLogs::Due() {
  if (limits_.max_bytes <= 0) return false;
  const auto now = clock_.Monotonic().count();
  auto next = next_.load();
  return now >= next && next_.compare_exchange_strong(next, now + interval_.count());
}

void CriLogs::Look(std::vector<std::pair<std::string, std::string>> logs) {
  queue_.Post([this, logs = std::move(logs)] {
    for (const auto& [id, path] : logs) LookAt(id, path);
  });
}

void CriLogs::LookAt(const std::string& id, const std::string& path) {
  struct stat about {};
  if (path.empty()) return;
  if (::stat(path.c_str(), &about) != 0) {
    // An agent that was killed in the middle has put it aside, and its runtime still writes there.
    if (errno == ENOENT) cri_.ReopenLog(id, [](const Status&) {});
    return;
  }
  if (!S_ISREG(about.st_mode) || about.st_size < limits_.max_bytes) return;
  const auto aside = PutAside(path, clock_.Now());
  if (!aside.ok()) return;
  cri_.ReopenLog(id, [path, aside = *aside, most = limits_.max_files](const Status& opened) {
    struct stat there {};
    // It still writes to the old one, which takes its name back: better too long than lost.
    if (!opened.ok() && ::stat(path.c_str(), &there) != 0) {
      (void)::rename(aside.c_str(), path.c_str());
      return;
    }
    RemoveOldLogs(path, most);
  });
}

}  // namespace dray::container::internal
