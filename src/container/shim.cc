// SPDX-License-Identifier: Apache-2.0
//
// What both kinds have in common, and the one that holds namespaces.
#include "container/shim.h"

#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "container/internal/shim_run.h"
#include "container/internal/state_files.h"
#include "fmt/format.h"

namespace dray::container {
namespace {

using internal::kReadyFd;

// The answer to whoever started it.
void Say(const std::string& text) {
  (void)files::WriteAll(kReadyFd, text);
  ::close(kReadyFd);
}

// A new network namespace has a loopback interface that is down.
void RaiseLoopback() {
  const files::Fd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", IFNAMSIZ - 1);
  if (any.valid() && ::ioctl(any.get(), SIOCGIFFLAGS, &request) == 0) {
    request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
    (void)::ioctl(any.get(), SIOCSIFFLAGS, &request);
  }
}

// For as long as the sandbox is there. As the first process of a pid namespace it is also the one
// that orphans come to.
[[noreturn]] void Hold() {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) ::sigaddset(&wanted, signal);
  for (;;) {
    siginfo_t which{};
    const int signal = ::sigwaitinfo(&wanted, &which);
    if (signal == SIGTERM || signal == SIGINT) ::_exit(0);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

Status Pause() {
  DRAY_ASSIGN_OR_RETURN(const internal::PauseSpec spec,
                        internal::ReadRecord<internal::PauseSpec>("pause.json"));
  int kinds = 0;
  if (spec.network) kinds |= CLONE_NEWNET;
  if (spec.ipc) kinds |= CLONE_NEWIPC;
  if (spec.uts) kinds |= CLONE_NEWUTS;
  if (spec.pids) kinds |= CLONE_NEWPID;
  if (kinds != 0 && ::unshare(kinds) != 0) {
    return base::Unavailable(fmt::format("cannot make namespaces: {}", std::strerror(errno)));
  }
  if (spec.uts && !spec.hostname.empty() &&
      ::sethostname(spec.hostname.c_str(), spec.hostname.size()) != 0) {
    return base::Unavailable(fmt::format("cannot set the hostname: {}", std::strerror(errno)));
  }
  if (spec.network) RaiseLoopback();
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  pid_t holder = ::getpid();
  if (spec.pids) {
    // The first child of whoever made it is the namespace's first process.
    holder = ::fork();
    if (holder < 0) return base::Unavailable("cannot start the first process of the namespace");
    if (holder == 0) {
      ::close(kReadyFd);
      Hold();
    }
  }
  const Status written = internal::WriteRecord("pid.json", internal::PidRecord{.pid = holder});
  if (!written.ok()) {
    if (spec.pids) ::kill(holder, SIGKILL);
    return written;
  }
  Say("ok");
  if (spec.pids) ::_exit(0);  // the lock is the holder's now
  Hold();
}

}  // namespace

int ShimMain(const std::vector<std::string>& args) {
  if (args.size() != 1 || (args[0] != "pause" && args[0] != "run")) {
    std::fputs("dray node-shim is started by dray node, not by people\n", stderr);
    return 2;
  }
  // Nobody waits for it: it becomes the child of the machine's first process.
  const pid_t child = ::fork();
  if (child < 0) {
    Say(fmt::format("cannot start the shim: {}", std::strerror(errno)));
    return 1;
  }
  if (child > 0) ::_exit(0);
  ::setsid();
  ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_NAME, args[0] == "pause" ? "dray-pause" : "dray-shim");
  const Status status = args[0] == "pause" ? Pause() : internal::RunContainer(&Say);
  if (!status.ok()) Say(std::string(base::Message(status)));
  return status.ok() ? 0 : 1;
}

}  // namespace dray::container
