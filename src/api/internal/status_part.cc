// SPDX-License-Identifier: Apache-2.0
#include "api/internal/status_part.h"

#include "api/certificate_signing_request.h"
#include "api/cron_job.h"
#include "api/daemon_set.h"
#include "api/device_class.h"
#include "api/disruption_budget.h"
#include "api/internal/described_kinds.h"
#include "api/job.h"
#include "api/namespace.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/pod_group.h"
#include "api/pool_status_request.h"
#include "api/resource_claim.h"
#include "api/resource_quota.h"
#include "api/resource_slice.h"
#include "api/stateful_set.h"
#include "api/workloads.h"

namespace dray::api::internal {
namespace {

template <typename... T>
struct Types {};
constexpr Types<Node, Namespace, ResourceQuota, ReplicaSet, Deployment, Job, DaemonSet, StatefulSet,
                CronJob, PodDisruptionBudget, PodGroup, CertificateSigningRequest>
    kPlain;
constexpr Types<Pod, ResourceClaim, DeviceTaintRule, ResourcePoolStatusRequest> kWithStrategy;

template <typename... T>
bool IsOneOf(const KindInfo& kind, Types<T...>) {
  return ((kind.hub == &TypeInfoOf<T>()) || ...);
}

template <typename T>
bool KeepStatusOf(Object& object, const Object& old) {
  T* value = object.Mutable<T>();
  if (value == nullptr) return false;
  value->status = old.As<T>()->status;
  return true;
}
template <typename... T>
bool KeepStatusOfAny(Object& object, const Object& old, Types<T...>) {
  return (KeepStatusOf<T>(object, old) || ...);
}

template <typename T>
bool TakeStatusOf(Object& object, const Object& old) {
  T* value = object.Mutable<T>();
  if (value == nullptr) return false;
  T kept = *old.As<T>();
  kept.status = std::move(value->status);
  kept.metadata.resource_version = value->metadata.resource_version;
  *value = std::move(kept);
  return true;
}
template <typename... T>
bool TakeStatusOfAny(Object& object, const Object& old, Types<T...>) {
  return (TakeStatusOf<T>(object, old) || ...);
}

}  // namespace

bool HasStatus(const KindInfo& kind) {
  if (kind.traits != nullptr) return kind.traits->status;
  return IsOneOf(kind, kPlain) || IsOneOf(kind, kWithStrategy);
}

void KeepStatus(Object& object, const Object& old) {
  if (!IsDescribed(object)) {
    KeepStatusOfAny(object, old, kPlain);
  } else if (object.kind().traits->status) {
    KeepDescribedStatus(object, old);
  }
}

void KeepAllButStatus(Object& object, const Object& old) {
  if (!IsDescribed(object)) {
    TakeStatusOfAny(object, old, kPlain);
  } else if (object.kind().traits->status) {
    TakeDescribedStatus(object, old);
  }
}

}  // namespace dray::api::internal
