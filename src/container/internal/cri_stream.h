// SPDX-License-Identifier: Apache-2.0
//
// Commands in containers of a CRI server, whoever attaches to a container there, and ports of its
// pods. The server answers with an address; there it speaks SPDY (spdy/frames.h), a stream for each
// of input, outputs, size of the terminal, and the end.
//
// WebSocket, which the same servers speak, cannot say that the input has ended: `kubectl exec -i`
// would wait for a command that waits for that.
//
// Spec: docs/spec/node.md, chapter 15.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "container/internal/exec_stream.h"

namespace dray::container::internal {

// http://host:port/path, and in brackets if the host is an IPv6 address.
struct StreamUrl {
  std::string host;
  std::string port;
  std::string target;
  friend bool operator==(const StreamUrl&, const StreamUrl&) = default;
};

// Others than http are refused, with what would help.
StatusOr<StreamUrl> ParseStreamUrl(std::string_view url);

// How a command ended, in the words of a metav1.Status. Not OK: it did not run.
StatusOr<std::int32_t> ReadExit(std::string_view status);

struct CriStreamCall {
  std::string url;
  bool tty = false;
  bool stdin_open = false;
};

// Until the command ends. Not OK: it could not be started or reached, or nobody listens any more
// (kCancelled).
StatusOr<std::int32_t> RunCriStream(const CriStreamCall& call, StreamInput& input,
                                    const std::function<void(std::string)>& out,
                                    const std::function<void(std::string)>& err);

struct CriForwardCall {
  std::string url;
  std::uint16_t port = 0;
  // How long the server may take until bytes can go.
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
};

// A connection to a port within a pod: `done` gets one end of a pair of sockets when the server has
// taken it, and this carries bytes until both sides have closed it, the holder of that end has let go
// of it, or `input` is abandoned. Whether somebody listens on that port is not known when the server
// has taken it; PortConnection::fault tells at the end. Nobody writes to `input`.
void ForwardPort(const CriForwardCall& call, StreamInput& input, const Done<PortConnection>& done);

}  // namespace dray::container::internal
