// SPDX-License-Identifier: Apache-2.0
#include "api/resource_quota.h"

namespace dray::api {

const StructInfo& InfoOf(const ScopedResourceSelectorRequirement*) {
  using T = ScopedResourceSelectorRequirement;
  static const StructInfo info =
      Struct<T>("ScopedResourceSelectorRequirement",
                {
                    Field<&T::scope_name>("scopeName", {.presence = Presence::kAlways}),
                    Field<&T::operator_>("operator", {.presence = Presence::kAlways}),
                    Field<&T::values>("values"),
                });
  return info;
}

const StructInfo& InfoOf(const ScopeSelector*) {
  using T = ScopeSelector;
  static const StructInfo info = Struct<T>("ScopeSelector",
                                           {
                                               Field<&T::match_expressions>("matchExpressions"),
                                           },
                                           {.atomic = true});
  return info;
}

const StructInfo& InfoOf(const ResourceQuotaSpec*) {
  using T = ResourceQuotaSpec;
  static const StructInfo info =
      Struct<T>("ResourceQuotaSpec", {
                                         Field<&T::hard>("hard"),
                                         Field<&T::scopes>("scopes"),
                                         Field<&T::scope_selector>("scopeSelector"),
                                     });
  return info;
}

const StructInfo& InfoOf(const ResourceQuotaStatus*) {
  using T = ResourceQuotaStatus;
  static const StructInfo info = Struct<T>("ResourceQuotaStatus", {
                                                                      Field<&T::hard>("hard"),
                                                                      Field<&T::used>("used"),
                                                                  });
  return info;
}

const StructInfo& InfoOf(const ResourceQuota*) {
  using T = ResourceQuota;
  static const StructInfo info = Struct<T>("ResourceQuota", {
                                                                Field<&T::metadata>("metadata"),
                                                                Field<&T::spec>("spec"),
                                                                Field<&T::status>("status"),
                                                            });
  return info;
}

}  // namespace dray::api
