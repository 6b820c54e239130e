// SPDX-License-Identifier: Apache-2.0
//
// ClusterRoles whose rules are those of others. Pure.
#pragma once

#include <span>
#include <vector>

#include "api/rbac.h"

namespace dray::rbac {

// The rules of all roles but itself that one of its selectors selects: selector by selector, roles
// by name, each rule once. A selector that cannot be understood selects nothing.
std::vector<api::PolicyRule> AggregatedRules(const api::ClusterRole& role,
                                             std::span<const api::ClusterRole* const> all);

}  // namespace dray::rbac
