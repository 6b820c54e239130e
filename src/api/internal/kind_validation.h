// SPDX-License-Identifier: Apache-2.0
//
// The kinds that have rules of their own besides metadata. `old` is the stored object.
#pragma once

#include <string_view>

#include "api/certificate_signing_request.h"
#include "api/config_map.h"
#include "api/cron_job.h"
#include "api/daemon_set.h"
#include "api/device_class.h"
#include "api/disruption_budget.h"
#include "api/internal/report.h"
#include "api/job.h"
#include "api/limit_range.h"
#include "api/pod.h"
#include "api/pod_group.h"
#include "api/pool_status_request.h"
#include "api/rbac.h"
#include "api/resource_claim.h"
#include "api/resource_quota.h"
#include "api/resource_slice.h"
#include "api/stateful_set.h"
#include "api/workloads.h"

namespace dray::api::internal {

// slice_validation.cc; no old slice: creation.
void ValidateSlice(Report& report, const ResourceSlice& slice, const ResourceSlice* old);

// claim_validation.cc
void ValidateClaimCreate(Report& report, const ResourceClaim& claim);
void ValidateClaimUpdate(Report& report, const ResourceClaim& claim, const ResourceClaim& old);
// claim_status_validation.cc
void ValidateClaimStatusUpdate(Report& report, const ResourceClaim& claim,
                               const ResourceClaim& old);

// claim_validation.cc
void ValidateTemplateCreate(Report& report, const ResourceClaimTemplate& object);
void ValidateTemplateUpdate(Report& report, const ResourceClaimTemplate& object,
                            const ResourceClaimTemplate& old);

// class_validation.cc
void ValidateClass(Report& report, const DeviceClass& object, const DeviceClass* old);

// taint_rule_validation.cc
void ValidateTaintRule(Report& report, const DeviceTaintRule& rule, const DeviceTaintRule* old);
void ValidateTaintRuleStatusUpdate(Report& report, const DeviceTaintRule& rule,
                                   const DeviceTaintRule& old);

// pool_status_request_validation.cc; no old one: creation.
void ValidatePoolStatusRequest(Report& report, const ResourcePoolStatusRequest& request,
                               const ResourcePoolStatusRequest* old);
void ValidatePoolStatusRequestStatusUpdate(Report& report, const ResourcePoolStatusRequest& request,
                                           const ResourcePoolStatusRequest& old);

// pod_spec_validation.cc. `pod` is the pod's name if it is known: claims are named after it.
void ValidatePodSpec(Report& report, const Path& at, const PodSpec& spec, std::string_view pod);
void ValidatePodCreate(Report& report, const Pod& pod);
// Containers for debugging are added to a pod and stay as they are; nothing else has changed.
void ValidatePodEphemeralContainers(Report& report, const Pod& pod, const Pod& old);
// What may change, and that what has changed is right.
void ValidatePodUpdate(Report& report, const Pod& pod, const Pod& old);

// workload_validation.cc; no old one: creation. Of an update only what is new is told.
void ValidateReplicaSet(Report& report, const ReplicaSet& set, const ReplicaSet* old);
void ValidateDeployment(Report& report, const Deployment& deployment, const Deployment* old);
void ValidateJob(Report& report, const Job& job, const Job* old);

// workload_set_validation.cc; no old one: creation.
void ValidateDaemonSet(Report& report, const DaemonSet& set, const DaemonSet* old);
void ValidateStatefulSet(Report& report, const StatefulSet& set, const StatefulSet* old);
void ValidateCronJob(Report& report, const CronJob& job, const CronJob* old);
void ValidateDisruptionBudget(Report& report, const PodDisruptionBudget& budget);
void ValidateLimitRange(Report& report, const LimitRange& range);

// pod_group_validation.cc; no old one: creation.
void ValidatePodGroup(Report& report, const PodGroup& group, const PodGroup* old);
void ValidatePodGroupStatusUpdate(Report& report, const PodGroup& group, const PodGroup& old);
void ValidateWorkload(Report& report, const Workload& workload, const Workload* old);

// config_map_validation.cc; no old one: creation.
void ValidateConfigMap(Report& report, const ConfigMap& map, const ConfigMap* old);
void ValidateSecret(Report& report, const Secret& secret, const Secret* old);

// certificate_rules.cc; the request itself, its PEM and its signature, is for the server to
// read.
void ValidateCertificateRequest(Report& report, const CertificateSigningRequest& request);
// What is decided or signed stays so.
void ValidateCertificateStatusUpdate(Report& report, const CertificateSigningRequest& request,
                                     const CertificateSigningRequest& old);

// quota_validation.cc
void ValidateQuota(Report& report, const ResourceQuota& quota, const ResourceQuota* old);

// rbac_validation.cc; no old one: creation.
void ValidateRole(Report& report, const Role& role);
void ValidateClusterRole(Report& report, const ClusterRole& role);
void ValidateRoleBinding(Report& report, const RoleBinding& binding, const RoleBinding* old);
void ValidateClusterRoleBinding(Report& report, const ClusterRoleBinding& binding,
                                const ClusterRoleBinding* old);

// pod_status_validation.cc; of a pod's status only what concerns claims and devices is looked
// at.
void ValidatePodStatusUpdate(Report& report, const Pod& pod);

}  // namespace dray::api::internal
