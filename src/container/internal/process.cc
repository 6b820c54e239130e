// SPDX-License-Identifier: Apache-2.0
#include "container/internal/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "fmt/format.h"

extern char** environ;  // NOLINT: POSIX has no header for it

namespace dray::container::internal {
namespace {

constexpr std::size_t kMostOutput = 1 << 20;

class Actions {
 public:
  Actions() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~Actions() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return files::Failed("make", "a pipe", errno);
  return Pipe{.read = files::Fd(ends[0]), .write = files::Fd(ends[1])};
}

StatusOr<pid_t> Spawn(const SpawnOptions& options) {
  Actions spawn;
  auto* actions = &spawn.actions_;
  // First to numbers that are nobody's target, so that none overwrites another's source.
  std::vector<files::Fd> held;
  int least = 10;
  for (const auto& [target, source] : options.fds) least = std::max(least, target + 1);
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (!options.terminal.empty()) {
    // The first terminal that a new session opens controls it.
    flags |= POSIX_SPAWN_SETSID;
    ::posix_spawn_file_actions_addopen(actions, 0, options.terminal.c_str(), O_RDWR, 0);
    ::posix_spawn_file_actions_adddup2(actions, 0, 1);
    ::posix_spawn_file_actions_adddup2(actions, 0, 2);
  } else {
    for (int fd = 0; fd < 3; ++fd) {
      if (options.fds.contains(fd)) continue;
      ::posix_spawn_file_actions_addopen(actions, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY,
                                         0);
    }
  }
  for (const auto& [target, source] : options.fds) {
    const int copy = ::fcntl(source, F_DUPFD_CLOEXEC, least);
    if (copy < 0) return files::Failed("start", options.argv[0], errno);
    held.emplace_back(copy);
    ::posix_spawn_file_actions_adddup2(actions, copy, target);
  }
  // Nothing else of this process is its business: not every library marks what it opens, and a socket
  // that listens would go on doing so in here.
  int others = 3;
  for (const auto& [target, source] : options.fds) {
    for (; others < target; ++others) ::posix_spawn_file_actions_addclose(actions, others);
    others = std::max(others, target + 1);
  }
  ::posix_spawn_file_actions_addclosefrom_np(actions, others);
  if (!options.folder.empty()) {
    ::posix_spawn_file_actions_addchdir_np(actions, options.folder.c_str());
  }
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&spawn.attributes_, &none);
  ::posix_spawnattr_setsigdefault(&spawn.attributes_, &all);
  ::posix_spawnattr_setflags(&spawn.attributes_, flags);
  std::vector<char*> argv;
  for (const std::string& arg : options.argv) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, argv[0], actions, &spawn.attributes_, argv.data(), environ);
  if (error != 0) return files::Failed("start", options.argv[0], error);
  return child;
}

std::int32_t CodeOf(int wait_status) {
  if (WIFSIGNALED(wait_status)) return 128 + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

std::int32_t WaitFor(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    // Somebody else of the process took it.
    if (errno != EINTR) return -1;
  }
  return CodeOf(status);
}

StatusOr<CommandResult> RunCommand(const std::vector<std::string>& argv,
                                   std::chrono::milliseconds timeout,
                                   const std::map<int, int>& more_fds) {
  DRAY_ASSIGN_OR_RETURN(Pipe out, MakePipe());
  DRAY_ASSIGN_OR_RETURN(Pipe err, MakePipe());
  SpawnOptions options{.argv = argv, .fds = more_fds, .terminal = {}, .folder = {}};
  options.fds[1] = out.write.get();
  options.fds[2] = err.write.get();
  DRAY_ASSIGN_OR_RETURN(const pid_t child, Spawn(options));
  out.write.Reset();
  err.write.Reset();
  CommandResult result;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  pollfd polled[2] = {{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}};
  std::string* texts[2] = {&result.out, &result.err};
  int open = 2;
  bool late = false;
  char buffer[4096];
  while (open > 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      late = true;
      break;
    }
    if (::poll(polled, 2, static_cast<int>(left.count())) < 0 && errno != EINTR) break;
    for (int i = 0; i < 2; ++i) {
      if (polled[i].fd < 0 || polled[i].revents == 0) continue;
      const ssize_t n = ::read(polled[i].fd, buffer, sizeof(buffer));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        polled[i].fd = -1;
        --open;
      } else if (texts[i]->size() < kMostOutput) {
        texts[i]->append(buffer, static_cast<std::size_t>(n));
      }
    }
  }
  if (!late) {
    // Its output has ended; it may live on.
    for (;;) {
      int status = 0;
      const pid_t ended = ::waitpid(child, &status, WNOHANG);
      if (ended == child) {
        result.code = CodeOf(status);
        return result;
      }
      if (ended < 0 && errno != EINTR) return base::Internal("a child was waited for by others");
      if (std::chrono::steady_clock::now() >= deadline) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  ::kill(child, SIGKILL);
  (void)WaitFor(child);
  return base::MakeStatus(StatusCode::kDeadlineExceeded,
                          fmt::format("{} took longer than {} ms", argv[0], timeout.count()));
}

}  // namespace dray::container::internal
