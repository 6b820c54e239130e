// SPDX-License-Identifier: Apache-2.0
#include "api/pod_status.h"

namespace dray::api {

const StructInfo& InfoOf(const PodCondition*) {
  using T = PodCondition;
  static const StructInfo info =
      Struct<T>("PodCondition", {
                                    Field<&T::type>("type", {.presence = Presence::kAlways}),
                                    Field<&T::observed_generation>("observedGeneration"),
                                    Field<&T::status>("status", {.presence = Presence::kAlways}),
                                    Field<&T::last_probe_time>("lastProbeTime"),
                                    Field<&T::last_transition_time>("lastTransitionTime"),
                                    Field<&T::reason>("reason"),
                                    Field<&T::message>("message"),
                                });
  return info;
}

const StructInfo& InfoOf(const HostIP*) {
  using T = HostIP;
  static const StructInfo info =
      Struct<T>("HostIP", {
                              Field<&T::ip>("ip", {.presence = Presence::kAlways}),
                          });
  return info;
}

const StructInfo& InfoOf(const PodIP*) {
  using T = PodIP;
  static const StructInfo info =
      Struct<T>("PodIP", {
                             Field<&T::ip>("ip", {.presence = Presence::kAlways}),
                         });
  return info;
}

const StructInfo& InfoOf(const PodResourceClaimStatus*) {
  using T = PodResourceClaimStatus;
  static const StructInfo info = Struct<T>(
      "PodResourceClaimStatus", {
                                    Field<&T::name>("name", {.presence = Presence::kAlways}),
                                    Field<&T::resource_claim_name>("resourceClaimName"),
                                });
  return info;
}

const StructInfo& InfoOf(const ContainerExtendedResourceRequest*) {
  using T = ContainerExtendedResourceRequest;
  static const StructInfo info = Struct<T>(
      "ContainerExtendedResourceRequest",
      {
          Field<&T::container_name>("containerName", {.presence = Presence::kAlways}),
          Field<&T::resource_name>(
              "resourceName", {.presence = Presence::kAlways, .alias = "extendedResourceName"}),
          Field<&T::request_name>("requestName", {.presence = Presence::kAlways}),
      });
  return info;
}

const StructInfo& InfoOf(const PodExtendedResourceClaimStatus*) {
  using T = PodExtendedResourceClaimStatus;
  static const StructInfo info = Struct<T>(
      "PodExtendedResourceClaimStatus",
      {
          Field<&T::request_mappings>("requestMappings",
                                      {.presence = Presence::kAlways, .alias = "requestMapping"}),
          Field<&T::resource_claim_name>("resourceClaimName", {.presence = Presence::kAlways}),
      });
  return info;
}

const StructInfo& InfoOf(const NodeAllocatableMappedResources*) {
  using T = NodeAllocatableMappedResources;
  static const StructInfo info =
      Struct<T>("NodeAllocatableMappedResources",
                {
                    Field<&T::name>("name", {.presence = Presence::kAlways}),
                    Field<&T::quantity>("quantity", {.presence = Presence::kAlways}),
                });
  return info;
}

const StructInfo& InfoOf(const NodeAllocatableOverheadResources*) {
  using T = NodeAllocatableOverheadResources;
  static const StructInfo info =
      Struct<T>("NodeAllocatableOverheadResources",
                {
                    Field<&T::name>("name", {.presence = Presence::kAlways}),
                    Field<&T::per_pod>("perPod"),
                    Field<&T::per_container>("perContainer"),
                });
  return info;
}

const StructInfo& InfoOf(const NodeAllocatableResourceClaimStatus*) {
  using T = NodeAllocatableResourceClaimStatus;
  static const StructInfo info = Struct<T>(
      "NodeAllocatableResourceClaimStatus",
      {
          Field<&T::resource_claim_name>("resourceClaimName", {.presence = Presence::kAlways}),
          Field<&T::containers>("containers",
                                {.list = ListKind::kSet, .patch_key = kPatchReplaces}),
          Field<&T::mapping>("mapping", {.list = ListKind::kMap, .keys = "name"}),
          Field<&T::overhead>("overhead", {.list = ListKind::kMap, .keys = "name"}),
      });
  return info;
}

const StructInfo& InfoOf(const VolumeHealthCondition*) {
  using T = VolumeHealthCondition;
  static const StructInfo info = Struct<T>(
      "VolumeHealthCondition", {
                                   Field<&T::status>("status", {.presence = Presence::kAlways}),
                                   Field<&T::reason>("reason", {.presence = Presence::kAlways}),
                                   Field<&T::message>("message"),
                               });
  return info;
}

const StructInfo& InfoOf(const PodVolumeHealth*) {
  using T = PodVolumeHealth;
  static const StructInfo info =
      Struct<T>("PodVolumeHealth",
                {
                    Field<&T::name>("name", {.presence = Presence::kAlways}),
                    Field<&T::health_conditions>("healthConditions",
                                                 {.list = ListKind::kMap, .keys = "status,reason"}),
                    Field<&T::last_transition_time>("lastTransitionTime"),
                });
  return info;
}

const StructInfo& InfoOf(const PodStatus*) {
  using T = PodStatus;
  static const StructInfo info = Struct<T>(
      "PodStatus",
      {
          Field<&T::observed_generation>("observedGeneration"),
          Field<&T::phase>("phase"),
          Field<&T::conditions>("conditions", {.list = ListKind::kMap, .keys = "type"}),
          Field<&T::message>("message"),
          Field<&T::reason>("reason"),
          Field<&T::nominated_node_name>("nominatedNodeName"),
          Field<&T::host_ip>("hostIP"),
          Field<&T::host_ips>("hostIPs", {.patch_key = "ip"}),
          Field<&T::pod_ip>("podIP"),
          Field<&T::pod_ips>("podIPs", {.list = ListKind::kMap, .keys = "ip"}),
          Field<&T::start_time>("startTime"),
          Field<&T::init_container_statuses>("initContainerStatuses"),
          Field<&T::container_statuses>("containerStatuses"),
          Field<&T::qos_class>("qosClass"),
          Field<&T::ephemeral_container_statuses>("ephemeralContainerStatuses"),
          Field<&T::resize>("resize"),
          Field<&T::resource_claim_statuses>("resourceClaimStatuses",
                                             {.list = ListKind::kMap,
                                              .keys = "name",
                                              .gate = Gate::kDynamicResourceAllocation,
                                              .retain_keys = true}),
          Field<&T::extended_resource_claim_status>("extendedResourceClaimStatus",
                                                    {.gate = Gate::kDRAExtendedResource}),
          Field<&T::allocated_resources>("allocatedResources"),
          Field<&T::resources>("resources"),
          Field<&T::node_allocatable_resource_claim_statuses>(
              "nodeAllocatableResourceClaimStatuses", {.list = ListKind::kMap,
                                                       .keys = "resourceClaimName",
                                                       .gate = Gate::kDRANodeAllocatableResources}),
          Field<&T::volume_health>(
              "volumeHealth",
              {.list = ListKind::kMap, .keys = "name", .patch_key = kPatchReplaces}),
      });
  return info;
}

}  // namespace dray::api
