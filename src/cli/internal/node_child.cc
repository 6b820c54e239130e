// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/node_child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "fmt/format.h"

extern char** environ;

namespace dray::cli::internal {
namespace {

constexpr std::chrono::seconds kLongestPause{60};
constexpr std::chrono::seconds kPatience{10};

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) return fmt::format("was terminated by signal {}", WTERMSIG(status));
  return fmt::format("exited with code {}", WEXITSTATUS(status));
}

}  // namespace

StatusOr<NodeChild> NodeChild::Start(NodeChildOptions options) {
  NodeChild child(std::move(options));
  DRAY_RETURN_IF_ERROR(child.Spawn());
  return child;
}

NodeChild::NodeChild(NodeChild&& other) noexcept
    : options_(std::move(other.options_)),
      pid_(std::exchange(other.pid_, -1)),
      next_(other.next_),
      pause_(other.pause_) {}

NodeChild::~NodeChild() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < until) {
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Status NodeChild::Spawn() {
  std::vector<std::string> words = {"dray", "node"};
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, options_.log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  // What this process has open, and what its libraries have, is not the node's.
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  // Ctrl-C in a terminal is for this process; the node is told by it. The signals that a command
  // waits for are blocked here and must not be there.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const int failed =
      ::posix_spawn(&pid_, "/proc/self/exe", &files, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (failed == 0) return {};
  pid_ = -1;
  return base::Unavailable(
      fmt::format("the node cannot be started (log: {}): {}", options_.log, std::strerror(failed)));
}

std::string NodeChild::Look() {
  const auto now = std::chrono::steady_clock::now();
  if (pid_ > 0) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return {};
    pid_ = -1;
    next_ = now + pause_;
    const auto waits = std::exchange(pause_, std::min(2 * pause_, kLongestPause));
    return fmt::format("node {}; started again in {} s (log: {})", HowItEnded(status),
                       waits.count(), options_.log);
  }
  if (now < next_) return {};
  const Status started = Spawn();
  if (started.ok()) return {};
  next_ = now + pause_;
  pause_ = std::min(2 * pause_, kLongestPause);
  return std::string(base::Message(started));
}

}  // namespace dray::cli::internal
