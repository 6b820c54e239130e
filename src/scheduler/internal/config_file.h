// SPDX-License-Identifier: Apache-2.0
//
// A KubeSchedulerConfiguration as its file has it. Fields that have no effect here are kept as raw
// text: they are known, and that is all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/affinity.h"
#include "api/box.h"
#include "api/field_table.h"
#include "api/resource_claim.h"
#include "api/values.h"

namespace dray::scheduler::internal {

struct FilePlugin {
  std::string name;
  std::optional<std::int32_t> weight;
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FilePlugin*);

struct FilePluginSet {
  std::vector<FilePlugin> enabled;
  std::vector<FilePlugin> disabled;
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FilePluginSet*);

// One set per extension point; see kPoints in config_plugins.h for what they mean.
struct FilePlugins {
  FilePluginSet pre_enqueue;
  FilePluginSet queue_sort;
  FilePluginSet pre_filter;
  FilePluginSet filter;
  FilePluginSet post_filter;
  FilePluginSet pre_score;
  FilePluginSet score;
  FilePluginSet reserve;
  FilePluginSet permit;
  FilePluginSet pre_bind;
  FilePluginSet bind;
  FilePluginSet post_bind;
  FilePluginSet multi_point;
  FilePluginSet placement_generate;
  FilePluginSet placement_score;
  FilePluginSet pod_group_post_filter;
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FilePlugins*);

struct FilePluginConfig {
  std::string name;
  api::RawJson args;  // read again, by the plugin's own table
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FilePluginConfig*);

struct FileProfile {
  std::optional<std::string> scheduler_name;
  api::RawJson percentage_of_nodes_to_score;
  FilePlugins plugins;
  std::vector<FilePluginConfig> plugin_config;
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FileProfile*);

struct FileLeaderElection {
  std::optional<bool> leader_elect;
  std::optional<std::string> lease_duration;
  std::optional<std::string> renew_deadline;
  std::optional<std::string> retry_period;
  std::string resource_lock;
  std::string resource_name;
  std::string resource_namespace;
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FileLeaderElection*);

struct FileClientConnection {
  std::string kubeconfig;
  std::string accept_content_types;
  std::string content_type;
  std::optional<double> qps;
  std::optional<std::int32_t> burst;
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FileClientConnection*);

struct ConfigFile {
  std::string api_version;
  std::string kind;
  std::optional<std::int64_t> pod_initial_backoff_seconds;
  std::optional<std::int64_t> pod_max_backoff_seconds;
  std::vector<FileProfile> profiles;
  std::optional<std::int32_t> parallelism;
  api::Box<FileLeaderElection> leader_election;
  api::Box<FileClientConnection> client_connection;
  api::RawJson enable_profiling;
  api::RawJson enable_contention_profiling;
  api::RawJson percentage_of_nodes_to_score;
  api::RawJson extenders;
  api::RawJson delay_cache_until_active;
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const ConfigFile*);

// Arguments of plugins. Each may repeat its apiVersion and kind.
struct FileResource {
  std::string name;
  std::int64_t weight = 0;
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FileResource*);

struct FileShapePoint {
  std::int32_t utilization = 0;
  std::int32_t score = 0;
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FileShapePoint*);

struct FileRatio {
  std::vector<FileShapePoint> shape;
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FileRatio*);

struct FileScoringStrategy {
  std::string type;
  std::vector<FileResource> resources;
  api::Box<FileRatio> requested_to_capacity_ratio;
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FileScoringStrategy*);

struct FileFitArgs {
  std::string api_version;
  std::string kind;
  std::vector<std::string> ignored_resources;
  std::vector<std::string> ignored_resource_groups;
  api::Box<FileScoringStrategy> scoring_strategy;
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FileFitArgs*);

struct FileDynamicResourcesArgs {
  std::string api_version;
  std::string kind;
  std::optional<std::string> filter_timeout;
  std::optional<std::string> binding_timeout;
  std::vector<std::string> drivers;
  std::vector<std::string> device_classes;
  std::string policy;
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FileDynamicResourcesArgs*);

struct FileTypicalRequest {
  std::optional<std::int32_t> weight;
  api::Map<base::Quantity> resources;
  api::DeviceClaim devices;
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FileTypicalRequest*);

struct FileFragmentationArgs {
  std::string api_version;
  std::string kind;
  std::optional<std::int32_t> sequences;
  std::optional<std::int64_t> seed;
  std::optional<std::int64_t> half_life;
  std::vector<FileTypicalRequest> requests;
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FileFragmentationArgs*);

struct FileNodeAffinityArgs {
  std::string api_version;
  std::string kind;
  api::Box<api::NodeAffinity> added_affinity;
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FileNodeAffinityArgs*);

struct FilePreemptionArgs {
  std::string api_version;
  std::string kind;
  std::optional<std::int32_t> min_candidate_nodes_percentage;
  std::optional<std::int32_t> min_candidate_nodes_absolute;
  std::optional<bool> devices;  // dray's own
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FilePreemptionArgs*);

struct FileVolumeBindingArgs {
  std::string api_version;
  std::string kind;
  std::optional<std::int64_t> bind_timeout_seconds;
  api::Box<api::RawJson> shape;
  api::UnknownFields unknown;
};
const api::StructInfo& InfoOf(const FileVolumeBindingArgs*);

}  // namespace dray::scheduler::internal
