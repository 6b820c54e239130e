// SPDX-License-Identifier: Apache-2.0
//
// The roles and bindings that a cluster begins with: Kubernetes's, as far as what they speak of is
// here, and those of dray's own users. Pure.
//
// They are objects like any others: an administrator may change them. At each start what is missing
// of them is put back, unless the annotation rbac.authorization.kubernetes.io/autoupdate is "false";
// what was added stays.
#pragma once

#include <vector>

#include "api/cluster.h"
#include "api/kinds.h"
#include "base/status.h"

namespace dray::rbac {

inline constexpr std::string_view kAutoUpdate = "rbac.authorization.kubernetes.io/autoupdate";

// Roles first. ClusterRoles that gather others have gathered them.
const std::vector<api::Object>& BootstrapObjects();

// What a start makes of an object that is there.
struct Reconciliation {
  enum class Kind : unsigned char {
    kNothing,   // it has all that it should
    kUpdate,    // to `object`
    kRecreate,  // it gives another role: deleted, and made anew as `object`
  };
  Kind kind = Kind::kNothing;
  api::Object object;
};
Reconciliation Reconciled(const api::Object& stored, const api::Object& wanted);

// Makes it so. Namespaces that roles are in are there already.
Status EnsureBootstrapObjects(api::Cluster& cluster);

}  // namespace dray::rbac
