// SPDX-License-Identifier: Apache-2.0
//
// Where a driver's sockets are. Pure.
//
// Spec: docs/spec/node.md chapters 2 and 17.1.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dray::driver {

// A path of a unix socket has at most so many bytes: 108 in the kernel, one less in gRPC.
inline constexpr std::size_t kLongestSocketPath = 107;

struct SocketPlace {
  std::string root = "/var/lib/kubelet";
  std::string registry;  // empty: <root>/plugins_registry
  std::string driver;
  // The UID of the pod that the driver runs in: with it, two versions of a driver can run beside each
  // other while one takes over from the other. Empty: there is one at a time.
  std::string instance;
};

struct SocketNames {
  std::string folder;        // the driver's own
  std::string registry;      // where agents look
  std::string dra;           // in the folder
  std::string registration;  // in the registry
  friend bool operator==(const SocketNames&, const SocketNames&) = default;
};

// InvalidArgument: no name is short enough, or the driver's is none.
StatusOr<SocketNames> SocketNamesFor(const SocketPlace& place);

// The first `bytes` bytes of SHA-256, as base64 of file names, without padding.
std::string ShortHash(std::string_view text, std::size_t bytes);

}  // namespace dray::driver
