// SPDX-License-Identifier: Apache-2.0
//
// Whether a gRPC server says that it is well: the client of grpc.health.v1.Health.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "base/status.h"

namespace dray::rpc {

// Asks over a connected socket, which it closes. `service`: which one is meant; empty: the server.
// Waits, at most that long, and not much longer than until `stopping` is true (it may be null). OK: it
// is serving; else why not, as people are told.
Status CheckHealth(int connected, const std::string& service, std::chrono::nanoseconds timeout,
                   const std::atomic<bool>* stopping = nullptr);

}  // namespace dray::rpc
