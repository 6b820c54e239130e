// SPDX-License-Identifier: Apache-2.0
#include "api/rbac.h"

namespace dray::api {

const StructInfo& InfoOf(const PolicyRule*) {
  using T = PolicyRule;
  static const StructInfo info =
      Struct<T>("PolicyRule", {
                                  Field<&T::verbs>("verbs", {.presence = Presence::kAlways}),
                                  Field<&T::api_groups>("apiGroups"),
                                  Field<&T::resources>("resources"),
                                  Field<&T::resource_names>("resourceNames"),
                                  Field<&T::non_resource_urls>("nonResourceURLs"),
                              });
  return info;
}

const StructInfo& InfoOf(const AggregationRule*) {
  using T = AggregationRule;
  static const StructInfo info =
      Struct<T>("AggregationRule", {
                                       Field<&T::cluster_role_selectors>("clusterRoleSelectors"),
                                   });
  return info;
}

const StructInfo& InfoOf(const Role*) {
  using T = Role;
  static const StructInfo info =
      Struct<T>("Role", {
                            Field<&T::metadata>("metadata"),
                            Field<&T::rules>("rules", {.presence = Presence::kAlways}),
                        });
  return info;
}

const StructInfo& InfoOf(const ClusterRole*) {
  using T = ClusterRole;
  static const StructInfo info =
      Struct<T>("ClusterRole", {
                                   Field<&T::metadata>("metadata"),
                                   Field<&T::rules>("rules", {.presence = Presence::kAlways}),
                                   Field<&T::aggregation_rule>("aggregationRule"),
                               });
  return info;
}

const StructInfo& InfoOf(const RbacSubject*) {
  using T = RbacSubject;
  static const StructInfo info =
      Struct<T>("Subject",
                {
                    Field<&T::kind>("kind", {.presence = Presence::kAlways}),
                    Field<&T::api_group>("apiGroup"),
                    Field<&T::name>("name", {.presence = Presence::kAlways}),
                    Field<&T::namespace_>("namespace"),
                },
                {.atomic = true});
  return info;
}

const StructInfo& InfoOf(const RoleRef*) {
  using T = RoleRef;
  static const StructInfo info =
      Struct<T>("RoleRef",
                {
                    Field<&T::api_group>("apiGroup", {.presence = Presence::kAlways}),
                    Field<&T::kind>("kind", {.presence = Presence::kAlways}),
                    Field<&T::name>("name", {.presence = Presence::kAlways}),
                },
                {.atomic = true});
  return info;
}

const StructInfo& InfoOf(const RoleBinding*) {
  using T = RoleBinding;
  static const StructInfo info =
      Struct<T>("RoleBinding", {
                                   Field<&T::metadata>("metadata"),
                                   Field<&T::subjects>("subjects"),
                                   Field<&T::role_ref>("roleRef", {.presence = Presence::kAlways}),
                               });
  return info;
}

const StructInfo& InfoOf(const ClusterRoleBinding*) {
  using T = ClusterRoleBinding;
  static const StructInfo info = Struct<T>(
      "ClusterRoleBinding", {
                                Field<&T::metadata>("metadata"),
                                Field<&T::subjects>("subjects"),
                                Field<&T::role_ref>("roleRef", {.presence = Presence::kAlways}),
                            });
  return info;
}

}  // namespace dray::api
