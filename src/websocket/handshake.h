// SPDX-License-Identifier: Apache-2.0
//
// How a request becomes a WebSocket.
//
// Spec: RFC 6455, 4.2.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dray::websocket {

// The headers of a request that matter; empty: not there.
struct Asked {
  std::string_view upgrade;
  std::string_view version;    // Sec-WebSocket-Version
  std::string_view key;        // Sec-WebSocket-Key
  std::string_view protocols;  // Sec-WebSocket-Protocol: comma separated, the favourite first
};

struct Agreed {
  std::string accept;    // Sec-WebSocket-Accept
  std::string protocol;  // Sec-WebSocket-Protocol
};

// InvalidArgument: it asks for something else, or for no protocol that is spoken here.
StatusOr<Agreed> Agree(const Asked& asked, std::span<const std::string_view> spoken);

}  // namespace dray::websocket
