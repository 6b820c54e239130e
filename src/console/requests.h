// SPDX-License-Identifier: Apache-2.0
//
// The bodies of requests, read within bounds. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace dray::console {

// What is changed before it is planned. Bounded: at most so many entries of each list.
inline constexpr std::size_t kMostChanges = 1000;
inline constexpr std::int64_t kMostReplicas = 100'000;
inline constexpr std::int64_t kMostNodes = 1000;
inline constexpr std::size_t kMostManifestBytes = 3u << 20;

// "pod/default/a".
struct ObjectName {
  std::string kind;
  std::string namespace_;
  std::string name;
  friend bool operator==(const ObjectName&, const ObjectName&) = default;
};

struct PlanRequest {
  std::string manifests;
  std::vector<ObjectName> gone;
  std::vector<std::pair<ObjectName, std::int64_t>> scale;
  struct MoreNodes {
    std::string like;
    std::int64_t count = 1;
  };
  std::vector<MoreNodes> nodes;
  std::string policy;  // empty: first-fit
  bool explain = false;
};

struct ExplainRequest {
  bool pending = false;
  std::optional<ObjectName> target;  // unless pending
};

struct CelRequest {
  std::string expression;
  bool derived = false;
};

struct SimulationRequest {
  std::string scenario;  // a file's name; or `text`
  std::string text;
  std::optional<std::uint64_t> seed;
  std::string policy;
  std::optional<std::chrono::seconds> duration;
};

// InvalidArgument says which field and what would have been right.
StatusOr<PlanRequest> ReadPlanRequest(std::string_view body);
StatusOr<ExplainRequest> ReadExplainRequest(std::string_view body);
StatusOr<CelRequest> ReadCelRequest(std::string_view body);
StatusOr<SimulationRequest> ReadSimulationRequest(std::string_view body);

}  // namespace dray::console
