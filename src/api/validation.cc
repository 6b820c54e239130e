// SPDX-License-Identifier: Apache-2.0
#include "api/validation.h"

#include "api/internal/described_kinds.h"
#include "api/internal/kind_validation.h"
#include "api/internal/meta_validation.h"
#include "api/internal/node_validation.h"
#include "api/internal/priority_class_validation.h"
#include "api/internal/report.h"
#include "api/internal/revision_validation.h"
#include "base/check.h"

namespace dray::api {
namespace {

using internal::Report;

void ValidateRbac(Report& report, const Object& object, const Object* old) {
  if (const auto* role = object.As<Role>()) {
    internal::ValidateRole(report, *role);
  } else if (const auto* cluster_role = object.As<ClusterRole>()) {
    internal::ValidateClusterRole(report, *cluster_role);
  } else if (const auto* binding = object.As<RoleBinding>()) {
    internal::ValidateRoleBinding(report, *binding,
                                  old == nullptr ? nullptr : old->As<RoleBinding>());
  } else if (const auto* wide = object.As<ClusterRoleBinding>()) {
    internal::ValidateClusterRoleBinding(report, *wide,
                                         old == nullptr ? nullptr : old->As<ClusterRoleBinding>());
  }
}

}  // namespace

ErrorList ValidateCreate(const Object& object, const ValidationOptions& options) {
  Report report(options);
  internal::ValidateMetaCreate(report, object.kind(), object.metadata());
  if (const auto* slice = object.As<ResourceSlice>()) {
    internal::ValidateSlice(report, *slice, nullptr);
  } else if (const auto* claim = object.As<ResourceClaim>()) {
    internal::ValidateClaimCreate(report, *claim);
  } else if (const auto* claim_template = object.As<ResourceClaimTemplate>()) {
    internal::ValidateTemplateCreate(report, *claim_template);
  } else if (const auto* device_class = object.As<DeviceClass>()) {
    internal::ValidateClass(report, *device_class, nullptr);
  } else if (const auto* rule = object.As<DeviceTaintRule>()) {
    internal::ValidateTaintRule(report, *rule, nullptr);
  } else if (const auto* request = object.As<ResourcePoolStatusRequest>()) {
    internal::ValidatePoolStatusRequest(report, *request, nullptr);
  } else if (const auto* pod = object.As<Pod>()) {
    internal::ValidatePodCreate(report, *pod);
  } else if (const auto* set = object.As<ReplicaSet>()) {
    internal::ValidateReplicaSet(report, *set, nullptr);
  } else if (const auto* deployment = object.As<Deployment>()) {
    internal::ValidateDeployment(report, *deployment, nullptr);
  } else if (const auto* job = object.As<Job>()) {
    internal::ValidateJob(report, *job, nullptr);
  } else if (const auto* quota = object.As<ResourceQuota>()) {
    internal::ValidateQuota(report, *quota, nullptr);
  } else if (const auto* daemons = object.As<DaemonSet>()) {
    internal::ValidateDaemonSet(report, *daemons, nullptr);
  } else if (const auto* stateful = object.As<StatefulSet>()) {
    internal::ValidateStatefulSet(report, *stateful, nullptr);
  } else if (const auto* cron = object.As<CronJob>()) {
    internal::ValidateCronJob(report, *cron, nullptr);
  } else if (const auto* budget = object.As<PodDisruptionBudget>()) {
    internal::ValidateDisruptionBudget(report, *budget);
  } else if (const auto* range = object.As<LimitRange>()) {
    internal::ValidateLimitRange(report, *range);
  } else if (const auto* map = object.As<ConfigMap>()) {
    internal::ValidateConfigMap(report, *map, nullptr);
  } else if (const auto* secret = object.As<Secret>()) {
    internal::ValidateSecret(report, *secret, nullptr);
  } else if (const auto* group = object.As<PodGroup>()) {
    internal::ValidatePodGroup(report, *group, nullptr);
  } else if (const auto* workload = object.As<Workload>()) {
    internal::ValidateWorkload(report, *workload, nullptr);
  } else if (const auto* row = object.As<PriorityClass>()) {
    internal::ValidatePriorityClass(report, *row, nullptr);
  } else if (const auto* request = object.As<CertificateSigningRequest>()) {
    internal::ValidateCertificateRequest(report, *request);
  } else if (const auto* node = object.As<Node>()) {
    internal::ValidateNode(report, *node, nullptr);
  } else if (const auto* lease = object.As<Lease>()) {
    internal::ValidateLease(report, *lease);
  } else if (const auto* revision = object.As<ControllerRevision>()) {
    internal::ValidateRevision(report, *revision, nullptr);
  } else if (internal::IsDescribed(object)) {
    internal::ValidateDescribed(report, object, nullptr);
  } else {
    ValidateRbac(report, object, nullptr);
  }
  return report.Take();
}

ErrorList ValidateMetadata(const ObjectMeta& metadata) {
  const ValidationOptions options;
  Report report(options);
  const KindInfo any{.namespaced = !metadata.namespace_.empty()};
  internal::ValidateMetaCreate(report, any, metadata);
  return report.Take();
}

ErrorList ValidateUpdate(const Object& object, const Object& old,
                         const ValidationOptions& options) {
  DRAY_CHECK(object.kind().hub == old.kind().hub, "an update changes the kind");
  Report report(options);
  internal::ValidateMetaUpdate(report, object.kind(), object.metadata(), old.metadata());
  if (const auto* slice = object.As<ResourceSlice>()) {
    internal::ValidateSlice(report, *slice, old.As<ResourceSlice>());
  } else if (const auto* claim = object.As<ResourceClaim>()) {
    internal::ValidateClaimUpdate(report, *claim, *old.As<ResourceClaim>());
  } else if (const auto* claim_template = object.As<ResourceClaimTemplate>()) {
    internal::ValidateTemplateUpdate(report, *claim_template, *old.As<ResourceClaimTemplate>());
  } else if (const auto* device_class = object.As<DeviceClass>()) {
    internal::ValidateClass(report, *device_class, old.As<DeviceClass>());
  } else if (const auto* rule = object.As<DeviceTaintRule>()) {
    internal::ValidateTaintRule(report, *rule, old.As<DeviceTaintRule>());
  } else if (const auto* request = object.As<ResourcePoolStatusRequest>()) {
    internal::ValidatePoolStatusRequest(report, *request, old.As<ResourcePoolStatusRequest>());
  } else if (const auto* pod = object.As<Pod>()) {
    internal::ValidatePodUpdate(report, *pod, *old.As<Pod>());
  } else if (const auto* set = object.As<ReplicaSet>()) {
    internal::ValidateReplicaSet(report, *set, old.As<ReplicaSet>());
  } else if (const auto* deployment = object.As<Deployment>()) {
    internal::ValidateDeployment(report, *deployment, old.As<Deployment>());
  } else if (const auto* job = object.As<Job>()) {
    internal::ValidateJob(report, *job, old.As<Job>());
  } else if (const auto* quota = object.As<ResourceQuota>()) {
    internal::ValidateQuota(report, *quota, old.As<ResourceQuota>());
  } else if (const auto* daemons = object.As<DaemonSet>()) {
    internal::ValidateDaemonSet(report, *daemons, old.As<DaemonSet>());
  } else if (const auto* stateful = object.As<StatefulSet>()) {
    internal::ValidateStatefulSet(report, *stateful, old.As<StatefulSet>());
  } else if (const auto* cron = object.As<CronJob>()) {
    internal::ValidateCronJob(report, *cron, old.As<CronJob>());
  } else if (const auto* budget = object.As<PodDisruptionBudget>()) {
    internal::ValidateDisruptionBudget(report, *budget);
  } else if (const auto* range = object.As<LimitRange>()) {
    internal::ValidateLimitRange(report, *range);
  } else if (const auto* map = object.As<ConfigMap>()) {
    internal::ValidateConfigMap(report, *map, old.As<ConfigMap>());
  } else if (const auto* secret = object.As<Secret>()) {
    internal::ValidateSecret(report, *secret, old.As<Secret>());
  } else if (const auto* group = object.As<PodGroup>()) {
    internal::ValidatePodGroup(report, *group, old.As<PodGroup>());
  } else if (const auto* workload = object.As<Workload>()) {
    internal::ValidateWorkload(report, *workload, old.As<Workload>());
  } else if (const auto* row = object.As<PriorityClass>()) {
    internal::ValidatePriorityClass(report, *row, old.As<PriorityClass>());
  } else if (const auto* request = object.As<CertificateSigningRequest>()) {
    internal::ValidateCertificateRequest(report, *request);
  } else if (const auto* node = object.As<Node>()) {
    internal::ValidateNode(report, *node, old.As<Node>());
  } else if (const auto* lease = object.As<Lease>()) {
    internal::ValidateLease(report, *lease);
  } else if (const auto* revision = object.As<ControllerRevision>()) {
    internal::ValidateRevision(report, *revision, old.As<ControllerRevision>());
  } else if (internal::IsDescribed(object)) {
    internal::ValidateDescribed(report, object, &old);
  } else {
    ValidateRbac(report, object, &old);
  }
  return report.Take();
}

ErrorList ValidateStatusUpdate(const Object& object, const Object& old,
                               const ValidationOptions& options) {
  DRAY_CHECK(object.kind().hub == old.kind().hub, "an update changes the kind");
  Report report(options);
  internal::ValidateMetaStatusUpdate(report, object.kind(), object.metadata(), old.metadata());
  if (const auto* claim = object.As<ResourceClaim>()) {
    internal::ValidateClaimStatusUpdate(report, *claim, *old.As<ResourceClaim>());
  } else if (const auto* rule = object.As<DeviceTaintRule>()) {
    internal::ValidateTaintRuleStatusUpdate(report, *rule, *old.As<DeviceTaintRule>());
  } else if (const auto* request = object.As<ResourcePoolStatusRequest>()) {
    internal::ValidatePoolStatusRequestStatusUpdate(report, *request,
                                                    *old.As<ResourcePoolStatusRequest>());
  } else if (const auto* pod = object.As<Pod>()) {
    internal::ValidatePodStatusUpdate(report, *pod);
  } else if (const auto* group = object.As<PodGroup>()) {
    internal::ValidatePodGroupStatusUpdate(report, *group, *old.As<PodGroup>());
  } else if (const auto* request = object.As<CertificateSigningRequest>()) {
    internal::ValidateCertificateStatusUpdate(report, *request,
                                              *old.As<CertificateSigningRequest>());
  } else if (internal::IsDescribed(object)) {
    internal::ValidateDescribedStatus(report, object);
  }
  return report.Take();
}

ErrorList ValidateEphemeralContainersUpdate(const Object& object, const Object& old,
                                            const ValidationOptions& options) {
  Report report(options);
  internal::ValidateMetaUpdate(report, object.kind(), object.metadata(), old.metadata());
  internal::ValidatePodEphemeralContainers(report, *object.As<Pod>(), *old.As<Pod>());
  return report.Take();
}

}  // namespace dray::api
