// SPDX-License-Identifier: Apache-2.0
#include "scheduler/internal/config_file.h"

namespace dray::scheduler::internal {

using api::Field;
using api::Struct;
using api::StructInfo;

const StructInfo& InfoOf(const FilePlugin*) {
  using T = FilePlugin;
  static const StructInfo info = Struct<T>("Plugin", {
                                                         Field<&T::name>("name"),
                                                         Field<&T::weight>("weight"),
                                                     });
  return info;
}

const StructInfo& InfoOf(const FilePluginSet*) {
  using T = FilePluginSet;
  static const StructInfo info = Struct<T>("PluginSet", {
                                                            Field<&T::enabled>("enabled"),
                                                            Field<&T::disabled>("disabled"),
                                                        });
  return info;
}

const StructInfo& InfoOf(const FilePlugins*) {
  using T = FilePlugins;
  static const StructInfo info =
      Struct<T>("Plugins", {
                               Field<&T::pre_enqueue>("preEnqueue"),
                               Field<&T::queue_sort>("queueSort"),
                               Field<&T::pre_filter>("preFilter"),
                               Field<&T::filter>("filter"),
                               Field<&T::post_filter>("postFilter"),
                               Field<&T::pre_score>("preScore"),
                               Field<&T::score>("score"),
                               Field<&T::reserve>("reserve"),
                               Field<&T::permit>("permit"),
                               Field<&T::pre_bind>("preBind"),
                               Field<&T::bind>("bind"),
                               Field<&T::post_bind>("postBind"),
                               Field<&T::multi_point>("multiPoint"),
                               Field<&T::placement_generate>("placementGenerate"),
                               Field<&T::placement_score>("placementScore"),
                               Field<&T::pod_group_post_filter>("podGroupPostFilter"),
                           });
  return info;
}

const StructInfo& InfoOf(const FilePluginConfig*) {
  using T = FilePluginConfig;
  static const StructInfo info = Struct<T>("PluginConfig", {
                                                               Field<&T::name>("name"),
                                                               Field<&T::args>("args"),
                                                           });
  return info;
}

const StructInfo& InfoOf(const FileProfile*) {
  using T = FileProfile;
  static const StructInfo info =
      Struct<T>("KubeSchedulerProfile",
                {
                    Field<&T::scheduler_name>("schedulerName"),
                    Field<&T::percentage_of_nodes_to_score>("percentageOfNodesToScore"),
                    Field<&T::plugins>("plugins"),
                    Field<&T::plugin_config>("pluginConfig"),
                });
  return info;
}

const StructInfo& InfoOf(const FileLeaderElection*) {
  using T = FileLeaderElection;
  static const StructInfo info = Struct<T>("LeaderElectionConfiguration",
                                           {
                                               Field<&T::leader_elect>("leaderElect"),
                                               Field<&T::lease_duration>("leaseDuration"),
                                               Field<&T::renew_deadline>("renewDeadline"),
                                               Field<&T::retry_period>("retryPeriod"),
                                               Field<&T::resource_lock>("resourceLock"),
                                               Field<&T::resource_name>("resourceName"),
                                               Field<&T::resource_namespace>("resourceNamespace"),
                                           });
  return info;
}

const StructInfo& InfoOf(const FileClientConnection*) {
  using T = FileClientConnection;
  static const StructInfo info = Struct<T>(
      "ClientConnectionConfiguration", {
                                           Field<&T::kubeconfig>("kubeconfig"),
                                           Field<&T::accept_content_types>("acceptContentTypes"),
                                           Field<&T::content_type>("contentType"),
                                           Field<&T::qps>("qps"),
                                           Field<&T::burst>("burst"),
                                       });
  return info;
}

const StructInfo& InfoOf(const ConfigFile*) {
  using T = ConfigFile;
  static const StructInfo info =
      Struct<T>("KubeSchedulerConfiguration",
                {
                    Field<&T::api_version>("apiVersion"),
                    Field<&T::kind>("kind"),
                    Field<&T::pod_initial_backoff_seconds>("podInitialBackoffSeconds"),
                    Field<&T::pod_max_backoff_seconds>("podMaxBackoffSeconds"),
                    Field<&T::profiles>("profiles"),
                    Field<&T::parallelism>("parallelism"),
                    Field<&T::leader_election>("leaderElection"),
                    Field<&T::client_connection>("clientConnection"),
                    Field<&T::enable_profiling>("enableProfiling"),
                    Field<&T::enable_contention_profiling>("enableContentionProfiling"),
                    Field<&T::percentage_of_nodes_to_score>("percentageOfNodesToScore"),
                    Field<&T::extenders>("extenders"),
                    Field<&T::delay_cache_until_active>("delayCacheUntilActive"),
                });
  return info;
}

const StructInfo& InfoOf(const FileResource*) {
  using T = FileResource;
  static const StructInfo info = Struct<T>("ResourceSpec", {
                                                               Field<&T::name>("name"),
                                                               Field<&T::weight>("weight"),
                                                           });
  return info;
}

const StructInfo& InfoOf(const FileShapePoint*) {
  using T = FileShapePoint;
  static const StructInfo info =
      Struct<T>("UtilizationShapePoint", {
                                             Field<&T::utilization>("utilization"),
                                             Field<&T::score>("score"),
                                         });
  return info;
}

const StructInfo& InfoOf(const FileRatio*) {
  using T = FileRatio;
  static const StructInfo info =
      Struct<T>("RequestedToCapacityRatioParam", {
                                                     Field<&T::shape>("shape"),
                                                 });
  return info;
}

const StructInfo& InfoOf(const FileScoringStrategy*) {
  using T = FileScoringStrategy;
  static const StructInfo info = Struct<T>(
      "ScoringStrategy", {
                             Field<&T::type>("type"),
                             Field<&T::resources>("resources"),
                             Field<&T::requested_to_capacity_ratio>("requestedToCapacityRatio"),
                         });
  return info;
}

const StructInfo& InfoOf(const FileFitArgs*) {
  using T = FileFitArgs;
  static const StructInfo info = Struct<T>(
      "NodeResourcesFitArgs", {
                                  Field<&T::api_version>("apiVersion"),
                                  Field<&T::kind>("kind"),
                                  Field<&T::ignored_resources>("ignoredResources"),
                                  Field<&T::ignored_resource_groups>("ignoredResourceGroups"),
                                  Field<&T::scoring_strategy>("scoringStrategy"),
                              });
  return info;
}

const StructInfo& InfoOf(const FileDynamicResourcesArgs*) {
  using T = FileDynamicResourcesArgs;
  static const StructInfo info =
      Struct<T>("DynamicResourcesArgs", {
                                            Field<&T::api_version>("apiVersion"),
                                            Field<&T::kind>("kind"),
                                            Field<&T::filter_timeout>("filterTimeout"),
                                            Field<&T::binding_timeout>("bindingTimeout"),
                                            Field<&T::drivers>("drivers"),
                                            Field<&T::device_classes>("deviceClasses"),
                                            Field<&T::policy>("policy"),
                                        });
  return info;
}

const StructInfo& InfoOf(const FileTypicalRequest*) {
  using T = FileTypicalRequest;
  static const StructInfo info = Struct<T>("TypicalRequest", {
                                                                 Field<&T::weight>("weight"),
                                                                 Field<&T::resources>("resources"),
                                                                 Field<&T::devices>("devices"),
                                                             });
  return info;
}

const StructInfo& InfoOf(const FileFragmentationArgs*) {
  using T = FileFragmentationArgs;
  static const StructInfo info =
      Struct<T>("DeviceFragmentationArgs", {
                                               Field<&T::api_version>("apiVersion"),
                                               Field<&T::kind>("kind"),
                                               Field<&T::sequences>("sequences"),
                                               Field<&T::seed>("seed"),
                                               Field<&T::half_life>("halfLife"),
                                               Field<&T::requests>("requests"),
                                           });
  return info;
}

const StructInfo& InfoOf(const FileNodeAffinityArgs*) {
  using T = FileNodeAffinityArgs;
  static const StructInfo info =
      Struct<T>("NodeAffinityArgs", {
                                        Field<&T::api_version>("apiVersion"),
                                        Field<&T::kind>("kind"),
                                        Field<&T::added_affinity>("addedAffinity"),
                                    });
  return info;
}

const StructInfo& InfoOf(const FilePreemptionArgs*) {
  using T = FilePreemptionArgs;
  static const StructInfo info =
      Struct<T>("DefaultPreemptionArgs",
                {
                    Field<&T::api_version>("apiVersion"),
                    Field<&T::kind>("kind"),
                    Field<&T::min_candidate_nodes_percentage>("minCandidateNodesPercentage"),
                    Field<&T::min_candidate_nodes_absolute>("minCandidateNodesAbsolute"),
                    Field<&T::devices>("devices"),
                });
  return info;
}

const StructInfo& InfoOf(const FileVolumeBindingArgs*) {
  using T = FileVolumeBindingArgs;
  static const StructInfo info =
      Struct<T>("VolumeBindingArgs", {
                                         Field<&T::api_version>("apiVersion"),
                                         Field<&T::kind>("kind"),
                                         Field<&T::bind_timeout_seconds>("bindTimeoutSeconds"),
                                         Field<&T::shape>("shape"),
                                     });
  return info;
}

}  // namespace dray::scheduler::internal
