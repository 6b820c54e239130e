// SPDX-License-Identifier: Apache-2.0
//
// Pod between decoding and validation.
//
// Spec: docs/spec/api.md sections 1 and 2. DynamicResourceAllocation cannot be
// switched off, so claims in the spec are never dropped.
#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "api/internal/gated_features.h"
#include "api/internal/strategies.h"
#include "api/pod_qos.h"

namespace dray::api::internal {
namespace {

template <typename Status, typename F>
void ForEachContainerStatus(Status& status, F f) {
  for (auto& container : status.container_statuses) f(container);
  for (auto& container : status.init_container_statuses) f(container);
  for (auto& container : status.ephemeral_container_statuses) f(container);
}

bool UsesExtendedResources(const PodStatus& status) {
  return status.extended_resource_claim_status.has_value();
}
void DropExtendedResources(PodStatus& status) { status.extended_resource_claim_status.reset(); }

bool UsesNodeAllocatable(const PodStatus& status) {
  return status.node_allocatable_resource_claim_statuses &&
         !status.node_allocatable_resource_claim_statuses->empty();
}
void DropNodeAllocatable(PodStatus& status) {
  status.node_allocatable_resource_claim_statuses.reset();
}

bool UsesHealth(const PodStatus& status) {
  bool any = false;
  ForEachContainerStatus(status, [&](const ContainerStatus& container) {
    any = any || !container.allocated_resources_status.empty();
  });
  return any;
}
void DropHealth(PodStatus& status) {
  ForEachContainerStatus(
      status, [](ContainerStatus& container) { container.allocated_resources_status.clear(); });
}

template <typename Status, typename F>
void ForEachHealth(Status& status, F f) {
  ForEachContainerStatus(status, [&](auto& container) {
    for (auto& resource : container.allocated_resources_status) {
      for (auto& health : resource.resources) f(health);
    }
  });
}
bool UsesHealthMessage(const PodStatus& status) {
  bool any = false;
  ForEachHealth(status,
                [&](const ResourceHealth& health) { any = any || health.message.has_value(); });
  return any;
}
void DropHealthMessage(PodStatus& status) {
  ForEachHealth(status, [](ResourceHealth& health) { health.message.reset(); });
}

constexpr std::array<GatedFeature<PodStatus>, 4> kStatusFeatures = {{
    {Gate::kDRAExtendedResource, UsesExtendedResources, DropExtendedResources},
    {Gate::kResourceHealthStatus, UsesHealth, DropHealth},
    {Gate::kResourceHealthStatusMessage, UsesHealthMessage, DropHealthMessage},
    {Gate::kDRANodeAllocatableResources, UsesNodeAllocatable, DropNodeAllocatable},
}};

bool UsesSchedulingGroup(const PodSpec& spec) { return spec.scheduling_group.has_value(); }
void DropSchedulingGroup(PodSpec& spec) { spec.scheduling_group.reset(); }

constexpr std::array<GatedFeature<PodSpec>, 1> kSpecFeatures = {{
    {Gate::kGenericWorkload, UsesSchedulingGroup, DropSchedulingGroup},
}};

// Clients that do not know observedGeneration leave it out; that does not clear it. Conditions of
// the same type are matched in order.
void KeepObservedGenerations(PodStatus& status, const PodStatus& old) {
  if (status.observed_generation == 0) status.observed_generation = old.observed_generation;
  std::map<std::string_view, std::vector<std::int64_t>> seen;  // reversed: the next one is last
  for (const PodCondition& condition : old.conditions) {
    auto& generations = seen[condition.type];
    generations.insert(generations.begin(), condition.observed_generation);
  }
  for (PodCondition& condition : status.conditions) {
    auto& generations = seen[condition.type];
    if (generations.empty()) continue;
    if (condition.observed_generation == 0) condition.observed_generation = generations.back();
    generations.pop_back();
  }
}

}  // namespace

void PrepareForCreate(Pod& pod, const StrategyOptions& options) {
  DropDisabled<PodSpec>(kSpecFeatures, options.gates, pod.spec, nullptr);
  pod.metadata.generation = 1;
  pod.status = {};
  pod.status.phase = kPodPending;
  pod.status.qos_class = QosClassOf(pod.spec);
  if (!pod.spec.scheduling_gates.empty()) {
    pod.status.conditions.push_back(
        {.type = std::string(kPodScheduledCondition),
         .status = "False",
         .reason = std::string(kReasonSchedulingGated),
         .message = "Scheduling is blocked due to non-empty scheduling gates"});
  }
}

void PrepareForUpdate(Pod& pod, const Pod& old, const StrategyOptions& options) {
  DropDisabled<PodSpec>(kSpecFeatures, options.gates, pod.spec, &old.spec);
  pod.status = old.status;
  // A client that does not know pod-level resources leaves them out; that does not clear them.
  if (!pod.spec.resources) pod.spec.resources = old.spec.resources;
  // What admission filled in when the pod was created is not in its manifest.
  if (!pod.spec.priority) pod.spec.priority = old.spec.priority;
  if (!pod.spec.preemption_policy) pod.spec.preemption_policy = old.spec.preemption_policy;
  if (!SemanticEqual(pod.spec, old.spec)) pod.metadata.generation = old.metadata.generation + 1;
}

void PrepareForStatusUpdate(Pod& pod, const Pod& old, const StrategyOptions& options) {
  pod.spec = old.spec;
  pod.metadata.deletion_timestamp = old.metadata.deletion_timestamp;
  pod.metadata.owner_references = old.metadata.owner_references;
  PodStatus& status = pod.status;
  if (status.qos_class.empty()) status.qos_class = old.status.qos_class;
  // Kubelets that do not know these fields leave them out. An empty list does clear.
  if (!status.resource_claim_statuses) {
    status.resource_claim_statuses = old.status.resource_claim_statuses;
  }
  if (!status.extended_resource_claim_status) {
    status.extended_resource_claim_status = old.status.extended_resource_claim_status;
  }
  if (!status.node_allocatable_resource_claim_statuses) {
    status.node_allocatable_resource_claim_statuses =
        old.status.node_allocatable_resource_claim_statuses;
  }
  KeepObservedGenerations(status, old.status);
  DropDisabled<PodStatus>(kStatusFeatures, options.gates, status, &old.status);
}

}  // namespace dray::api::internal
