// SPDX-License-Identifier: Apache-2.0
//
// Roles, and who has them.
#include "rest/internal/description.h"

namespace dray::rest::internal {

std::span<const Description> RbacDescriptions() {
  static constexpr Description kRows[] = {
      {"PolicyRule", "Something that is allowed. Rules only add: none takes anything away."},
      {"PolicyRule.verbs", "What may be done: get, list, create and so on; * for everything."},
      {"PolicyRule.apiGroups", "The API groups of the resources; \"\" is core, * all of them."},
      {"PolicyRule.resources",
       "The resources, in plural: pods, pods/log, */scale; * for all, parts included."},
      {"PolicyRule.resourceNames",
       "Only the objects with these names. Empty: all. Nothing can be created by name."},
      {"PolicyRule.nonResourceURLs",
       "Paths that are no resources, such as /metrics; one that ends with * means all that begin "
       "with it. Only in a ClusterRole that is bound in the whole cluster."},
      {"AggregationRule", "Where the rules of a ClusterRole come from."},
      {"AggregationRule.clusterRoleSelectors",
       "The rules of each ClusterRole that one of them selects are part of this one."},
      {"Role", "Rules that can be granted in the role's namespace."},
      {"Role.metadata", "Name, labels and history of the role."},
      {"Role.rules", "What the role allows."},
      {"ClusterRole", "Rules that can be granted in a namespace or in the whole cluster."},
      {"ClusterRole.metadata", "Name, labels and history of the role."},
      {"ClusterRole.rules", "What the role allows. With an aggregationRule they are filled in."},
      {"ClusterRole.aggregationRule", "Where the rules come from, if they are not written here."},
      {"Subject", "A user, group or service account that a role is granted to."},
      {"Subject.kind", "User, Group or ServiceAccount."},
      {"Subject.apiGroup",
       "rbac.authorization.k8s.io for users and groups, \"\" for service accounts."},
      {"Subject.name", "What the user, group or service account is called."},
      {"Subject.namespace", "The namespace of a service account."},
      {"RoleRef", "The role that a binding gives. It cannot be changed."},
      {"RoleRef.apiGroup", "rbac.authorization.k8s.io."},
      {"RoleRef.kind", "Role or ClusterRole."},
      {"RoleRef.name", "What the role is called."},
      {"RoleBinding", "Gives a role to users, groups or service accounts, in its namespace."},
      {"RoleBinding.metadata", "Name, labels and history of the binding."},
      {"RoleBinding.subjects", "Who gets the role."},
      {"RoleBinding.roleRef", "The role: one of the namespace, or a ClusterRole."},
      {"ClusterRoleBinding",
       "Gives a ClusterRole to users, groups or service accounts, everywhere."},
      {"ClusterRoleBinding.metadata", "Name, labels and history of the binding."},
      {"ClusterRoleBinding.subjects", "Who gets the role."},
      {"ClusterRoleBinding.roleRef", "The ClusterRole."},
  };
  return kRows;
}

}  // namespace dray::rest::internal
