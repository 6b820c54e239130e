// SPDX-License-Identifier: Apache-2.0
#include "registry/roles.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "api/rbac.h"
#include "fmt/format.h"
#include "rbac/bootstrap.h"
#include "rbac/escalation.h"
#include "rbac/node_authorizer.h"
#include "registry/internal/stored_roles.h"
#include "rest/api_error.h"

namespace dray::registry {
namespace {

constexpr std::string_view kResourceGroup = "resource.k8s.io";

bool HasGroup(const api::UserInfo& user, std::string_view group) {
  return std::ranges::find(user.groups, group) != user.groups.end();
}

// Where nothing is stored.
class NoObjects final : public rbac::NodeObjects {
 public:
  std::vector<api::Object> PodsOn(std::string_view, std::string_view) const override { return {}; }
  std::optional<api::Object> Find(std::string_view, std::string_view, std::string_view,
                                  std::string_view) const override {
    return std::nullopt;
  }
};

// KEP-4817: the driver's own entries of a claim's status. A driver that runs on one node speaks for
// devices of claims that are allocated for that node, any other for its devices everywhere. No role
// can say so: the name is the user's.
bool AllowsDriver(const api::AuthorizationRequest& request) {
  const bool on_node = !NodeOf(request.user).empty();
  return request.api_group == kResourceGroup && request.resource == "resourceclaims" &&
         request.subresource == "driver" &&
         (request.verb.starts_with("associated-node:") ||
          (!on_node && request.verb.starts_with("arbitrary-node:"))) &&
         !request.name.empty() && request.name == DriverOf(request.user);
}

std::string Scope(const api::AuthorizationRequest& request) {
  return request.namespace_.empty() ? "at the cluster scope"
                                    : fmt::format("in the namespace \"{}\"", request.namespace_);
}

std::string_view After(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : std::string_view();
}

const std::shared_ptr<const rbac::Policy>& BootstrapPolicy() {
  static const auto policy = std::make_shared<const rbac::Policy>(rbac::BootstrapObjects());
  return policy;
}

}  // namespace

std::string_view NodeOf(const api::UserInfo& user) {
  if (HasGroup(user, kNodes)) return After(user.name, kNodeUserPrefix);
  if (!HasGroup(user, kDrivers)) return {};
  for (const std::string& group : user.groups) {
    if (const std::string_view node = After(group, kOnNodePrefix); !node.empty()) return node;
  }
  return {};
}

std::string_view DriverOf(const api::UserInfo& user) {
  if (!HasGroup(user, kDrivers)) return {};
  const std::string_view driver = After(user.name, kDriverUserPrefix);
  return driver.empty() ? After(user.name, kNodeDriverUserPrefix) : driver;
}

RoleAuthorizer::RoleAuthorizer() : policy_(BootstrapPolicy()) {}
RoleAuthorizer::~RoleAuthorizer() = default;

std::unique_ptr<RoleAuthorizer::Following> RoleAuthorizer::Follow(const Objects& objects,
                                                                  Source source) {
  auto following = std::make_unique<StoredRoles>(*this, objects, source);
  const base::MutexLock lock(mutex_);
  stored_ = following.get();
  return following;
}

std::shared_ptr<const rbac::Policy> RoleAuthorizer::Policy() const {
  const base::MutexLock lock(mutex_);
  if (stored_ != nullptr) stored_->Refresh(policy_);
  return policy_;
}

api::AuthorizationDecision RoleAuthorizer::Authorize(
    const api::AuthorizationRequest& request) const {
  if (rbac::IsMaster(request.user)) return {.allowed = true};
  api::AuthorizationDecision said;
  if (HasGroup(request.user, kNodes)) {
    static const NoObjects kNone;
    const rbac::NodeObjects* objects = &kNone;
    {
      const base::MutexLock lock(mutex_);
      if (stored_ != nullptr) objects = stored_;
    }
    if (auto node = rbac::AuthorizeNode(request, *objects)) {
      if (node->allowed) return *node;
      said = *std::move(node);
    }
  }
  if (AllowsDriver(request)) return {.allowed = true};
  api::AuthorizationDecision decision = Policy()->Authorize(request);
  // Each may have its reasons to refuse.
  if (!decision.allowed && !said.reason.empty()) {
    decision.reason =
        decision.reason.empty() ? said.reason : fmt::format("{}, {}", said.reason, decision.reason);
  }
  return decision;
}

RoleAuthorizer::Rules RoleAuthorizer::RulesFor(const api::UserInfo& user,
                                               std::string_view namespace_) const {
  rbac::Policy::Rules found = Policy()->RulesFor(user, namespace_);
  Rules rules{.rules = std::move(found.rules)};
  if (HasGroup(user, kNodes)) {
    found.errors.emplace_back("node authorizer does not support user rule resolution");
  }
  rules.incomplete = !found.errors.empty();
  rules.error = absl::StrJoin(found.errors, ", ");
  return rules;
}

Status RoleAuthorizer::CheckEscalation(const api::UserInfo& user, const api::Object& next,
                                       const api::Object* old) const {
  if (next.kind().group != api::kRbacGroup || rbac::IsMaster(user)) return {};
  const auto why = rbac::CheckEscalation(user, next, old, *Policy(), *this);
  if (!why) return {};
  if (!why->role_not_found) {
    return rest::Forbidden(next.kind(), next.metadata().name, why->text);
  }
  const auto* local = next.As<api::RoleBinding>();
  const api::RoleRef& ref =
      local != nullptr ? local->role_ref : next.As<api::ClusterRoleBinding>()->role_ref;
  const bool role = ref.kind == "Role";
  return rest::NotFound(role ? api::HubKind(api::TypeInfoOf<api::Role>())
                             : api::HubKind(api::TypeInfoOf<api::ClusterRole>()),
                        ref.name);
}

Status ForbiddenFor(const api::AuthorizationRequest& request, const api::KindInfo& kind,
                    std::string_view why) {
  const std::string resource = request.subresource.empty()
                                   ? request.resource
                                   : fmt::format("{}/{}", request.resource, request.subresource);
  std::string text =
      fmt::format("User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {}", request.user.name,
                  request.verb, resource, request.api_group, Scope(request));
  if (!why.empty()) text += fmt::format(": {}", why);
  return rest::Forbidden(kind, request.name, text);
}

Status ForbiddenPath(const api::AuthorizationRequest& request, std::string_view why) {
  std::string text = fmt::format("forbidden: User \"{}\" cannot {} path \"{}\"", request.user.name,
                                 request.verb, request.path);
  if (!why.empty()) text += fmt::format(": {}", why);
  return rest::ToStatus({.code = 403,
                         .reason = "Forbidden",
                         .message = std::move(text),
                         .details = rest::StatusDetails{}});
}

}  // namespace dray::registry
