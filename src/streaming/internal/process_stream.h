// SPDX-License-Identifier: Apache-2.0
//
// A process in a container behind a WebSocket with Kubernetes's channels.
#pragma once

#include <memory>
#include <string>

#include "apiserver/http.h"
#include "container/runtime.h"

namespace dray::streaming::internal {

struct ProcessRequest {
  container::ExecConfig exec;
  bool out = false;
  bool err = false;
  bool can_close_channels = false;  // v5
};

// The process begins when the connection does. The runtime outlives it.
std::unique_ptr<apiserver::StreamSource> MakeProcessStream(container::Runtime& runtime,
                                                           ProcessRequest request);

// How much of what a process says is kept for a client that does not read.
inline constexpr std::size_t kMostHeld = 1u << 20;

}  // namespace dray::streaming::internal
