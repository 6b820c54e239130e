// SPDX-License-Identifier: Apache-2.0
//
// Traces for tests: what the columns of the openb tables are called, and lists that are made up.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "simulator/trace.h"

namespace dray::simulator {

inline Trace Columns() {
  return {.node_file = "nodes.csv",
          .node_columns = {.name = "sn",
                           .cpu = "cpu_milli",
                           .memory = "memory_mib",
                           .devices = "gpu",
                           .model = "model"},
          .pod_file = "pods.csv",
          .pod_columns = {.name = "name",
                          .cpu = "cpu_milli",
                          .memory = "memory_mib",
                          .devices = "num_gpu",
                          .share = "gpu_milli",
                          .model = "gpu_spec",
                          .arrival = "creation_time",
                          .departure = "deletion_time"}};
}

// A list that nobody has seen: shares, whole devices and several, two models, cpu that runs out.
struct Generated {
  std::vector<TraceNode> nodes;
  std::vector<TracePod> pods;
};
inline Generated Generate(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) {
    return static_cast<std::int64_t>(random() % limit);
  };
  Generated made;
  std::int64_t devices = 0;
  for (int n = 0; n < 40; ++n) {
    const bool large = n % 4 == 0;
    made.nodes.push_back({.name = fmt::format("node-{:02}", n),
                          .milli_cpu = large ? 96'000 : 32'000,
                          .memory_mib = large ? 786'432 : 262'144,
                          .devices = large ? 8 : 4,
                          .model = large ? "large" : "small"});
    devices += made.nodes.back().devices;
  }
  std::vector<TracePod> shapes;
  while (shapes.size() < 30) {
    TracePod& pod = shapes.emplace_back();
    pod = {.name = "p", .milli_cpu = 1000 * (1 + below(12)), .memory_mib = 4096 * (1 + below(8))};
    const std::int64_t what = below(20);
    pod.devices = what < 2 ? 0 : what < 17 ? 1 : what < 19 ? 2 : 4;
    pod.share = what < 2 ? 0 : what < 10 ? static_cast<std::int32_t>(50 * (2 + below(16))) : 1000;
    if (pod.devices > 1) pod.share = 1000;
    if (below(10) == 0) pod.models = {"large"};
  }
  for (std::int64_t asked = 0; asked < 1300 * devices; asked += made.pods.back().milli()) {
    made.pods.push_back(shapes[static_cast<std::size_t>(below(shapes.size()))]);
  }
  return made;
}

}  // namespace dray::simulator
