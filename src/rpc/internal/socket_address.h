// SPDX-License-Identifier: Apache-2.0
//
// SocketAddress: the path of a unix socket as gRPC wants it.
//
// The kernel takes 108 bytes of a path, gRPC 107; Go programs use all 108, and whoever changes into
// a folder first can make sockets at any depth. A longer path is reached through its folder, which is
// held open: /proc/self/fd/<n>/<name>.
#pragma once

#include <string>

#include "base/status.h"

namespace dray::rpc::internal {

inline constexpr std::size_t kLongestSocketPath = 107;

// Movable; whoever uses the address keeps this as long. Thread-compatible.
class SocketAddress {
 public:
  // InvalidArgument: the path is not absolute, or its last element is too long. An error of the
  // folder, where that has to be opened.
  static StatusOr<SocketAddress> Make(const std::string& path);

  SocketAddress(SocketAddress&& other) noexcept;
  SocketAddress& operator=(SocketAddress&& other) noexcept;
  ~SocketAddress();

  // unix:/run/a.sock, percent-encoded, since gRPC reads a URI.
  const std::string& uri() const { return uri_; }
  // For connect(2) and bind(2), at most kLongestSocketPath bytes.
  const std::string& path() const { return path_; }

 private:
  SocketAddress(std::string path, int folder);

  std::string path_;
  std::string uri_;
  int folder_ = -1;
};

// Whether somebody accepts connections there. False also where there is nothing.
bool SomebodyListens(const SocketAddress& address);

}  // namespace dray::rpc::internal
