// SPDX-License-Identifier: Apache-2.0
#include "registry/roles.h"

#include <algorithm>
#include <span>

#include "fmt/format.h"
#include "rest/api_error.h"

namespace dray::registry {
namespace {

constexpr std::string_view kResourceGroup = "resource.k8s.io";
constexpr std::string_view kAny = "*";

struct Rule {
  std::string_view verbs;  // comma separated; "*": any
  std::string_view group;
  std::string_view resources;  // comma separated, with subresources; "*": any
};

constexpr std::string_view kRead = "get,list,watch";
constexpr std::string_view kWrite = "create,update,patch,delete,deletecollection";

constexpr Rule kBasic[] = {
    {"create", "authentication.k8s.io", "selfsubjectreviews"},
    {"create", "authorization.k8s.io", "selfsubjectaccessreviews,selfsubjectrulesreviews"},
};
constexpr Rule kEverything[] = {{kAny, kAny, kAny}};
constexpr Rule kReadAll[] = {{kRead, kAny, kAny}};
constexpr Rule kSchedulerRules[] = {
    {kRead, kAny, kAny},
    {"create", "", "pods/binding,bindings,events"},
    {"create,patch,update", "events.k8s.io", "events"},
    {"patch,update", "", "pods/status,events"},
    {"delete", "", "pods"},
    {"create,delete,update,patch", kResourceGroup, "resourceclaims,resourceclaims/status"},
    {"update,patch", kResourceGroup, "resourceclaims/binding"},
    {kAny, "coordination.k8s.io", "leases"},
};
constexpr Rule kNodeRules[] = {
    {kRead, "", "pods,nodes,namespaces"},
    {kRead, kResourceGroup, "resourceclaims,resourceslices,deviceclasses"},
    {"create,update,patch", "", "nodes,nodes/status,events"},
    {"update,patch", "", "pods/status"},
    {"delete", "", "pods"},
    {"create", "", "pods/eviction"},
    {kWrite, kResourceGroup, "resourceslices"},
    {"create,get,update,patch,delete", "coordination.k8s.io", "leases"},
};
constexpr Rule kDriverRules[] = {
    {kRead, kResourceGroup, "resourceclaims,resourceslices,deviceclasses"},
    {kRead, "", "nodes,pods"},
    {kWrite, kResourceGroup, "resourceslices"},
    {"get,update,patch", kResourceGroup, "resourceclaims/status"},
};

bool Lists(std::string_view list, std::string_view item) {
  if (list == kAny) return true;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == item) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

bool HasGroup(const api::UserInfo& user, std::string_view group) {
  return std::ranges::find(user.groups, group) != user.groups.end();
}

bool Allows(std::span<const Rule> rules, const api::AuthorizationRequest& request) {
  const std::string resource = request.subresource.empty()
                                   ? request.resource
                                   : fmt::format("{}/{}", request.resource, request.subresource);
  return std::ranges::any_of(rules, [&](const Rule& rule) {
    return Lists(rule.verbs, request.verb) &&
           (rule.group == kAny || rule.group == request.api_group) &&
           Lists(rule.resources, resource);
  });
}

// KEP-4817: the driver's own entries of a claim's status. A driver that runs on one node speaks for
// devices of claims that are allocated for that node, any other for its devices everywhere.
bool AllowsDriver(const api::AuthorizationRequest& request) {
  const bool on_node = !NodeOf(request.user).empty();
  return request.api_group == kResourceGroup && request.resource == "resourceclaims" &&
         request.subresource == "driver" &&
         (request.verb.starts_with("associated-node:") ||
          (!on_node && request.verb.starts_with("arbitrary-node:"))) &&
         !request.name.empty() && request.name == DriverOf(request.user);
}

// The roles that a user has.
std::vector<std::span<const Rule>> RolesOf(const api::UserInfo& user) {
  std::vector<std::span<const Rule>> roles;
  if (!HasGroup(user, "system:unauthenticated")) roles.emplace_back(kBasic);
  if (HasGroup(user, kMasters) || HasGroup(user, kControllers)) roles.emplace_back(kEverything);
  if (HasGroup(user, kViewers)) roles.emplace_back(kReadAll);
  if (user.name == kSchedulerUser) roles.emplace_back(kSchedulerRules);
  if (HasGroup(user, kNodes) && !NodeOf(user).empty()) roles.emplace_back(kNodeRules);
  if (!DriverOf(user).empty()) roles.emplace_back(kDriverRules);
  return roles;
}

std::vector<std::string> Items(std::string_view list) {
  std::vector<std::string> items;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    items.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return items;
}

std::string Scope(const api::AuthorizationRequest& request) {
  return request.namespace_.empty() ? "at the cluster scope"
                                    : fmt::format("in the namespace \"{}\"", request.namespace_);
}

std::string_view After(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : std::string_view();
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

api::AuthorizationDecision RoleAuthorizer::Authorize(
    const api::AuthorizationRequest& request) const {
  const bool allowed =
      std::ranges::any_of(RolesOf(request.user),
                          [&](std::span<const Rule> rules) { return Allows(rules, request); }) ||
      AllowsDriver(request);
  return {.allowed = allowed};
}

std::vector<RoleRule> RoleAuthorizer::RulesOf(const api::UserInfo& user) const {
  std::vector<RoleRule> all;
  for (const std::span<const Rule> rules : RolesOf(user)) {
    for (const Rule& rule : rules) {
      all.push_back({Items(rule.verbs), std::string(rule.group), Items(rule.resources)});
    }
  }
  return all;
}

bool RoleAuthorizer::MayRead(const api::UserInfo& user, std::string_view path) const {
  constexpr std::string_view kHealth[] = {"/healthz", "/livez", "/readyz"};
  const auto at_or_below = [&](std::string_view root) {
    return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
  };
  if (std::ranges::any_of(kHealth, at_or_below)) return true;
  if (HasGroup(user, "system:unauthenticated")) return false;
  // Everything that there is, secrets as well.
  if (path == "/snapshot") return HasGroup(user, kMasters);
  if (path != "/metrics" && !path.starts_with("/metrics/")) return true;
  return HasGroup(user, kMasters) || HasGroup(user, kControllers) || HasGroup(user, kViewers);
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

Status ForbiddenPath(const api::UserInfo& user, std::string_view method, std::string_view path) {
  std::string verb(method);
  std::ranges::transform(verb, verb.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return rest::ToStatus({.code = 403,
                         .reason = "Forbidden",
                         .message = fmt::format("forbidden: User \"{}\" cannot {} path \"{}\"",
                                                user.name, verb, path),
                         .details = rest::StatusDetails{}});
}

}  // namespace dray::registry
