// SPDX-License-Identifier: Apache-2.0
//
// The table behind bootstrap.h: a line per rule, as short as it can be read.
#pragma once

#include <span>
#include <string_view>

namespace dray::rbac::internal {

// Lists are separated by spaces; "core" is the group "".
struct RuleRow {
  std::string_view verbs;
  std::string_view groups = {};
  std::string_view resources = {};
  std::string_view names = {};
  std::string_view urls = {};
};

struct RoleRow {
  std::string_view name;
  std::span<const RuleRow> rules = {};
  std::string_view labels = {};      // keys, whose value is "true"
  std::string_view gathers = {};     // keys of labels: the roles that have one are part of it
  std::string_view namespace_ = {};  // empty: a ClusterRole
};
std::span<const RoleRow> RoleRows();

struct BindingRow {
  std::string_view role;  // and the binding's own name
  std::string_view users = {};
  std::string_view groups = {};
  std::string_view namespace_ = {};  // empty: a ClusterRoleBinding
  std::string_view name = {};        // if it is not the role's
};
std::span<const BindingRow> BindingRows();

}  // namespace dray::rbac::internal
