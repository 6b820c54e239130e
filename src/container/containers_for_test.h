// SPDX-License-Identifier: Apache-2.0
//
// For tests with real containers: whether there can be any, an image, and somebody who tidies up when
// the test dies.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "container/internal/cgroups.h"
#include "files/files.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"
#include "image/layout.h"

namespace dray::container {

// Why there can be no containers here; empty: there can.
inline std::string WhyNoContainers() {
  if (::geteuid() != 0) return "containers need root";
  if (::access("/bin/busybox", X_OK) != 0) return "busybox-static is not installed";
  if (::system("runc --version >/dev/null 2>&1") != 0) return "runc is not installed";
  const files::TemporaryFolder folder;
  for (const char* name : {"low", "up", "work", "all"}) (void)files::MakeFolder(folder / name);
  const std::string options =
      fmt::format("lowerdir={0}/low,upperdir={0}/up,workdir={0}/work", folder.path());
  if (::mount("overlay", (folder / "all").c_str(), "overlay", 0, options.c_str()) != 0) {
    return "overlayfs cannot be mounted here";
  }
  ::umount2((folder / "all").c_str(), MNT_DETACH);
  const std::string group = fmt::format("/sys/fs/cgroup/devices/dray-probe-{}", ::getpid());
  const std::string unified = fmt::format("/sys/fs/cgroup/dray-probe-{}", ::getpid());
  if (::mkdir(group.c_str(), 0755) != 0 && ::mkdir(unified.c_str(), 0755) != 0) {
    return "control groups cannot be made here";
  }
  ::rmdir(group.c_str());
  ::rmdir(unified.c_str());
  return "";
}

// An image called busybox with a shell and what tests call in it.
inline Status BuildBusybox(const std::string& images) {
  std::vector<std::pair<std::string, std::string>> links;
  for (const char* name :
       {"sh",   "cat",  "echo", "sleep", "ls",    "id",    "env", "hostname", "ps", "stty", "dd",
        "true", "kill", "wc",   "head",  "touch", "mount", "ip",  "mkdir",    "nc", "tail"}) {
    links.emplace_back(fmt::format("/bin/{}", name), "busybox");
  }
  return image::BuildImage({.images = images,
                            .name = "busybox",
                            .rootfs = {},
                            .binary = "/bin/busybox",
                            .links = links,
                            .config = {.env = {"PATH=/bin"}, .cmd = {"sh"}}})
      .status();
}

// The shim as a program, beside the test's own (target node_shim).
inline std::string ShimForTest() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string() + "/node_shim";
}

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

// Ends everything in the control group and those below it.
inline void KillInGroup(const std::string& group) {
  for (const std::string& folder : internal::CgroupFolders(group)) {
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
      if (entry.path().filename() != "cgroup.procs") continue;
      std::ifstream ids(entry.path());
      for (pid_t pid = 0; ids >> pid;) {
        if (pid > 1) ::kill(pid, SIGKILL);
      }
    }
  }
}

// Ends and removes everything that runs or is mounted in the folder, and the control group.
inline void SweepTestFolder(const std::string& folder, const std::string& cgroup) {
  KillInGroup(cgroup);
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
