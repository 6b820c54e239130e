// SPDX-License-Identifier: Apache-2.0
#include "rbac/escalation.h"

#include <algorithm>
#include <span>
#include <vector>

#include "absl/strings/str_join.h"
#include "api/rbac.h"
#include "fmt/format.h"
#include "rbac/quoted.h"
#include "rbac/rules.h"

namespace dray::rbac {
namespace {

using Rules = std::span<const api::PolicyRule>;

const std::vector<api::PolicyRule>& Everything() {
  static const std::vector<api::PolicyRule> rules = {
      {.verbs = {"*"}, .api_groups = {"*"}, .resources = {"*"}},
      {.verbs = {"*"}, .non_resource_urls = {"*"}}};
  return rules;
}

struct Check {
  const api::UserInfo& user;
  const api::Object& next;
  const api::Object* old;
  const Policy& policy;
  const api::Authorizer& authorizer;

  const std::string& space() const { return next.metadata().namespace_; }

  bool May(std::string_view verb, std::string_view resource, const std::string& name) const {
    return authorizer
        .Authorize({.user = user,
                    .verb = std::string(verb),
                    .api_group = std::string(api::kRbacGroup),
                    .resource = std::string(resource),
                    .namespace_ = space(),
                    .name = name})
        .allowed;
  }

  std::optional<Escalation> Holds(Rules wanted) const {
    const Policy::Rules own = policy.RulesFor(user, space());
    const Missing missing = Uncovered(own.rules, wanted);
    if (missing.empty()) return std::nullopt;
    std::string text = fmt::format(
        "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        Quoted(user.name), Quoted(user.groups), CompactText(missing));
    if (!own.errors.empty()) {
      text += fmt::format("; resolution errors: [{}]", absl::StrJoin(own.errors, ", "));
    }
    return Escalation{std::move(text)};
  }

  template <typename T>
  std::optional<Escalation> Role(const T& role, std::string_view resource) const {
    if (May("escalate", resource, role.metadata.name)) return std::nullopt;
    return Holds(role.rules);
  }

  // What it gathers is for others to say, so that it may become anything.
  std::optional<Escalation> Aggregation(const api::ClusterRole& role) const {
    const auto gathers = [](const api::ClusterRole* one) {
      return one != nullptr && one->aggregation_rule &&
             !one->aggregation_rule->cluster_role_selectors.empty();
    };
    const auto* before = old == nullptr ? nullptr : old->As<api::ClusterRole>();
    if (!gathers(&role) && !gathers(before)) return std::nullopt;
    if (May("escalate", "clusterroles", role.metadata.name)) return std::nullopt;
    if (!Holds(Everything())) return std::nullopt;
    return Escalation{"must have cluster-admin privileges to use the aggregationRule"};
  }

  template <typename T>
  std::optional<Escalation> Binding(const T& binding) const {
    const bool wide = binding.role_ref.kind == "ClusterRole";
    const std::string_view resource = wide ? "clusterroles" : "roles";
    if (May("bind", resource, binding.role_ref.name)) return std::nullopt;
    const auto* rules = policy.RulesOf(binding.role_ref, space());
    if (rules == nullptr) {
      return Escalation{fmt::format("{}.{} {} not found", resource, api::kRbacGroup,
                                    Quoted(binding.role_ref.name)),
                        true};
    }
    return Holds(*rules);
  }
};

// What the garbage collector changes: neither says anything about rights.
bool OnlyOwners(const api::Object& next, const api::Object& old) {
  api::Object same = next;
  api::ObjectMeta& metadata = same.MutableMetadata();
  metadata.owner_references = old.metadata().owner_references;
  metadata.finalizers = old.metadata().finalizers;
  metadata.managed_fields = old.metadata().managed_fields;
  metadata.resource_version = old.metadata().resource_version;
  return SemanticEqual(same, old);
}

}  // namespace

bool IsMaster(const api::UserInfo& user) {
  return std::ranges::find(user.groups, kMasters) != user.groups.end();
}

std::optional<Escalation> CheckEscalation(const api::UserInfo& user, const api::Object& next,
                                          const api::Object* old, const Policy& policy,
                                          const api::Authorizer& authorizer) {
  if (next.kind().group != api::kRbacGroup || IsMaster(user)) return std::nullopt;
  if (old != nullptr && OnlyOwners(next, *old)) return std::nullopt;
  const Check check{user, next, old, policy, authorizer};
  if (const auto* role = next.As<api::Role>()) return check.Role(*role, "roles");
  if (const auto* role = next.As<api::ClusterRole>()) {
    if (auto why = check.Role(*role, "clusterroles")) return why;
    return check.Aggregation(*role);
  }
  if (const auto* binding = next.As<api::RoleBinding>()) return check.Binding(*binding);
  if (const auto* binding = next.As<api::ClusterRoleBinding>()) return check.Binding(*binding);
  return std::nullopt;
}

}  // namespace dray::rbac
