// SPDX-License-Identifier: Apache-2.0
//
// The strategies of the kinds, one source each; strategy.cc picks the one that fits the object.
#pragma once

#include <string>
#include <vector>

#include "api/certificate_signing_request.h"
#include "api/cron_job.h"
#include "api/daemon_set.h"
#include "api/device_class.h"
#include "api/disruption_budget.h"
#include "api/job.h"
#include "api/limit_range.h"
#include "api/pod.h"
#include "api/pod_group.h"
#include "api/pool_status_request.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "api/stateful_set.h"
#include "api/strategy.h"
#include "api/workloads.h"

namespace dray::api::internal {

// What a status update may not change in the metadata comes from the old object. Name, namespace
// and uid stay as sent, for validation to compare; managedFields too, they describe this update.
void ResetMetadataForStatus(ObjectMeta& metadata, const ObjectMeta& old);

void PrepareForCreate(ResourceClaim& claim, const StrategyOptions& options);
void PrepareForUpdate(ResourceClaim& claim, const ResourceClaim& old,
                      const StrategyOptions& options);
void PrepareForStatusUpdate(ResourceClaim& claim, const ResourceClaim& old,
                            const StrategyOptions& options);

void PrepareForCreate(ResourceClaimTemplate& tmpl, const StrategyOptions& options);
void PrepareForUpdate(ResourceClaimTemplate& tmpl, const ResourceClaimTemplate& old,
                      const StrategyOptions& options);

void PrepareForCreate(ResourceSlice& slice, const StrategyOptions& options);
void PrepareForUpdate(ResourceSlice& slice, const ResourceSlice& old,
                      const StrategyOptions& options);
std::vector<std::string> WarningsFor(const ResourceSlice& slice);

void PrepareForCreate(DeviceClass& device_class, const StrategyOptions& options);
void PrepareForUpdate(DeviceClass& device_class, const DeviceClass& old,
                      const StrategyOptions& options);

void PrepareForCreate(DeviceTaintRule& rule, const StrategyOptions& options);
void PrepareForUpdate(DeviceTaintRule& rule, const DeviceTaintRule& old,
                      const StrategyOptions& options);
void PrepareForStatusUpdate(DeviceTaintRule& rule, const DeviceTaintRule& old,
                            const StrategyOptions& options);

// certificate_rules.cc: when each condition came.
void PrepareForStatusUpdate(CertificateSigningRequest& request,
                            const CertificateSigningRequest& old, const StrategyOptions& options);

// pool_status_request_validation.cc
void SetDefaults(ResourcePoolStatusRequest& request);
void PrepareForCreate(ResourcePoolStatusRequest& request, const StrategyOptions& options);
void PrepareForUpdate(ResourcePoolStatusRequest& request, const ResourcePoolStatusRequest& old,
                      const StrategyOptions& options);
void PrepareForStatusUpdate(ResourcePoolStatusRequest& request,
                            const ResourcePoolStatusRequest& old, const StrategyOptions& options);

void SetDefaults(Pod& pod);
// pod_defaults.cc; what a template has in common with a pod.
void SetTemplateDefaults(PodSpec& spec);
void PrepareForCreate(Pod& pod, const StrategyOptions& options);
void PrepareForUpdate(Pod& pod, const Pod& old, const StrategyOptions& options);
void PrepareForStatusUpdate(Pod& pod, const Pod& old, const StrategyOptions& options);

// workload_strategy.cc
void SetDefaults(ReplicaSet& set);
void SetDefaults(Deployment& deployment);
void SetDefaults(Job& job);
void PrepareForCreate(ReplicaSet& set, const StrategyOptions& options);
void PrepareForCreate(Deployment& deployment, const StrategyOptions& options);
void PrepareForCreate(Job& job, const StrategyOptions& options);
void PrepareForUpdate(ReplicaSet& set, const ReplicaSet& old, const StrategyOptions& options);
void PrepareForUpdate(Deployment& deployment, const Deployment& old,
                      const StrategyOptions& options);
void PrepareForUpdate(Job& job, const Job& old, const StrategyOptions& options);

// workload_set_strategy.cc
void SetDefaults(DaemonSet& set);
void SetDefaults(StatefulSet& set);
void SetDefaults(CronJob& job);
void SetDefaults(LimitRange& range);
void PrepareForCreate(DaemonSet& set, const StrategyOptions& options);
void PrepareForCreate(StatefulSet& set, const StrategyOptions& options);
void PrepareForCreate(CronJob& job, const StrategyOptions& options);
void PrepareForCreate(PodDisruptionBudget& budget, const StrategyOptions& options);
void PrepareForUpdate(DaemonSet& set, const DaemonSet& old, const StrategyOptions& options);
void PrepareForUpdate(StatefulSet& set, const StatefulSet& old, const StrategyOptions& options);
void PrepareForUpdate(CronJob& job, const CronJob& old, const StrategyOptions& options);
void PrepareForUpdate(PodDisruptionBudget& budget, const PodDisruptionBudget& old,
                      const StrategyOptions& options);

// pod_group_strategy.cc
void SetDefaults(PodGroup& group);
void PrepareForCreate(PodGroup& group, const StrategyOptions& options);
void PrepareForUpdate(PodGroup& group, const PodGroup& old, const StrategyOptions& options);
void PrepareForStatusUpdate(PodGroup& group, const PodGroup& old, const StrategyOptions& options);
void PrepareForCreate(Workload& workload, const StrategyOptions& options);
void PrepareForUpdate(Workload& workload, const Workload& old, const StrategyOptions& options);

}  // namespace dray::api::internal
