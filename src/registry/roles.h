// SPDX-License-Identifier: Apache-2.0
//
// Who may do what: a few built-in roles, given to users and groups. Fixed at start; there are no
// role objects.
//
// | who | may |
// |---|---|
// | anyone who is known | ask who they are and what they may |
// | group system:masters | everything |
// | group dray:viewers | read everything |
// | user system:kube-scheduler | read, bind pods, write claims, their binding, and events |
// | group system:nodes | run the pods of its own node, publish its slices, report its claims'
// devices | | group dray:drivers | publish slices, report the devices of its own driver | | group
// system:controllers | everything but what decides who may do what |
//
// Claims' status follows KEP-4817's granular rules: see api/authorization.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/authorization.h"
#include "api/kinds.h"
#include "base/status.h"

namespace dray::registry {

inline constexpr std::string_view kMasters = "system:masters";
inline constexpr std::string_view kViewers = "dray:viewers";
inline constexpr std::string_view kDrivers = "dray:drivers";
inline constexpr std::string_view kNodes = "system:nodes";
inline constexpr std::string_view kControllers = "system:controllers";
inline constexpr std::string_view kSchedulerUser = "system:kube-scheduler";
// Users of the group system:nodes are called system:node:<name>, those of dray:drivers
// dray:driver:<driver name>.
inline constexpr std::string_view kNodeUserPrefix = "system:node:";
inline constexpr std::string_view kDriverUserPrefix = "dray:driver:";

// A line of a role, as people are shown it. "*": any.
struct RoleRule {
  std::vector<std::string> verbs;
  std::string group;
  std::vector<std::string> resources;  // with subresources
};

// Thread-safe.
class RoleAuthorizer final : public api::Authorizer {
 public:
  api::AuthorizationDecision Authorize(const api::AuthorizationRequest& request) const override;
  // A path that is no resource: /metrics, /apis, ...
  bool MayRead(const api::UserInfo& user, std::string_view path) const;
  // Everything that Authorize allows, less what depends on names (AllowsDriver).
  std::vector<RoleRule> RulesOf(const api::UserInfo& user) const;
};

// "pods "x" is forbidden: User "u" cannot get resource "pods" in API group "" in the namespace "n""
Status ForbiddenFor(const api::AuthorizationRequest& request, const api::KindInfo& kind,
                    std::string_view why = {});
Status ForbiddenPath(const api::UserInfo& user, std::string_view method, std::string_view path);

// What a role's rules cannot say because it depends on the object: a node writes slices of its own
// node, a driver of its own name. `old` is null for a create, `object` for a deletion.
Status CheckOwnSlices(const api::UserInfo& user, const api::Object* object, const api::Object* old);

}  // namespace dray::registry
