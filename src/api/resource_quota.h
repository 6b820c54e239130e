// SPDX-License-Identifier: Apache-2.0
//
// core/v1 ResourceQuota: how much a namespace may ask for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/box.h"
#include "api/field_table.h"
#include "api/map.h"
#include "api/meta.h"
#include "api/values.h"
#include "base/quantity.h"

namespace dray::api {

inline constexpr std::string_view kQuotaScopeTerminating = "Terminating";
inline constexpr std::string_view kQuotaScopeNotTerminating = "NotTerminating";
inline constexpr std::string_view kQuotaScopeBestEffort = "BestEffort";
inline constexpr std::string_view kQuotaScopeNotBestEffort = "NotBestEffort";
inline constexpr std::string_view kQuotaScopePriorityClass = "PriorityClass";
inline constexpr std::string_view kQuotaScopeCrossNamespacePodAffinity =
    "CrossNamespacePodAffinity";
inline constexpr std::string_view kQuotaScopeVolumeAttributesClass = "VolumeAttributesClass";

struct ScopedResourceSelectorRequirement {
  std::string scope_name;
  std::string operator_;  // In, NotIn, Exists, DoesNotExist
  std::vector<std::string> values;
  UnknownFields unknown;
  friend bool operator==(const ScopedResourceSelectorRequirement&,
                         const ScopedResourceSelectorRequirement&) = default;
};
const StructInfo& InfoOf(const ScopedResourceSelectorRequirement*);

// Which pods a quota counts: all requirements must hold.
struct ScopeSelector {
  std::vector<ScopedResourceSelectorRequirement> match_expressions;
  UnknownFields unknown;
  friend bool operator==(const ScopeSelector&, const ScopeSelector&) = default;
};
const StructInfo& InfoOf(const ScopeSelector*);

struct ResourceQuotaSpec {
  Map<base::Quantity> hard;
  std::vector<std::string> scopes;
  Box<ScopeSelector> scope_selector;
  UnknownFields unknown;
  friend bool operator==(const ResourceQuotaSpec&, const ResourceQuotaSpec&) = default;
};
const StructInfo& InfoOf(const ResourceQuotaSpec*);

struct ResourceQuotaStatus {
  Map<base::Quantity> hard;
  Map<base::Quantity> used;
  UnknownFields unknown;
  friend bool operator==(const ResourceQuotaStatus&, const ResourceQuotaStatus&) = default;
};
const StructInfo& InfoOf(const ResourceQuotaStatus*);

struct ResourceQuota {
  ObjectMeta metadata;
  ResourceQuotaSpec spec;
  ResourceQuotaStatus status;
  UnknownFields unknown;
  friend bool operator==(const ResourceQuota&, const ResourceQuota&) = default;
};
const StructInfo& InfoOf(const ResourceQuota*);

}  // namespace dray::api
