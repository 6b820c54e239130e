// SPDX-License-Identifier: Apache-2.0
//
// Liveness: gRPC's protocol for probes (grpc.health.v1) on a TCP port, for pods whose liveness probe is
// of the kind grpc.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/status.h"

namespace dray::rpc {

struct LivenessOptions {
  std::string address = "0.0.0.0";
  std::uint16_t port = 0;                             // 0: a free one
  std::set<std::string> services = {"", "liveness"};  // others are not found
  // Asked for every probe, from any thread; may take its time. Not OK: NOT_SERVING.
  std::function<Status()> check;
};

// Serves until it is destroyed.
class LivenessServer {
 public:
  virtual ~LivenessServer() = default;
  virtual std::uint16_t port() const = 0;
};

StatusOr<std::unique_ptr<LivenessServer>> ServeLiveness(LivenessOptions options);

// Asks: true for SERVING. `target` is host:port.
StatusOr<bool> AskLiveness(const std::string& target, const std::string& service,
                           std::chrono::nanoseconds deadline);

}  // namespace dray::rpc
