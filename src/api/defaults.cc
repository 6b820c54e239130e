// SPDX-License-Identifier: Apache-2.0
//
// Defaults of the kinds of resource.k8s.io; those of pods and workloads are pod_defaults.cc's and
// workload_strategy.cc's. Those of bindings of roles are here.
//
// Spec: docs/spec/api.md section 4.
#include "api/config_map.h"
#include "api/internal/described_kinds.h"
#include "api/internal/strategies.h"
#include "api/priority_class.h"
#include "api/rbac.h"

namespace dray::api {
namespace {

template <typename Request>
void SetAllocationDefaults(Request& request) {
  if (request.allocation_mode.empty()) request.allocation_mode = kAllocationModeExactCount;
  if (request.allocation_mode == kAllocationModeExactCount && request.count == 0) request.count = 1;
}

void SetTolerationDefaults(std::vector<DeviceToleration>& tolerations) {
  for (DeviceToleration& toleration : tolerations) {
    if (toleration.operator_.empty()) toleration.operator_ = kTolerationOpEqual;
  }
}

// In v1beta1 a request without a class is one with alternatives, whatever else it says.
void SetSpecDefaults(ResourceClaimSpec& spec, bool v1beta1) {
  for (DeviceRequest& request : spec.devices.requests) {
    if (request.exactly) {
      if (!v1beta1 || !request.exactly->device_class_name.empty()) {
        SetAllocationDefaults(*request.exactly);
      }
      SetTolerationDefaults(request.exactly->tolerations);
    }
    for (DeviceSubRequest& alternative : request.first_available) {
      SetAllocationDefaults(alternative);
      SetTolerationDefaults(alternative.tolerations);
    }
  }
}

void SetStatusDefaults(ResourceClaimStatus& status) {
  if (!status.allocation) return;
  for (auto& result : status.allocation->devices.results) SetTolerationDefaults(result.tolerations);
}

// Users and groups are of no kind but this group's; a service account is of the core group.
template <typename Binding>
void SetBindingDefaults(Binding& binding) {
  if (binding.role_ref.api_group.empty()) binding.role_ref.api_group = kRbacGroup;
  for (RbacSubject& subject : binding.subjects) {
    const bool of_group = subject.kind == kSubjectUser || subject.kind == kSubjectGroup;
    if (of_group && subject.api_group.empty()) subject.api_group = kRbacGroup;
  }
}

void SetTaintDefaults(DeviceTaint& taint, base::Time now) {
  if (!taint.time_added) taint.time_added = now.TruncateToSeconds();
}

void SetSecretDefaults(Secret& secret) {
  if (secret.type.empty()) secret.type = kSecretTypeOpaque;
  // Plain texts are a way to write, not to keep.
  for (auto& [key, text] : secret.string_data) secret.data[key].data = std::move(text);
  secret.string_data.clear();
}

}  // namespace

void SetDefaults(Object& object, base::Time now) {
  const bool v1beta1 = object.kind().version == "v1beta1";
  if (auto* claim = object.Mutable<ResourceClaim>()) {
    SetSpecDefaults(claim->spec, v1beta1);
    SetStatusDefaults(claim->status);
  } else if (auto* tmpl = object.Mutable<ResourceClaimTemplate>()) {
    SetSpecDefaults(tmpl->spec.spec, v1beta1);
  } else if (auto* slice = object.Mutable<ResourceSlice>()) {
    if (!slice->spec.devices) return;
    for (Device& device : *slice->spec.devices) {
      for (DeviceTaint& taint : device.taints) SetTaintDefaults(taint, now);
    }
  } else if (auto* rule = object.Mutable<DeviceTaintRule>()) {
    SetTaintDefaults(rule->spec.taint, now);
  } else if (auto* request = object.Mutable<ResourcePoolStatusRequest>()) {
    internal::SetDefaults(*request);
  } else if (auto* pod = object.Mutable<Pod>()) {
    internal::SetDefaults(*pod);
  } else if (auto* set = object.Mutable<ReplicaSet>()) {
    internal::SetDefaults(*set);
  } else if (auto* deployment = object.Mutable<Deployment>()) {
    internal::SetDefaults(*deployment);
  } else if (auto* job = object.Mutable<Job>()) {
    internal::SetDefaults(*job);
  } else if (auto* binding = object.Mutable<RoleBinding>()) {
    SetBindingDefaults(*binding);
  } else if (auto* wide = object.Mutable<ClusterRoleBinding>()) {
    SetBindingDefaults(*wide);
  } else if (auto* daemons = object.Mutable<DaemonSet>()) {
    internal::SetDefaults(*daemons);
  } else if (auto* stateful = object.Mutable<StatefulSet>()) {
    internal::SetDefaults(*stateful);
  } else if (auto* cron = object.Mutable<CronJob>()) {
    internal::SetDefaults(*cron);
  } else if (auto* range = object.Mutable<LimitRange>()) {
    internal::SetDefaults(*range);
  } else if (auto* priority = object.Mutable<PriorityClass>()) {
    if (!priority->preemption_policy) priority->preemption_policy = "PreemptLowerPriority";
  } else if (auto* group = object.Mutable<PodGroup>()) {
    internal::SetDefaults(*group);
  } else if (auto* secret = object.Mutable<Secret>()) {
    SetSecretDefaults(*secret);
  } else if (internal::IsDescribed(object)) {
    internal::SetDescribedDefaults(object);
  }
}

}  // namespace dray::api
