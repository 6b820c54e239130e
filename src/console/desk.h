// SPDX-License-Identifier: Apache-2.0
//
// Desk: who plans, explains and simulates for the console. The commands do, so that the console
// says what they say; this is what they are handed, and what they answer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "base/time.h"
#include "console/requests.h"

namespace dray::console {

// A cluster as somebody sees it.
struct Scene {
  std::vector<api::Object> objects;
  std::vector<std::string> assumptions;  // what is not known of it
  bool complete = false;                 // `objects` are all there are
  std::string namespace_ = "default";    // of manifests that name none
  base::Time now;
  std::uint64_t revision = 0;
  // Numbers of the fleet.
  std::function<std::optional<std::uint32_t>(std::string_view driver, std::string_view pool,
                                             std::string_view device)>
      device_id;
  std::function<std::optional<std::uint32_t>(std::string_view node)> node_id;
  // Whether to end: too late, or nobody waits any more. From any thread.
  std::function<bool()> expired;
};

struct Answer {
  int code = 200;
  std::string json;
};
// A Kubernetes Status as an answer.
Answer Refusal(int code, std::string_view reason, std::string_view message);

struct SimulationProgress {
  double share = 0;
  std::int64_t seconds = 0;  // simulated
};

// Thread-safe.
class Desk {
 public:
  virtual ~Desk() = default;
  // What decisions depend on, in the hub's versions.
  virtual std::span<const api::KindInfo* const> Kinds() const = 0;
  virtual Answer Plan(const PlanRequest& request, Scene scene) = 0;
  virtual Answer Explain(const ExplainRequest& request, Scene scene) = 0;
  // `GET scalable`.
  virtual Answer Scalable(Scene scene) = 0;

  // `GET scenarios`.
  virtual Answer Scenarios() = 0;
  struct Started {
    std::string title;
    std::uint64_t seed = 0;
    std::string policy;
  };
  // Runs until it is done: 200 and its result, or why not. `started` is called first.
  virtual Answer Simulate(const SimulationRequest& request,
                          const std::function<void(const Started&)>& started,
                          const std::function<void(const SimulationProgress&)>& progress,
                          const std::function<bool()>& cancelled) = 0;
};

}  // namespace dray::console
