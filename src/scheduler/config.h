// SPDX-License-Identifier: Apache-2.0
//
// The scheduler's configuration: the fields of KubeSchedulerConfiguration v1 that apply.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/policy.h"
#include "api/affinity.h"
#include "api/map.h"
#include "api/resource_claim.h"
#include "base/quantity.h"
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
  // dray's own: the profile gives away devices of these drivers, and serves requests for these
  // classes, and no others. Empty: all. So that of several schedulers each has its own devices.
  std::vector<std::string> drivers;
  std::vector<std::string> device_classes;
};

// What many pods ask for, as somebody says it.
struct TypicalRequest {
  std::int32_t weight = 1;             // so many pods of all
  api::Map<base::Quantity> resources;  // cpu and memory
  api::DeviceClaim devices;            // as in the spec of a claim, with its defaults
};

// dray's own: how DeviceFragmentation values nodes (packing/packer.h).
struct DeviceFragmentationArgs {
  std::int32_t sequences = 96;
  std::int64_t seed = 1;
  std::int64_t half_life = 50'000;  // pods after which one that was seen counts half
  // Nodes are valued by these, and nothing is learned. Empty: by what pods ask for as they come.
  std::vector<TypicalRequest> requests;
};

struct NodeAffinityArgs {
  // Beside each pod's own: where the profile's pods may be, and would better be.
  api::Box<api::NodeAffinity> added_affinity;
};

struct DefaultPreemptionArgs {
  std::int32_t min_candidate_nodes_percentage = 10;
  std::int32_t min_candidate_nodes_absolute = 100;
  // dray's own: pods are sent away for devices, too. Kubernetes never does that.
  bool devices = false;
};

struct VolumeBindingArgs {
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);
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
  NodeAffinityArgs node_affinity;
  DeviceFragmentationArgs fragmentation;
  // How devices are chosen, and with `fragmentation` nodes. Nothing: as the command says.
  std::optional<allocator::Policy> policy;
  VolumeBindingArgs volume_binding;
};

// The profile with this policy unless it has its own. With fragmentation the plugin of that name
// scores instead of NodeResourcesFit and NodeResourcesBalancedAllocation, unless the profile gives
// these weights; a profile in which it scores has that policy unless it says otherwise.
Profile WithPolicy(Profile profile, allocator::Policy policy);

struct Config {
  std::vector<Profile> profiles = {{}};
  std::chrono::nanoseconds initial_backoff = std::chrono::seconds(1);
  std::chrono::nanoseconds max_backoff = std::chrono::seconds(10);
  // How many workers ask about nodes, at most. 0: as many as there are cores, at most 16. Who has
  // threads makes SchedulerOptions::executor of it (threads::WorkersFor).
  std::int32_t parallelism = 0;
};

// What a file says about the process that schedules, for the command that is one. What it does not
// say is nothing here: flags and defaults are the command's.
struct LeaderElectionConfig {
  std::optional<bool> leader_elect;
  std::optional<std::chrono::nanoseconds> lease_duration;
  std::optional<std::chrono::nanoseconds> renew_deadline;
  std::optional<std::chrono::nanoseconds> retry_period;
  std::string resource_name;
  std::string resource_namespace;
};
struct ClientConnectionConfig {
  std::string kubeconfig;
  std::optional<double> qps;  // requests a second; negative: as many as one likes
  std::optional<std::int32_t> burst;
};

struct LoadedConfig {
  Config config;
  // Nothing: the file has no such field.
  std::optional<LeaderElectionConfig> leader_election;
  std::optional<ClientConnectionConfig> client_connection;
  // "extenders: does not apply: ...": what is known but has no effect here, and what is not
  // known.
  std::vector<std::string> notes;
};
// Reads a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) in YAML or JSON. Wrong values
// are InvalidArgument, all at once, each with its field, the value and what would be right. What
// the file does not say has Kubernetes's defaults.
StatusOr<LoadedConfig> ReadConfig(std::string_view yaml);
// The same as JSON, with what nobody has said; its notes are left out.
std::string ShowConfig(const LoadedConfig& loaded);

}  // namespace dray::scheduler
