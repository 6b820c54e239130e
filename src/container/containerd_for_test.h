// SPDX-License-Identifier: Apache-2.0
//
// A containerd of a test's own: its files, its socket and its mounts are in one folder and one mount
// namespace, and go with it. Two images: busybox, and the one of which sandboxes are made.
//
// A process that sleeps holds the mount namespace, so that containerd may be killed and started
// again while containers run. Pods have no network of their own until AddNetwork.
#pragma once

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "container/containers_for_test.h"
#include "container/cri_runtime.h"
#include "container/internal/cgroups.h"
#include "container/internal/process.h"
#include "files/files.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"

namespace dray::container {

// Why there can be no containerd here; empty: there can.
inline std::string WhyNoContainerd() {
  if (std::string why = WhyNoContainers(); !why.empty()) return why;
  for (const char* program :
       {"containerd", "ctr", "containerd-shim-runc-v2", "unshare", "nsenter"}) {
    if (std::system(fmt::format("command -v {} >/dev/null 2>&1", program).c_str()) != 0) {
      return fmt::format("{} is not installed", program);
    }
  }
  if (std::system("unshare --mount --propagation private true 2>/dev/null") != 0) {
    return "mount namespaces cannot be made here";
  }
  return "";
}

// One thread. Folder and group are removed by whoever owns them.
class Containerd {
 public:
  struct Options {
    std::string folder;  // all of it
    std::string cgroup;  // of all pods; what is left in it is killed at the end
  };
  explicit Containerd(Options options) : options_(std::move(options)) {}
  ~Containerd() { End(); }
  Containerd(const Containerd&) = delete;
  Containerd& operator=(const Containerd&) = delete;

  std::string socket() const { return options_.folder + "/c.sock"; }

  // Makes everything and starts it.
  Status Begin() {
    for (const char* name : {"root", "state", "net", "plugins", "run"}) {
      DRAY_RETURN_IF_ERROR(files::MakeFolder(fmt::format("{}/{}", options_.folder, name)));
    }
    DRAY_RETURN_IF_ERROR(files::WriteWhole(options_.folder + "/config.toml", Config()));
    // Shims have their sockets in /run/containerd, wherever containerd has its files.
    DRAY_ASSIGN_OR_RETURN(
        holder_,
        internal::Spawn({.argv = {"unshare", "--mount", "--propagation", "private", "sh", "-c",
                                  fmt::format("mkdir -p /run/containerd && mount --bind {0}/run "
                                              "/run/containerd && touch {0}/held && exec sleep "
                                              "1000000",
                                              options_.folder)},
                         .fds = {},
                         .terminal = {},
                         .folder = options_.folder}));
    if (!Eventually([&] { return ::access((options_.folder + "/held").c_str(), F_OK) == 0; })) {
      return base::Unavailable("no mount namespace");
    }
    DRAY_RETURN_IF_ERROR(Start());
    DRAY_RETURN_IF_ERROR(BuildBusybox(options_.folder + "/images"));
    DRAY_RETURN_IF_ERROR(image::BuildImage({.images = options_.folder + "/images",
                                            .name = kPause,
                                            .rootfs = {},
                                            .binary = "/bin/busybox",
                                            .links = {{"/bin/sleep", "busybox"}},
                                            .config = {.cmd = {"/bin/sleep", "2147483647"}}})
                             .status());
    DRAY_ASSIGN_OR_RETURN(const auto images, files::NamesIn(options_.folder + "/images"));
    for (const std::string& image : images) {
      const std::string archive = fmt::format("{}/{}.tar", options_.folder, image);
      DRAY_RETURN_IF_ERROR(Do(
          {"tar", "-C", fmt::format("{}/images/{}", options_.folder, image), "-cf", archive, "."}));
      DRAY_RETURN_IF_ERROR(
          Do({"ctr", "-a", socket(), "-n", "k8s.io", "images", "import", archive}));
    }
    return {};
  }

