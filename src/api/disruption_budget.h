// SPDX-License-Identifier: Apache-2.0
//
// policy/v1 PodDisruptionBudget: how many pods of a set may be evicted at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/box.h"
#include "api/field_table.h"
#include "api/map.h"
#include "api/meta.h"
#include "api/values.h"
#include "base/quantity.h"
#include "base/time.h"

namespace dray::api {

inline constexpr std::string_view kEvictIfHealthyBudget = "IfHealthyBudget";
inline constexpr std::string_view kEvictAlwaysAllow = "AlwaysAllow";
inline constexpr std::string_view kDisruptionAllowedCondition = "DisruptionAllowed";

// How many pods of a set may be evicted at once.
struct PodDisruptionBudgetSpec {
  std::optional<IntOrString> min_available;
  Box<LabelSelector> selector;
  std::optional<IntOrString> max_unavailable;
  std::optional<std::string> unhealthy_pod_eviction_policy;
  UnknownFields unknown;
  friend bool operator==(const PodDisruptionBudgetSpec&, const PodDisruptionBudgetSpec&) = default;
};
const StructInfo& InfoOf(const PodDisruptionBudgetSpec*);

// What a budget allows at the moment.
struct PodDisruptionBudgetStatus {
  std::int64_t observed_generation = 0;
  Map<base::Time> disrupted_pods;
  std::int32_t disruptions_allowed = 0;
  std::int32_t current_healthy = 0;
  std::int32_t desired_healthy = 0;
  std::int32_t expected_pods = 0;
  std::vector<Condition> conditions;
  UnknownFields unknown;
  friend bool operator==(const PodDisruptionBudgetStatus&,
                         const PodDisruptionBudgetStatus&) = default;
};
const StructInfo& InfoOf(const PodDisruptionBudgetStatus*);

// How many pods of a set may be evicted at once.
struct PodDisruptionBudget {
  ObjectMeta metadata;
  PodDisruptionBudgetSpec spec;
  PodDisruptionBudgetStatus status;
  UnknownFields unknown;
  friend bool operator==(const PodDisruptionBudget&, const PodDisruptionBudget&) = default;
};
const StructInfo& InfoOf(const PodDisruptionBudget*);

}  // namespace dray::api
