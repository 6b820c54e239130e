// SPDX-License-Identifier: Apache-2.0
//
// A process in a container behind SPDY, as the API server of a Kubernetes asks for it: a stream for
// each of input, outputs, what went wrong, and the size of the terminal.
#pragma once

#include <memory>
#include <string_view>

#include "apiserver/http.h"
#include "container/runtime.h"
#include "streaming/internal/process_stream.h"

namespace dray::streaming::internal {

inline constexpr std::string_view kSpdyChannels = "v4.channel.k8s.io";

// The process begins when all streams have that the request is about. The runtime outlives it.
std::unique_ptr<apiserver::StreamSource> MakeSpdyProcessStream(container::Runtime& runtime,
                                                               ProcessRequest request);

}  // namespace dray::streaming::internal