  // Of containerd alone; containers go on.
  void Kill() {
    if (daemon_ <= 0) return;
    ::kill(daemon_, SIGKILL);
    internal::WaitFor(daemon_);
    daemon_ = 0;
  }
  Status Start() {
    DRAY_ASSIGN_OR_RETURN(
        daemon_,
        internal::Spawn(
            {.argv = {"nsenter", fmt::format("--mount=/proc/{}/ns/mnt", holder_), "sh", "-c",
                      fmt::format("exec containerd -c {0}/config.toml "
                                  ">>{0}/log 2>&1",
                                  options_.folder)},
             .fds = {},
             .terminal = {},
             .folder = options_.folder}));
    if (Eventually([&] { return Answers(); })) return {};
    return base::Unavailable(fmt::format("containerd does not start: {}",
                                         files::ReadWhole(options_.folder + "/log").value_or("")));
  }

  // Pods have an address from now on, of a plugin that only says so. A plugin is a program that is told
  // by its environment what to do and answers in JSON.
  Status AddNetwork() {
    constexpr std::string_view kPlugin = R"(#!/bin/sh
cat >/dev/null
case $CNI_COMMAND in
VERSION) echo '{"cniVersion":"0.4.0","supportedVersions":["0.3.1","0.4.0"]}' ;;
ADD) nsenter --net="$CNI_NETNS" /bin/busybox ip link set lo up 2>/dev/null
  echo '{"cniVersion":"0.3.1","interfaces":[{"name":"'$CNI_IFNAME'","sandbox":"'$CNI_NETNS'"}],"ips":[{"version":"4","interface":0,"address":"10.99.0.7/24"}]}' ;;
esac
)";
    for (const char* name : {"loopback", "says"}) {
      DRAY_RETURN_IF_ERROR(
          files::WriteWhole(fmt::format("{}/plugins/{}", options_.folder, name), kPlugin, 0755));
    }
    return files::WriteWhole(options_.folder + "/net/10-says.conf",
                             R"({"cniVersion":"0.3.1","name":"says","type":"says"})");
  }

  // The ids of processes of its shims.
  std::vector<pid_t> Shims() const {
    std::vector<pid_t> found;
    const auto names = files::NamesIn("/proc");
    if (!names.ok()) return found;
    for (const std::string& name : *names) {
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const auto words = files::ReadWhole(fmt::format("/proc/{}/cmdline", name));
      if (words.ok() && words->find("containerd-shim") != std::string::npos &&
          words->find(socket()) != std::string::npos) {
        found.push_back(static_cast<pid_t>(std::stol(name)));
      }
    }
    return found;
  }

  // Whatever is left of it, by force.
  void End() {
    Kill();
    for (const pid_t shim : Shims()) ::kill(shim, SIGKILL);
    KillInGroup(options_.cgroup);
    if (holder_ > 0) {
      ::kill(holder_, SIGKILL);
      internal::WaitFor(holder_);
      holder_ = 0;
    }
    (void)Eventually([&] { return internal::RemoveCgroup(options_.cgroup).ok(); });
    // Where its own was mounted; another's is not empty.
    (void)::rmdir("/run/containerd");
  }

 private:
  static constexpr char kPause[] = "dray.example/pause:1";

  template <class Holds>
  static bool Eventually(const Holds& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
  }

  static Status Do(const std::vector<std::string>& argv) {
    DRAY_ASSIGN_OR_RETURN(const auto result, internal::RunCommand(argv, std::chrono::seconds(60)));
    if (result.code == 0) return {};
    return base::Unavailable(fmt::format("{}: {}", argv[0], result.err));
  }

  bool Answers() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = socket();
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const files::Fd door(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return ::connect(door.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }

  // From 2.0 on it applies CDI itself, and is told where the specs are.
  static bool AppliesCdiItself() {
    const auto said = internal::RunCommand({"containerd", "--version"}, std::chrono::seconds(20));
    if (!said.ok()) return false;
    std::istringstream words(said->out);
    std::string word;
    for (int i = 0; i < 3; ++i) words >> word;
    return AppliesCdi("containerd", word);
  }

  std::string Config() const {
    return fmt::format(R"(version = 2
root = "{0}/root"
state = "{0}/state"
oom_score = 0
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs", "io.containerd.internal.v1.opt"]
[grpc]
  address = "{0}/c.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{1}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
{2}
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{0}/plugins"
    conf_dir = "{0}/net"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      Root = "{0}/runc"
)",
                       options_.folder, kPause,
                       AppliesCdiItself()
                           ? fmt::format("  cdi_spec_dirs = [\"{}/cdi\"]", options_.folder)
                           : std::string());
  }

  const Options options_;
  pid_t holder_ = 0;
  pid_t daemon_ = 0;
};

}  // namespace dray::container
