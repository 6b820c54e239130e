// SPDX-License-Identifier: Apache-2.0
//
// Workloads and PodGroups between decoding and validation: what is gated off is dropped. None of
// them counts its wishes (metadata.generation), as in Kubernetes.
#include <array>
#include <cstddef>
#include <vector>

#include "api/internal/gated_features.h"
#include "api/internal/strategies.h"

namespace dray::api::internal {
namespace {

template <typename T>
bool UsesConstraints(const T& spec) {
  return spec.scheduling_constraints.has_value();
}
template <typename T>
void DropConstraints(T& spec) {
  spec.scheduling_constraints.reset();
}
template <typename T>
bool UsesClaims(const T& spec) {
  return !spec.resource_claims.empty();
}
template <typename T>
void DropClaims(T& spec) {
  spec.resource_claims.clear();
}
template <typename T>
bool UsesPreemption(const T& spec) {
  return spec.preemption_policy.has_value();
}
template <typename T>
void DropPreemption(T& spec) {
  spec.preemption_policy.reset();
}

// Of a group's spec, and of a template's.
template <typename T>
constexpr std::array<GatedFeature<T>, 3> kFeatures = {{
    {Gate::kTopologyAwareWorkloadScheduling, UsesConstraints<T>, DropConstraints<T>},
    {Gate::kDRAWorkloadResourceClaims, UsesClaims<T>, DropClaims<T>},
    {Gate::kPodGroupPreemptionPolicy, UsesPreemption<T>, DropPreemption<T>},
}};

void DropDisabledIn(std::vector<PodGroupTemplate>& templates,
                    const std::vector<PodGroupTemplate>& old, const FeatureGates& gates) {
  for (std::size_t i = 0; i < templates.size(); ++i) {
    DropDisabled<PodGroupTemplate>(kFeatures<PodGroupTemplate>, gates, templates[i],
                                   i < old.size() ? &old[i] : nullptr);
  }
}

}  // namespace

void SetDefaults(PodGroup& group) {
  if (!group.spec.disruption_mode) group.spec.disruption_mode.emplace().single.emplace();
}

void PrepareForCreate(PodGroup& group, const StrategyOptions& options) {
  group.status = {};
  DropDisabled<PodGroupSpec>(kFeatures<PodGroupSpec>, options.gates, group.spec, nullptr);
}

void PrepareForUpdate(PodGroup& group, const PodGroup& old, const StrategyOptions& options) {
  group.status = old.status;
  DropDisabled<PodGroupSpec>(kFeatures<PodGroupSpec>, options.gates, group.spec, &old.spec);
}

void PrepareForStatusUpdate(PodGroup& group, const PodGroup& old, const StrategyOptions& options) {
  const bool claims =
      options.gates.Enabled(Gate::kDRAWorkloadResourceClaims) || UsesClaims(old.spec);
  if (!claims) group.status.resource_claim_statuses.clear();
}

void PrepareForCreate(Workload& workload, const StrategyOptions& options) {
  DropDisabledIn(workload.spec.pod_group_templates, {}, options.gates);
}

void PrepareForUpdate(Workload& workload, const Workload& old, const StrategyOptions& options) {
  DropDisabledIn(workload.spec.pod_group_templates, old.spec.pod_group_templates, options.gates);
}

}  // namespace dray::api::internal
