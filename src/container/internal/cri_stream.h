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

// A connection to a port within a pod, until the other side closes it.
Status RunCriForward(const std::string& url, std::uint16_t port, StreamInput& input,
                     const std::function<void(std::string)>& out);

}  // namespace dray::container::internal
