// SPDX-License-Identifier: Apache-2.0
#include "container/internal/pod_network.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fmt/format.h"

namespace dray::container::internal {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// A socket of the network; where it is asked from does not matter any more.
StatusOr<files::Fd> SocketIn(const files::Fd& network, int family) {
  const files::Fd home(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!home.valid() || ::setns(network.get(), CLONE_NEWNET) != 0) {
    return base::Unavailable(
        fmt::format("cannot enter the network of the pod: {}", std::strerror(errno)));
  }
  files::Fd made(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int error = errno;
  if (::setns(home.get(), CLONE_NEWNET) != 0) {
    return base::Internal(
        fmt::format("cannot leave the network of a pod: {}", std::strerror(errno)));
  }
  if (!made.valid()) return base::Unavailable(std::strerror(error));
  return made;
}

Status Connect(const files::Fd& fd, const sockaddr* address, socklen_t size, SteadyTime until) {
  if (::connect(fd.get(), address, size) == 0) return {};
  int error = errno;
  while (error == EINPROGRESS || error == EINTR) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    pollfd one{.fd = fd.get(), .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&one, 1, std::max(0, static_cast<int>(left.count())));
    if (ready == 0) return base::Unavailable("i/o timeout");
    if (ready < 0) {
      if (errno == EINTR) continue;
      return base::Unavailable(std::strerror(errno));
    }
    socklen_t length = sizeof(error);
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  }
  return error == 0 ? Status() : base::Unavailable(std::strerror(error));
}

}  // namespace

StatusOr<files::Fd> ConnectIn(const files::Fd& network, std::uint16_t port,
                              std::chrono::nanoseconds timeout) {
  const SteadyTime until = std::chrono::steady_clock::now() + timeout;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  DRAY_ASSIGN_OR_RETURN(files::Fd fd, SocketIn(network, AF_INET));
  const Status first = Connect(fd, reinterpret_cast<const sockaddr*>(&four), sizeof(four), until);
  if (first.ok()) return fd;
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  six.sin6_addr = in6addr_loopback;
  auto other = SocketIn(network, AF_INET6);
  if (other.ok() &&
      Connect(*other, reinterpret_cast<const sockaddr*>(&six), sizeof(six), until).ok()) {
    return other;
  }
  return base::Annotate(first, fmt::format("dial tcp 127.0.0.1:{}", port));
}

}  // namespace dray::container::internal
