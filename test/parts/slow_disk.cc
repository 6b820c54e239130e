// SPDX-License-Identifier: Apache-2.0
#include "parts/slow_disk.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"

namespace dray::parts {
namespace {

using Clock = std::chrono::steady_clock;

// Where the kernel asks; -1: it does not.
int Install() {
  sock_filter lines[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fdatasync, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fsync, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{.len = sizeof(lines) / sizeof(lines[0]), .filter = lines};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  // So that no signal sends a thread that waits around once more; kernels before 5.19 do not know it.
  constexpr unsigned long kWaitKillable = 1UL << 5;
  for (const unsigned long more : {kWaitKillable, 0UL}) {
    const long listener = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                    SECCOMP_FILTER_FLAG_NEW_LISTENER | more, &filter);
    if (listener >= 0) return static_cast<int>(listener);
  }
  return -1;
}

// A descriptor goes with a byte.
struct Parcel {
  explicit Parcel(int descriptor) {
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  int descriptor() {
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    int got = -1;
    if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
      std::memcpy(&got, CMSG_DATA(header), sizeof(int));
    }
    return got;
  }
  char byte = 'x';
  iovec piece{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
};

}  // namespace

bool SlowDisk::CanBe() {
  static const bool can = [] {
    const pid_t trial = ::fork();
    DRAY_CHECK(trial >= 0, "fork");
    if (trial == 0) ::_exit(Install() >= 0 ? 0 : 1);
    int status = 0;
    return ::waitpid(trial, &status, 0) == trial && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }();
  return can;
}

SlowDisk::SlowDisk() {
  int pair[2];
  DRAY_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
  ours_ = pair[0];
  theirs_ = pair[1];
}

SlowDisk::~SlowDisk() {
  over_ = true;
  if (serving_.joinable()) serving_.join();
  for (const int descriptor : {ours_, theirs_, listener_}) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

void SlowDisk::InChild() const {
  const int listener = Install();
  if (listener < 0) return;  // the socket is closed with this process's others, which says so
  Parcel parcel(listener);
  ::sendmsg(theirs_, &parcel.message, MSG_NOSIGNAL);
}

bool SlowDisk::InParent() {
  ::close(theirs_);
  theirs_ = -1;
  Parcel parcel(-1);
  if (::recvmsg(ours_, &parcel.message, MSG_CMSG_CLOEXEC) <= 0) return false;
  listener_ = parcel.descriptor();
  if (listener_ < 0) return false;
  serving_ = std::thread([this] { Serve(); });
  return true;
}

// Until the process has ended: without an answer it would wait for ever.
void SlowDisk::Serve() const {
  struct Waiting {
    std::uint64_t id;
    Clock::time_point since;
  };
  std::vector<Waiting> waiting;
  while (!over_) {
    pollfd ready{.fd = listener_, .events = POLLIN};
    const int count = ::poll(&ready, 1, waiting.empty() ? 20 : 2);
    if (count > 0 && (ready.revents & POLLHUP) != 0) return;
    if (count > 0 && (ready.revents & POLLIN) != 0) {
      seccomp_notif asked{};
      if (::ioctl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &asked) == 0) {
        waiting.push_back({.id = asked.id, .since = Clock::now()});
      }
    }
    const auto due = Clock::now() - std::chrono::milliseconds(delay_ms_);
    std::erase_if(waiting, [&](const Waiting& one) {
      if (one.since > due) return false;
      seccomp_notif_resp done{.id = one.id};
      ::ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &done);
      return true;
    });
  }
}

}  // namespace dray::parts
