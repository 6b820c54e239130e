// SPDX-License-Identifier: Apache-2.0
//
// A connection that speaks HTTP/2: many requests and watches of one client at a time. Frames, their
// compression and flow control are nghttp2's; this is the traffic between it, the socket and the
// streams, and what a client may not do.
#pragma once

#include <memory>
#include <string>

#include "apiserver/internal/io_thread.h"
#include "apiserver/internal/transport.h"

namespace dray::apiserver::internal {

// After the handshake, on the thread of `io`. `remote` is the client's address, for logs.
void StartHttp2(const std::shared_ptr<IoThread>& io, Transport transport, std::string remote);

}  // namespace dray::apiserver::internal
