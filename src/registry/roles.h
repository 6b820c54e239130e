// SPDX-License-Identifier: Apache-2.0
//
// Who may do what. In this order, and the first one that allows it counts:
//
// | who | may |
// |---|---|
// | group system:masters | everything |
// | a node (group system:nodes) | what rbac/node_authorizer.h says |
// | a driver (group dray:drivers) | report the devices of its own name |
// | anybody | what the stored roles and bindings give them (rbac/policy.h) |
//
// Claims' status follows KEP-4817's granular rules: see api/authorization.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/authorization.h"
#include "api/kinds.h"
#include "base/mutex.h"
#include "base/status.h"
#include "rbac/policy.h"
#include "registry/objects.h"

namespace dray::registry {

inline constexpr std::string_view kMasters = "system:masters";
inline constexpr std::string_view kViewers = "dray:viewers";
inline constexpr std::string_view kDrivers = "dray:drivers";
inline constexpr std::string_view kNodes = "system:nodes";
inline constexpr std::string_view kSchedulerUser = "system:kube-scheduler";
inline constexpr std::string_view kControllersUser = "system:kube-controller-manager";
// Users of the group system:nodes are called system:node:<name>, those of dray:drivers
// dray:driver:<driver name>. A driver that runs on one node is a service account with the driver's
// name, in the group dray:node:<node>, too.
inline constexpr std::string_view kNodeUserPrefix = "system:node:";
inline constexpr std::string_view kDriverUserPrefix = "dray:driver:";
inline constexpr std::string_view kNodeDriverUserPrefix = "system:serviceaccount:dray-drivers:";
inline constexpr std::string_view kOnNodePrefix = "dray:node:";

// Thread-safe.
class RoleAuthorizer final : public api::Authorizer {
 public:
  // Goes by the roles that a cluster begins with, and knows of no object, until it follows some.
  RoleAuthorizer();
  ~RoleAuthorizer() override;

  // Makes the authorizer go by what is stored, from the moment on at which a write is answered,
  // until this is destroyed.
  class Following {
   public:
    virtual ~Following() = default;
  };
  enum class Source : unsigned char {
    kStored,     // roles and bindings of the store
    kBootstrap,  // those that a cluster begins with; of the store only what nodes' pods refer to
  };
  // One at a time. The objects and the authorizer outlive it.
  [[nodiscard]] std::unique_ptr<Following> Follow(const Objects& objects,
                                                  Source source = Source::kStored);

  api::AuthorizationDecision Authorize(const api::AuthorizationRequest& request) const override;

  // What the user may in a namespace. Incomplete for nodes, whose rights depend on objects.
  struct Rules {
    std::vector<api::PolicyRule> rules;
    bool incomplete = false;
    std::string error = {};  // what is missing
  };
  Rules RulesFor(const api::UserInfo& user, std::string_view namespace_) const;

  // Nobody gives rights away that they do not have (rbac/escalation.h): Forbidden, or that the role
  // of a binding is not there. `old` is null for a create; objects of other kinds pass.
  Status CheckEscalation(const api::UserInfo& user, const api::Object& next,
                         const api::Object* old) const;

 private:
  class StoredRoles;
  std::shared_ptr<const rbac::Policy> Policy() const;

  mutable base::Mutex mutex_;
  StoredRoles* stored_ ABSL_GUARDED_BY(mutex_) = nullptr;
  mutable std::shared_ptr<const rbac::Policy> policy_ ABSL_GUARDED_BY(mutex_);
};

// "pods "x" is forbidden: User "u" cannot get resource "pods" in API group "" in the namespace "n""
Status ForbiddenFor(const api::AuthorizationRequest& request, const api::KindInfo& kind,
                    std::string_view why = {});
Status ForbiddenPath(const api::AuthorizationRequest& request, std::string_view why = {});

// The node that a user is, or runs on; empty: none in particular.
std::string_view NodeOf(const api::UserInfo& user);
// The driver that a user is; empty: none.
std::string_view DriverOf(const api::UserInfo& user);

}  // namespace dray::registry
