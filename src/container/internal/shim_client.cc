// SPDX-License-Identifier: Apache-2.0
#include "container/internal/shim_client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "container/internal/shim_frames.h"
#include "fmt/format.h"

namespace dray::container::internal {
namespace {

constexpr std::chrono::seconds kShimStarts{20};

}  // namespace

StatusOr<files::Fd> ConnectToShim(const std::string& folder) {
  // By way of the folder's descriptor: names of sockets have no room for long paths.
  const files::Fd home(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!home.valid()) return files::Failed("attach to", folder, errno);
  files::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", home.get(), kShimSocket);
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  if (!socket.valid() ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return base::FailedPrecondition(
        fmt::format("the container's shim cannot be reached: {}", std::strerror(errno)));
  }
  return socket;
}

Status StartByShim(const std::string& folder) {
  DRAY_ASSIGN_OR_RETURN(const files::Fd socket, ConnectToShim(folder));
  const std::string frame = EncodeFrame(Frame::kStart, "");
  const auto older = [] {
    return base::MakeStatus(StatusCode::kUnimplemented, "the container's shim cannot start it");
  };
  if (::send(socket.get(), frame.data(), frame.size(), MSG_NOSIGNAL) < 0) return older();
  const auto deadline = std::chrono::steady_clock::now() + kShimStarts;
  std::string received;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      return base::MakeStatus(StatusCode::kDeadlineExceeded, "the container does not start");
    }
    pollfd polled{socket.get(), POLLIN, 0};
    if (::poll(&polled, 1, static_cast<int>(left.count()) + 1) <= 0) continue;
    char buffer[4096];
    const ssize_t n = ::recv(socket.get(), buffer, sizeof(buffer), 0);
    if (n < 0 && errno == EINTR) continue;
    // It ends the connection with who says what it does not know.
    if (n <= 0) return older();
    received.append(buffer, static_cast<std::size_t>(n));
    bool broken = false;
    while (const auto told = TakeFrame(received, broken)) {
      if (told->first == Frame::kStarted) {
        return told->second.empty() ? Status() : base::FailedPrecondition(told->second);
      }
      if (told->first == Frame::kExit) {
        return base::FailedPrecondition("the container ended before it was started");
      }
    }
    if (broken) return base::Internal("the container's shim speaks nonsense");
  }
}

}  // namespace dray::container::internal
