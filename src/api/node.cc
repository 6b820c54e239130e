// SPDX-License-Identifier: Apache-2.0
#include "api/node.h"

namespace dray::api {

const StructInfo& InfoOf(const Taint*) {
  using T = Taint;
  static const StructInfo info =
      Struct<T>("Taint", {
                             Field<&T::key>("key", {.presence = Presence::kAlways}),
                             Field<&T::value>("value"),
                             Field<&T::effect>("effect", {.presence = Presence::kAlways}),
                             Field<&T::time_added>("timeAdded"),
                         });
  return info;
}

const StructInfo& InfoOf(const NodePodPreemptionPolicy*) {
  using T = NodePodPreemptionPolicy;
  static const StructInfo info = Struct<T>(
      "NodePodPreemptionPolicy",
      {
          Field<&T::disable_resize_preemption>(
              "disableResizePreemption", {.list = ListKind::kSet, .patch_key = kPatchReplaces}),
      });
  return info;
}

const StructInfo& InfoOf(const NodeSpec*) {
  using T = NodeSpec;
  static const StructInfo info =
      Struct<T>("NodeSpec", {
                                Field<&T::pod_cidr>("podCIDR"),
                                Field<&T::pod_cidrs>("podCIDRs", {.list = ListKind::kSet}),
                                Field<&T::provider_id>("providerID"),
                                Field<&T::unschedulable>("unschedulable"),
                                Field<&T::taints>("taints"),
                                Field<&T::config_source>("configSource"),
                                Field<&T::external_id>("externalID"),
                                Field<&T::pod_preemption_policy>("podPreemptionPolicy"),
                            });
  return info;
}

const StructInfo& InfoOf(const NodeCondition*) {
  using T = NodeCondition;
  static const StructInfo info =
      Struct<T>("NodeCondition", {
                                     Field<&T::type>("type", {.presence = Presence::kAlways}),
                                     Field<&T::status>("status", {.presence = Presence::kAlways}),
                                     Field<&T::last_heartbeat_time>("lastHeartbeatTime"),
                                     Field<&T::last_transition_time>("lastTransitionTime"),
                                     Field<&T::reason>("reason"),
                                     Field<&T::message>("message"),
                                 });
  return info;
}

const StructInfo& InfoOf(const NodeAddress*) {
  using T = NodeAddress;
  static const StructInfo info =
      Struct<T>("NodeAddress", {
                                   Field<&T::type>("type", {.presence = Presence::kAlways}),
                                   Field<&T::address>("address", {.presence = Presence::kAlways}),
                               });
  return info;
}

const StructInfo& InfoOf(const DaemonEndpoint*) {
  using T = DaemonEndpoint;
  static const StructInfo info =
      Struct<T>("DaemonEndpoint", {
                                      Field<&T::port>("Port", {.presence = Presence::kAlways}),
                                  });
  return info;
}

const StructInfo& InfoOf(const NodeDaemonEndpoints*) {
  using T = NodeDaemonEndpoints;
  static const StructInfo info =
      Struct<T>("NodeDaemonEndpoints", {
                                           Field<&T::kubelet_endpoint>("kubeletEndpoint"),
                                       });
  return info;
}

const StructInfo& InfoOf(const NodeSwapStatus*) {
  using T = NodeSwapStatus;
  static const StructInfo info = Struct<T>("NodeSwapStatus", {
                                                                 Field<&T::capacity>("capacity"),
                                                             });
  return info;
}

const StructInfo& InfoOf(const NodeSystemInfo*) {
  using T = NodeSystemInfo;
  static const StructInfo info = Struct<T>(
      "NodeSystemInfo",
      {
          Field<&T::machine_id>("machineID", {.presence = Presence::kAlways}),
          Field<&T::system_uuid>("systemUUID", {.presence = Presence::kAlways}),
          Field<&T::boot_id>("bootID", {.presence = Presence::kAlways}),
          Field<&T::kernel_version>("kernelVersion", {.presence = Presence::kAlways}),
          Field<&T::os_image>("osImage", {.presence = Presence::kAlways}),
          Field<&T::container_runtime_version>("containerRuntimeVersion",
                                               {.presence = Presence::kAlways}),
          Field<&T::kubelet_version>("kubeletVersion", {.presence = Presence::kAlways}),
          Field<&T::kube_proxy_version>("kubeProxyVersion", {.presence = Presence::kAlways}),
          Field<&T::operating_system>("operatingSystem", {.presence = Presence::kAlways}),
          Field<&T::architecture>("architecture", {.presence = Presence::kAlways}),
          Field<&T::swap>("swap"),
          Field<&T::running_in_user_namespace>("runningInUserNamespace"),
      });
  return info;
}

const StructInfo& InfoOf(const ContainerImage*) {
  using T = ContainerImage;
  static const StructInfo info =
      Struct<T>("ContainerImage", {
                                      Field<&T::names>("names", {.presence = Presence::kAlways}),
                                      Field<&T::size_bytes>("sizeBytes"),
                                  });
  return info;
}

const StructInfo& InfoOf(const AttachedVolume*) {
  using T = AttachedVolume;
  static const StructInfo info = Struct<T>(
      "AttachedVolume", {
                            Field<&T::name>("name", {.presence = Presence::kAlways}),
                            Field<&T::device_path>("devicePath", {.presence = Presence::kAlways}),
                        });
  return info;
}

const StructInfo& InfoOf(const NodeRuntimeHandlerFeatures*) {
  using T = NodeRuntimeHandlerFeatures;
  static const StructInfo info =
      Struct<T>("NodeRuntimeHandlerFeatures",
                {
                    Field<&T::recursive_read_only_mounts>("recursiveReadOnlyMounts"),
                    Field<&T::user_namespaces>("userNamespaces"),
                });
  return info;
}

const StructInfo& InfoOf(const NodeRuntimeHandler*) {
  using T = NodeRuntimeHandler;
  static const StructInfo info =
      Struct<T>("NodeRuntimeHandler", {
                                          Field<&T::name>("name", {.presence = Presence::kAlways}),
                                          Field<&T::features>("features"),
                                      });
  return info;
}

const StructInfo& InfoOf(const NodeFeatures*) {
  using T = NodeFeatures;
  static const StructInfo info = Struct<T>(
      "NodeFeatures", {
                          Field<&T::supplemental_groups_policy>("supplementalGroupsPolicy"),
                      });
  return info;
}

const StructInfo& InfoOf(const NodeStatus*) {
  using T = NodeStatus;
  static const StructInfo info = Struct<T>(
      "NodeStatus",
      {
          Field<&T::capacity>("capacity"),
          Field<&T::allocatable>("allocatable"),
          Field<&T::phase>("phase"),
          Field<&T::conditions>("conditions", {.list = ListKind::kMap, .keys = "type"}),
          Field<&T::addresses>("addresses", {.list = ListKind::kMap, .keys = "type"}),
          Field<&T::daemon_endpoints>("daemonEndpoints"),
          Field<&T::node_info>("nodeInfo"),
          Field<&T::images>("images"),
          Field<&T::volumes_in_use>("volumesInUse"),
          Field<&T::volumes_attached>("volumesAttached"),
          Field<&T::config>("config"),
          Field<&T::runtime_handlers>("runtimeHandlers"),
          Field<&T::features>("features"),
          Field<&T::declared_features>("declaredFeatures", {.gate = Gate::kNodeDeclaredFeatures}),
      });
  return info;
}

const StructInfo& InfoOf(const Node*) {
  using T = Node;
  static const StructInfo info = Struct<T>("Node", {
                                                       Field<&T::metadata>("metadata"),
                                                       Field<&T::spec>("spec"),
                                                       Field<&T::status>("status"),
                                                   });
  return info;
}

}  // namespace dray::api
