// SPDX-License-Identifier: Apache-2.0
//
// For tests with real containers: somebody who tidies up when the test dies.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "container/internal/cgroups.h"
#include "files/files.h"

namespace dray::container {

// Processes that work in the folder or have their root in it: shims, containers.
inline std::vector<pid_t> ProcessesIn(const std::string& folder) {
  std::vector<pid_t> found;
  const auto names = files::NamesIn("/proc");
  if (!names.ok()) return found;
  for (const std::string& name : *names) {
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    for (const char* link : {"cwd", "root"}) {
      std::error_code error;
      const auto path = std::filesystem::read_symlink("/proc/" + name + "/" + link, error);
      if (error || !path.string().starts_with(folder)) continue;
      found.push_back(static_cast<pid_t>(std::stol(name)));
      break;
    }
  }
  return found;
}

// Ends and removes everything that runs or is mounted in the folder, and the control group.
inline void SweepTestFolder(const std::string& folder, const std::string& cgroup) {
  for (int round = 0; round < 50; ++round) {
    const std::vector<pid_t> left = ProcessesIn(folder);
    if (left.empty()) break;
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
    ::usleep(20'000);
  }
  const auto mounts = files::ReadWhole("/proc/self/mountinfo");
  std::istringstream lines(mounts.ok() ? *mounts : "");
  std::vector<std::string> points;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 5; ++i) words >> word;
    if (word.starts_with(folder + "/")) points.push_back(word);
  }
  std::ranges::reverse(points);
  for (const std::string& point : points) ::umount2(point.c_str(), MNT_DETACH);
  (void)internal::RemoveCgroup(cgroup);
  (void)files::RemoveTree(folder);
}

// Forks: made while the test has one thread. Waits for the test's end and sweeps, unless it was
// dismissed.
class Janitor {
 public:
  Janitor(const std::string& folder, const std::string& cgroup) {
    int ends[2];
    DRAY_CHECK(::pipe2(ends, O_CLOEXEC) == 0);
    child_ = ::fork();
    DRAY_CHECK(child_ >= 0);
    if (child_ == 0) {
      ::close(ends[1]);
      ::setsid();
      char word = 0;
      const ssize_t n = ::read(ends[0], &word, 1);
      if (n <= 0) SweepTestFolder(folder, cgroup);
      ::_exit(0);
    }
    ::close(ends[0]);
    write_ = files::Fd(ends[1]);
  }
  // All is well.
  void Dismiss() {
    if (child_ <= 0) return;
    (void)files::WriteAll(write_.get(), "x");
    Wait();
  }
  // Without that it sweeps now.
  ~Janitor() {
    write_.Reset();
    Wait();
  }
  Janitor(const Janitor&) = delete;
  Janitor& operator=(const Janitor&) = delete;

 private:
  void Wait() {
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  pid_t child_ = 0;
  files::Fd write_;
};

}  // namespace dray::container
