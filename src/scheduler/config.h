// SPDX-License-Identifier: Apache-2.0
//
// The scheduler's configuration: the fields of KubeSchedulerConfiguration v1 that apply.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dray::scheduler {

enum class ScoringStrategy : std::uint8_t {
  kLeastAllocated,
  kMostAllocated,
  kRequestedToCapacityRatio,
};

struct ResourceWeight {
  std::string name;
  std::int64_t weight = 1;
};
struct ShapePoint {
  std::int32_t utilization = 0;  // 0 to 100
  std::int32_t score = 0;        // 0 to 10
};

struct FitArgs {
  ScoringStrategy strategy = ScoringStrategy::kLeastAllocated;
  std::vector<ResourceWeight> resources = {{"cpu", 1}, {"memory", 1}};
  std::vector<ShapePoint> shape;
  std::vector<std::string> ignored_resources;
  std::vector<std::string> ignored_resource_groups;
};

struct DynamicResourcesArgs {
  std::chrono::nanoseconds filter_timeout = std::chrono::seconds(10);
  std::chrono::nanoseconds binding_timeout = std::chrono::seconds(600);
};

struct DefaultPreemptionArgs {
  std::int32_t min_candidate_nodes_percentage = 10;
  std::int32_t min_candidate_nodes_absolute = 100;
};

struct PluginWeight {
  std::string name;
  std::int64_t weight = 1;
};

struct Profile {
  std::string scheduler_name = "default-scheduler";
  std::vector<std::string> disabled;        // plugins by name, sorted; "*" has been resolved
  std::vector<PluginWeight> score_weights;  // where they differ from the defaults; 0: no scoring
  FitArgs fit;
  DynamicResourcesArgs dynamic_resources;
  DefaultPreemptionArgs preemption;
};

struct Config {
  std::vector<Profile> profiles = {{}};
  std::chrono::nanoseconds initial_backoff = std::chrono::seconds(1);
  std::chrono::nanoseconds max_backoff = std::chrono::seconds(10);
  // How many workers ask about nodes, at most. 0: as many as there are cores, at most 16. Who has
  // threads makes SchedulerOptions::executor of it (threads::WorkersFor).
  std::int32_t parallelism = 0;
};

struct LoadedConfig {
  Config config;
  // "extenders: does not apply: ...": what is known but has no effect here, and what is not
  // known.
  std::vector<std::string> notes;
};
// Reads a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) in YAML or JSON. Wrong values
// are InvalidArgument, all at once, each with its field, the value and what would be right. What
// the file does not say has Kubernetes's defaults.
StatusOr<LoadedConfig> ReadConfig(std::string_view yaml);

}  // namespace dray::scheduler
