// SPDX-License-Identifier: Apache-2.0
//
// Ports of a pod behind one connection: kubectl port-forward. Each connection that it forwards is a
// pair of SPDY streams, one for its bytes and one for what goes wrong with it, plainly or within a
// WebSocket.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "apiserver/http.h"
#include "container/runtime.h"

namespace dray::streaming::internal {

inline constexpr std::string_view kPortForward = "portforward.k8s.io";
inline constexpr std::string_view kSpdy = "SPDY/3.1";
// SPDY within a WebSocket.
inline constexpr std::string_view kTunnel = "SPDY/3.1+portforward.k8s.io";

struct PortRequest {
  std::string sandbox_id;
  std::string pod;         // for people
  bool websocket = false;  // else SPDY as it is
};

// The runtime outlives it.
std::unique_ptr<apiserver::StreamSource> MakePortStream(container::Runtime& runtime,
                                                        PortRequest request);

// At a time, of one client.
inline constexpr std::size_t kMostForwarded = 256;
// What is held for a client, or for pods, that do not read.
inline constexpr std::size_t kMostForwardedBytes = 1u << 20;

}  // namespace dray::streaming::internal
