// SPDX-License-Identifier: Apache-2.0
#include "rpc/internal/socket_address.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/percent.h"

namespace dray::rpc::internal {

StatusOr<SocketAddress> SocketAddress::Make(const std::string& path) {
  if (!path.starts_with('/')) {
    return base::InvalidArgument(fmt::format("socket path \"{}\" is not absolute", path));
  }
  if (path.find('\0') != std::string::npos) {
    return base::InvalidArgument("socket path has a NUL in it");
  }
  if (path.size() <= kLongestSocketPath) return SocketAddress(path, -1);

  const std::size_t slash = path.rfind('/');
  const std::string folder = path.substr(0, slash + 1);
  const int fd = open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    const std::string text = fmt::format("open folder \"{}\": {}", folder, std::strerror(errno));
    return errno == ENOENT ? base::NotFound(text) : base::FailedPrecondition(text);
  }
  SocketAddress address(fmt::format("/proc/self/fd/{}/{}", fd, path.substr(slash + 1)), fd);
  if (address.path_.size() > kLongestSocketPath) {
    return base::InvalidArgument(
        fmt::format("the last element of socket path \"{}\" is too long", path));
  }
  return address;
}

SocketAddress::SocketAddress(std::string path, int folder)
    : path_(std::move(path)),
      uri_("unix:" + base::PercentEncoded(path_, "-._~/")),
      folder_(folder) {}

SocketAddress::SocketAddress(SocketAddress&& other) noexcept
    : path_(std::move(other.path_)),
      uri_(std::move(other.uri_)),
      folder_(std::exchange(other.folder_, -1)) {}

SocketAddress& SocketAddress::operator=(SocketAddress&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(uri_, other.uri_);
  std::swap(folder_, other.folder_);
  return *this;
}

SocketAddress::~SocketAddress() {
  if (folder_ >= 0) close(folder_);
}

bool SomebodyListens(const SocketAddress& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  address.path().copy(static_cast<char*>(to.sun_path), kLongestSocketPath);
  // EAGAIN: its queue is full, so there is one.
  const bool listens =
      connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 || errno == EAGAIN;
  close(fd);
  return listens;
}

}  // namespace dray::rpc::internal
