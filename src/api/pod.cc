// SPDX-License-Identifier: Apache-2.0
#include "api/pod.h"

namespace dray::api {

const StructInfo& InfoOf(const LocalObjectReference*) {
  using T = LocalObjectReference;
  static const StructInfo info = Struct<T>("LocalObjectReference",
                                           {
                                               Field<&T::name>("name"),
                                           },
                                           {.atomic = true});
  return info;
}

const StructInfo& InfoOf(const HostAlias*) {
  using T = HostAlias;
  static const StructInfo info =
      Struct<T>("HostAlias", {
                                 Field<&T::ip>("ip", {.presence = Presence::kAlways}),
                                 Field<&T::hostnames>("hostnames"),
                             });
  return info;
}

const StructInfo& InfoOf(const PodOS*) {
  using T = PodOS;
  static const StructInfo info =
      Struct<T>("PodOS", {
                             Field<&T::name>("name", {.presence = Presence::kAlways}),
                         });
  return info;
}

const StructInfo& InfoOf(const PodReadinessGate*) {
  using T = PodReadinessGate;
  static const StructInfo info =
      Struct<T>("PodReadinessGate",
                {
                    Field<&T::condition_type>("conditionType", {.presence = Presence::kAlways}),
                });
  return info;
}

const StructInfo& InfoOf(const PodSchedulingGate*) {
  using T = PodSchedulingGate;
  static const StructInfo info =
      Struct<T>("PodSchedulingGate", {
                                         Field<&T::name>("name", {.presence = Presence::kAlways}),
                                     });
  return info;
}

const StructInfo& InfoOf(const PodResourceClaim*) {
  using T = PodResourceClaim;
  static const StructInfo info = Struct<T>(
      "PodResourceClaim", {
                              Field<&T::name>("name", {.presence = Presence::kAlways}),
                              Field<&T::resource_claim_name>("resourceClaimName"),
                              Field<&T::resource_claim_template_name>("resourceClaimTemplateName"),
                          });
  return info;
}

const StructInfo& InfoOf(const PodSchedulingGroup*) {
  using T = PodSchedulingGroup;
  static const StructInfo info =
      Struct<T>("PodSchedulingGroup", {
                                          Field<&T::pod_group_name>("podGroupName"),
                                      });
  return info;
}

const StructInfo& InfoOf(const EvictionResponder*) {
  using T = EvictionResponder;
  static const StructInfo info =
      Struct<T>("EvictionResponder",
                {
                    Field<&T::name>("name", {.presence = Presence::kAlways}),
                    Field<&T::priority>("priority", {.presence = Presence::kAlways}),
                },
                {.atomic = true});
  return info;
}

const StructInfo& InfoOf(const PodSpec*) {
  using T = PodSpec;
  static const StructInfo info = Struct<T>(
      "PodSpec",
      {
          Field<&T::volumes>("volumes",
                             {.list = ListKind::kMap, .keys = "name", .retain_keys = true}),
          Field<&T::init_containers>("initContainers", {.list = ListKind::kMap, .keys = "name"}),
          Field<&T::containers>(
              "containers",
              {.presence = Presence::kAlways, .list = ListKind::kMap, .keys = "name"}),
          Field<&T::ephemeral_containers>("ephemeralContainers",
                                          {.list = ListKind::kMap, .keys = "name"}),
          Field<&T::restart_policy>("restartPolicy"),
          Field<&T::termination_grace_period_seconds>("terminationGracePeriodSeconds"),
          Field<&T::active_deadline_seconds>("activeDeadlineSeconds"),
          Field<&T::dns_policy>("dnsPolicy"),
          Field<&T::node_selector>("nodeSelector", {.atomic = true}),
          Field<&T::service_account_name>("serviceAccountName"),
          Field<&T::service_account>("serviceAccount"),
          Field<&T::automount_service_account_token>("automountServiceAccountToken"),
          Field<&T::node_name>("nodeName"),
          Field<&T::host_network>("hostNetwork"),
          Field<&T::host_pid>("hostPID"),
          Field<&T::host_ipc>("hostIPC"),
          Field<&T::share_process_namespace>("shareProcessNamespace"),
          Field<&T::security_context>("securityContext"),
          Field<&T::image_pull_secrets>("imagePullSecrets",
                                        {.list = ListKind::kMap, .keys = "name"}),
          Field<&T::hostname>("hostname"),
          Field<&T::subdomain>("subdomain"),
          Field<&T::affinity>("affinity"),
          Field<&T::scheduler_name>("schedulerName"),
          Field<&T::tolerations>("tolerations"),
          Field<&T::host_aliases>("hostAliases", {.list = ListKind::kMap, .keys = "ip"}),
          Field<&T::priority_class_name>("priorityClassName"),
          Field<&T::priority>("priority"),
          Field<&T::dns_config>("dnsConfig"),
          Field<&T::readiness_gates>("readinessGates"),
          Field<&T::runtime_class_name>("runtimeClassName"),
          Field<&T::enable_service_links>("enableServiceLinks"),
          Field<&T::preemption_policy>("preemptionPolicy"),
          Field<&T::overhead>("overhead"),
          Field<&T::topology_spread_constraints>(
              "topologySpreadConstraints",
              {.list = ListKind::kMap, .keys = "topologyKey,whenUnsatisfiable"}),
          Field<&T::set_hostname_as_fqdn>("setHostnameAsFQDN"),
          Field<&T::os>("os"),
          Field<&T::host_users>("hostUsers"),
          Field<&T::scheduling_gates>("schedulingGates", {.list = ListKind::kMap, .keys = "name"}),
          Field<&T::resource_claims>("resourceClaims", {.list = ListKind::kMap,
                                                        .keys = "name",
                                                        .gate = Gate::kDynamicResourceAllocation,
                                                        .retain_keys = true}),
          Field<&T::resources>("resources"),
          Field<&T::hostname_override>("hostnameOverride"),
          Field<&T::scheduling_group>("schedulingGroup", {.gate = Gate::kGenericWorkload}),
          Field<&T::eviction_responders>("evictionResponders",
                                         {.list = ListKind::kMap, .keys = "name"}),
      });
  return info;
}

const StructInfo& InfoOf(const Pod*) {
  using T = Pod;
  static const StructInfo info = Struct<T>("Pod", {
                                                      Field<&T::metadata>("metadata"),
                                                      Field<&T::spec>("spec"),
                                                      Field<&T::status>("status"),
                                                  });
  return info;
}

const StructInfo& InfoOf(const PodTemplateSpec*) {
  using T = PodTemplateSpec;
  static const StructInfo info = Struct<T>("PodTemplateSpec", {
                                                                  Field<&T::metadata>("metadata"),
                                                                  Field<&T::spec>("spec"),
                                                              });
  return info;
}

}  // namespace dray::api
