// SPDX-License-Identifier: Apache-2.0
//
// A configuration as a file could have it.
#include <string>
#include <utility>
#include <vector>

#include "api/json.h"
#include "base/time.h"
#include "scheduler/internal/config_reader.h"

namespace dray::scheduler {
namespace internal {
namespace {

std::string_view NameOf(ScoringStrategy strategy) {
  switch (strategy) {
    case ScoringStrategy::kLeastAllocated:
      return "LeastAllocated";
    case ScoringStrategy::kMostAllocated:
      return "MostAllocated";
    case ScoringStrategy::kRequestedToCapacityRatio:
      return "RequestedToCapacityRatio";
  }
  return "";
}

template <typename Args>
FilePluginConfig ConfigOf(std::string name, Args args) {
  args.api_version = kConfigApiVersion;
  args.kind = name + "Args";
  return {.name = std::move(name), .args = {api::EncodeJson(args)}};
}

FileFitArgs FitOf(const FitArgs& fit) {
  FileFitArgs args{.ignored_resources = fit.ignored_resources,
                   .ignored_resource_groups = fit.ignored_resource_groups};
  FileScoringStrategy strategy{.type = std::string(NameOf(fit.strategy))};
  for (const ResourceWeight& resource : fit.resources) {
    strategy.resources.push_back({.name = resource.name, .weight = resource.weight});
  }
  if (!fit.shape.empty()) {
    FileRatio ratio;
    for (const ShapePoint& point : fit.shape) {
      ratio.shape.push_back({.utilization = point.utilization, .score = point.score});
    }
    strategy.requested_to_capacity_ratio = std::move(ratio);
  }
  args.scoring_strategy = std::move(strategy);
  return args;
}

FileProfile ProfileOf(const Profile& profile) {
  FileProfile file{.scheduler_name = profile.scheduler_name};
  for (const std::string& name : profile.disabled) {
    file.plugins.multi_point.disabled.push_back({.name = name});
  }
  for (const PluginWeight& plugin : profile.score_weights) {
    if (plugin.weight == 0) {
      file.plugins.score.disabled.push_back({.name = plugin.name});
    } else {
      file.plugins.score.enabled.push_back(
          {.name = plugin.name, .weight = static_cast<std::int32_t>(plugin.weight)});
    }
  }
  const auto shown = [](std::chrono::nanoseconds time) { return base::GoDurationToString(time); };
  file.plugin_config.push_back(ConfigOf(
      "DefaultPreemption",
      FilePreemptionArgs{
          .min_candidate_nodes_percentage = profile.preemption.min_candidate_nodes_percentage,
          .min_candidate_nodes_absolute = profile.preemption.min_candidate_nodes_absolute,
          .devices = profile.preemption.devices}));
  if (profile.policy == allocator::Policy::kFragmentation) {
    const DeviceFragmentationArgs& args = profile.fragmentation;
    FileFragmentationArgs shown_args{
        .sequences = args.sequences, .seed = args.seed, .half_life = args.half_life};
    for (const TypicalRequest& request : args.requests) {
      shown_args.requests.push_back(
          {.weight = request.weight, .resources = request.resources, .devices = request.devices});
    }
    file.plugin_config.push_back(ConfigOf("DeviceFragmentation", shown_args));
  }
  file.plugin_config.push_back(ConfigOf(
      "DynamicResources",
      FileDynamicResourcesArgs{.filter_timeout = shown(profile.dynamic_resources.filter_timeout),
                               .binding_timeout = shown(profile.dynamic_resources.binding_timeout),
                               .drivers = profile.dynamic_resources.drivers,
                               .device_classes = profile.dynamic_resources.device_classes,
                               .policy = profile.policy
                                             ? std::string(allocator::RowOf(*profile.policy).name)
                                             : std::string()}));
  if (profile.node_affinity.added_affinity) {
    file.plugin_config.push_back(
        ConfigOf("NodeAffinity",
                 FileNodeAffinityArgs{.added_affinity = profile.node_affinity.added_affinity}));
  }
  file.plugin_config.push_back(ConfigOf("NodeResourcesFit", FitOf(profile.fit)));
  file.plugin_config.push_back(ConfigOf(
      "VolumeBinding", FileVolumeBindingArgs{.bind_timeout_seconds =
                                                 std::chrono::duration_cast<std::chrono::seconds>(
                                                     profile.volume_binding.timeout)
                                                     .count()}));
  return file;
}

FileLeaderElection ElectionOf(const LeaderElectionConfig& election) {
  const auto shown = [](const std::optional<std::chrono::nanoseconds>& time) {
    return time ? std::optional(base::GoDurationToString(*time)) : std::nullopt;
  };
  return {.leader_elect = election.leader_elect,
          .lease_duration = shown(election.lease_duration),
          .renew_deadline = shown(election.renew_deadline),
          .retry_period = shown(election.retry_period),
          .resource_lock = "leases",
          .resource_name = election.resource_name,
          .resource_namespace = election.resource_namespace};
}

}  // namespace
}  // namespace internal

std::string ShowConfig(const LoadedConfig& loaded) {
  const Config& config = loaded.config;
  const auto seconds = [](std::chrono::nanoseconds time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time).count();
  };
  internal::ConfigFile file{.api_version = std::string(internal::kConfigApiVersion),
                            .kind = "KubeSchedulerConfiguration",
                            .pod_initial_backoff_seconds = seconds(config.initial_backoff),
                            .pod_max_backoff_seconds = seconds(config.max_backoff),
                            .parallelism = config.parallelism};
  for (const Profile& profile : config.profiles) {
    file.profiles.push_back(internal::ProfileOf(profile));
  }
  if (loaded.leader_election) {
    file.leader_election = internal::ElectionOf(*loaded.leader_election);
  }
  if (loaded.client_connection) {
    const ClientConnectionConfig& client = *loaded.client_connection;
    file.client_connection = internal::FileClientConnection{
        .kubeconfig = client.kubeconfig, .qps = client.qps, .burst = client.burst};
  }
  return api::EncodeJson(file);
}

}  // namespace dray::scheduler
