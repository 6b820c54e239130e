// SPDX-License-Identifier: Apache-2.0
//
// Nobody gives away what they do not have: whether somebody may write a role or a binding. Pure.
//
// Spec: Kubernetes, "Privilege escalation prevention and bootstrapping". To write a role one must
// have all of its rules where it counts, or the verb "escalate" on it; to write a binding, all rules
// of its role, or the verb "bind" on that role. A role that gathers the rules of others takes the
// right to everything. Members of system:masters have that.
#pragma once

#include <optional>
#include <string>

#include "api/authorization.h"
#include "api/kinds.h"
#include "rbac/policy.h"

namespace dray::rbac {

inline constexpr std::string_view kMasters = "system:masters";

bool IsMaster(const api::UserInfo& user);

// Why not.
struct Escalation {
  std::string text;
  // The role that a binding speaks of is not there, and the user could not bind what they do not
  // see: `text` says which one.
  bool role_not_found = false;
};

// `old` is null for a create. Nothing: it is allowed, or the object is neither role nor binding.
// `authorizer` answers for the verbs "escalate" and "bind", `policy` for what the user has.
std::optional<Escalation> CheckEscalation(const api::UserInfo& user, const api::Object& next,
                                          const api::Object* old, const Policy& policy,
                                          const api::Authorizer& authorizer);

}  // namespace dray::rbac
