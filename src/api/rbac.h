// SPDX-License-Identifier: Apache-2.0
//
// rbac.authorization.k8s.io/v1: Role, ClusterRole, RoleBinding, ClusterRoleBinding. What a role's
// rules mean is the room rbac's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_table.h"
#include "api/meta.h"
#include "api/values.h"

namespace dray::api {

inline constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";
inline constexpr std::string_view kSubjectUser = "User";
inline constexpr std::string_view kSubjectGroup = "Group";
inline constexpr std::string_view kSubjectServiceAccount = "ServiceAccount";

// Something that is allowed: of resources, or of paths that are none.
struct PolicyRule {
  std::vector<std::string> verbs;
  std::vector<std::string> api_groups = {};
  std::vector<std::string> resources = {};
  std::vector<std::string> resource_names = {};  // empty: any
  std::vector<std::string> non_resource_urls = {};
  UnknownFields unknown = {};
  friend bool operator==(const PolicyRule&, const PolicyRule&) = default;
};
const StructInfo& InfoOf(const PolicyRule*);

// Where the rules of a ClusterRole come from: from all that one of the selectors selects.
struct AggregationRule {
  std::vector<LabelSelector> cluster_role_selectors;
  UnknownFields unknown = {};
  friend bool operator==(const AggregationRule&, const AggregationRule&) = default;
};
const StructInfo& InfoOf(const AggregationRule*);

struct Role {
  ObjectMeta metadata;
  std::vector<PolicyRule> rules;
  UnknownFields unknown;
  friend bool operator==(const Role&, const Role&) = default;
};
const StructInfo& InfoOf(const Role*);

struct ClusterRole {
  ObjectMeta metadata;
  std::vector<PolicyRule> rules;
  std::optional<AggregationRule> aggregation_rule;
  UnknownFields unknown;
  friend bool operator==(const ClusterRole&, const ClusterRole&) = default;
};
const StructInfo& InfoOf(const ClusterRole*);

struct RbacSubject {
  std::string kind;
  std::string api_group = {};
  std::string name = {};
  std::string namespace_ = {};
  UnknownFields unknown = {};
  friend bool operator==(const RbacSubject&, const RbacSubject&) = default;
};
const StructInfo& InfoOf(const RbacSubject*);

struct RoleRef {
  std::string api_group;
  std::string kind;
  std::string name;
  UnknownFields unknown = {};
  friend bool operator==(const RoleRef&, const RoleRef&) = default;
};
const StructInfo& InfoOf(const RoleRef*);

struct RoleBinding {
  ObjectMeta metadata;
  std::vector<RbacSubject> subjects;
  RoleRef role_ref;
  UnknownFields unknown;
  friend bool operator==(const RoleBinding&, const RoleBinding&) = default;
};
const StructInfo& InfoOf(const RoleBinding*);

struct ClusterRoleBinding {
  ObjectMeta metadata;
  std::vector<RbacSubject> subjects;
  RoleRef role_ref;
  UnknownFields unknown;
  friend bool operator==(const ClusterRoleBinding&, const ClusterRoleBinding&) = default;
};
const StructInfo& InfoOf(const ClusterRoleBinding*);

}  // namespace dray::api
