// SPDX-License-Identifier: Apache-2.0
//
// A conformance suite for drivers, whoever wrote them and in whatever language: it is an agent that
// asks for everything that a driver has to get right, and says for each what the rule is.
//
// Spec: docs/spec/node.md chapters 3, 4, 8, 10, 14, 17 and 18.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "base/clock.h"
#include "rpc/plugin_client.h"

namespace dray::driver {

enum class Outcome : std::uint8_t { kPass, kFail, kSkip };

struct CheckResult {
  std::string name;     // prepare/idempotent
  std::string rule;     // a sentence that is true for a good driver
  std::string chapter;  // of docs/spec/node.md that says so
  Outcome outcome = Outcome::kPass;
  std::string detail;  // what happened instead, or why it was left out
};

struct ConformanceOptions {
  std::string socket;  // the registration socket
  std::vector<std::string> cdi_folders;
  // To make claims, and to look at slices; null: checks that need them are left out.
  api::Cluster* cluster = nullptr;
  std::string node;  // of the driver's slices; empty: that of the only node with some
  std::string namespace_ = "default";
  // Restarts the driver and returns when that was begun; none: it is not restarted.
  std::function<Status()> restart;
  std::chrono::nanoseconds patience = std::chrono::seconds(45);  // with prepare and unprepare
  std::chrono::nanoseconds connect_patience = std::chrono::seconds(10);
  std::chrono::nanoseconds health_patience = std::chrono::seconds(15);
  std::chrono::nanoseconds restart_patience = std::chrono::seconds(30);  // until it is back
  // With the repair of a slice that is deleted for the purpose; zero: none is deleted.
  std::chrono::nanoseconds repair_patience{0};
  std::function<void(const CheckResult&)> on_result;  // as they come
};

// All checks, in order. The connector and the cluster outlive it. Leaves nothing behind: no claim,
// nothing prepared.
std::vector<CheckResult> TestDriver(const ConformanceOptions& options,
                                    rpc::PluginConnector& connector);
// Over the sockets of this machine.
std::vector<CheckResult> TestDriver(const ConformanceOptions& options);

inline bool Passed(const std::vector<CheckResult>& results) {
  for (const CheckResult& result : results) {
    if (result.outcome == Outcome::kFail) return false;
  }
  return true;
}

}  // namespace dray::driver
