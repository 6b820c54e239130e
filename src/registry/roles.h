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
// | group system:nodes | run the pods of its own node, publish its slices |
// | group dray:drivers | publish slices, report the devices of its own driver |
// | group system:controllers | everything |
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
// dray:driver:<driver name>. A driver that runs on one node is a service account with the driver's
// name, in the group dray:node:<node>, too.
inline constexpr std::string_view kNodeUserPrefix = "system:node:";
inline constexpr std::string_view kDriverUserPrefix = "dray:driver:";
inline constexpr std::string_view kNodeDriverUserPrefix = "system:serviceaccount:dray-drivers:";
inline constexpr std::string_view kOnNodePrefix = "dray:node:";

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

// The node that a user is, or runs on; empty: none in particular.
std::string_view NodeOf(const api::UserInfo& user);
// The driver that a user is; empty: none.
std::string_view DriverOf(const api::UserInfo& user);

}  // namespace dray::registry
