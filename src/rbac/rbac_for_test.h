// SPDX-License-Identifier: Apache-2.0
//
// Roles, bindings and wishes in few words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "api/authorization.h"
#include "api/kinds.h"
#include "api/rbac.h"

namespace dray::rbac {

using Names = std::vector<std::string>;

inline api::PolicyRule Rule(Names verbs, Names groups, Names resources, Names names = {}) {
  return {.verbs = std::move(verbs),
          .api_groups = std::move(groups),
          .resources = std::move(resources),
          .resource_names = std::move(names)};
}
inline api::PolicyRule PathRule(Names verbs, Names urls) {
  return {.verbs = std::move(verbs), .non_resource_urls = std::move(urls)};
}

inline api::Object ClusterRoleOf(std::string name, std::vector<api::PolicyRule> rules) {
  api::ClusterRole role;
  role.metadata.name = std::move(name);
  role.rules = std::move(rules);
  return api::Object::Of(std::move(role));
}
inline api::Object RoleOf(std::string space, std::string name, std::vector<api::PolicyRule> rules) {
  api::Role role;
  role.metadata.namespace_ = std::move(space);
  role.metadata.name = std::move(name);
  role.rules = std::move(rules);
  return api::Object::Of(std::move(role));
}

inline api::RbacSubject User(std::string name) {
  return {.kind = "User", .api_group = std::string(api::kRbacGroup), .name = std::move(name)};
}
inline api::RbacSubject Group(std::string name) {
  return {.kind = "Group", .api_group = std::string(api::kRbacGroup), .name = std::move(name)};
}
inline api::RbacSubject Account(std::string space, std::string name) {
  return {.kind = "ServiceAccount", .name = std::move(name), .namespace_ = std::move(space)};
}

inline api::Object WideBinding(std::string name, std::string role,
                               std::vector<api::RbacSubject> subjects) {
  api::ClusterRoleBinding binding;
  binding.metadata.name = std::move(name);
  binding.role_ref = {std::string(api::kRbacGroup), "ClusterRole", std::move(role)};
  binding.subjects = std::move(subjects);
  return api::Object::Of(std::move(binding));
}
inline api::Object LocalBinding(std::string space, std::string name, std::string kind,
                                std::string role, std::vector<api::RbacSubject> subjects) {
  api::RoleBinding binding;
  binding.metadata.namespace_ = std::move(space);
  binding.metadata.name = std::move(name);
  binding.role_ref = {std::string(api::kRbacGroup), std::move(kind), std::move(role)};
  binding.subjects = std::move(subjects);
  return api::Object::Of(std::move(binding));
}

}  // namespace dray::rbac
