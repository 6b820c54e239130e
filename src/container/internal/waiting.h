// SPDX-License-Identifier: Apache-2.0
//
// Looking at the files of a sandbox or container until they say something: what shims and runc do
// is told by files and locks alone (internal/state_files.h).
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <string>
#include <thread>

namespace dray::container::internal {

// For a process that was killed to be gone.
constexpr std::chrono::milliseconds kDeathTime{10'000};

inline bool Exists(const std::string& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0;
}

// Until it is true, or it has taken too long.
template <typename Condition>
bool WaitUntil(std::chrono::milliseconds most, Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace dray::container::internal
