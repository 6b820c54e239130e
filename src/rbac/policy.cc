// SPDX-License-Identifier: Apache-2.0
#include "rbac/policy.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "rbac/quoted.h"
#include "rbac/rules.h"

namespace dray::rbac {
namespace {

std::string Key(char kind, std::string_view name) { return std::string(1, kind).append(name); }

// The user or group that a subject means; empty: nobody. A service account without a namespace is
// one of the binding's.
std::string Meant(const api::RbacSubject& subject, std::string_view namespace_) {
  if (subject.kind == api::kSubjectUser) return Key('u', subject.name);
  if (subject.kind == api::kSubjectGroup) return Key('g', subject.name);
  if (subject.kind != api::kSubjectServiceAccount) return {};
  const std::string_view space =
      subject.namespace_.empty() ? namespace_ : std::string_view(subject.namespace_);
  return space.empty() ? std::string() : Key('u', UserOfServiceAccount(space, subject.name));
}

std::string Joined(const std::vector<std::string>& errors) {
  return errors.size() == 1 ? errors.front() : fmt::format("[{}]", absl::StrJoin(errors, ", "));
}

}  // namespace

std::string UserOfServiceAccount(std::string_view namespace_, std::string_view name) {
  return fmt::format("system:serviceaccount:{}:{}", namespace_, name);
}

Policy::Policy(std::vector<api::Object> objects) : objects_(std::move(objects)) {
  for (const api::Object& object : objects_) {
    if (const auto* wide = object.As<api::ClusterRole>()) {
      cluster_roles_[wide->metadata.name] = &wide->rules;
    } else if (const auto* role = object.As<api::Role>()) {
      roles_[{role->metadata.namespace_, role->metadata.name}] = &role->rules;
    }
  }
  // In an order that does not depend on theirs.
  std::vector<const api::ClusterRoleBinding*> wide;
  std::vector<const api::RoleBinding*> local;
  for (const api::Object& object : objects_) {
    if (const auto* binding = object.As<api::ClusterRoleBinding>()) wide.push_back(binding);
    if (const auto* binding = object.As<api::RoleBinding>()) local.push_back(binding);
  }
  std::ranges::sort(wide, {}, [](const auto* binding) { return binding->metadata.name; });
  std::ranges::sort(local, {}, [](const auto* binding) {
    return std::pair(binding->metadata.namespace_, binding->metadata.name);
  });
  for (const auto* binding : wide) {
    Add(binding->subjects, {.rules = RulesOf(binding->role_ref, ""),
                            .ref = &binding->role_ref,
                            .name = binding->metadata.name,
                            .namespace_ = {}});
  }
  for (const auto* binding : local) {
    Add(binding->subjects, {.rules = RulesOf(binding->role_ref, binding->metadata.namespace_),
                            .ref = &binding->role_ref,
                            .name = binding->metadata.name,
                            .namespace_ = binding->metadata.namespace_});
  }
}

void Policy::Add(const std::vector<api::RbacSubject>& subjects, Binding binding) {
  const std::size_t index = bindings_.size();
  for (const api::RbacSubject& subject : subjects) {
    std::string meant = Meant(subject, binding.namespace_);
    if (meant.empty()) continue;
    grants_[{std::move(meant), std::string(binding.namespace_)}].push_back({index, &subject});
  }
  bindings_.push_back(binding);
}

const std::vector<api::PolicyRule>* Policy::RulesOf(const api::RoleRef& ref,
                                                    std::string_view namespace_) const {
  if (ref.kind == "ClusterRole") {
    const auto it = cluster_roles_.find(ref.name);
    return it == cluster_roles_.end() ? nullptr : it->second;
  }
  if (ref.kind != "Role") return nullptr;
  const auto it = roles_.find({std::string(namespace_), ref.name});
  return it == roles_.end() ? nullptr : it->second;
}

std::vector<Policy::Grant> Policy::GrantsOf(const api::UserInfo& user,
                                            std::string_view namespace_) const {
  std::vector<Grant> all;
  const auto take = [&](std::string who) {
    Place place(std::move(who), std::string());
    for (const std::string_view space : {std::string_view(), namespace_}) {
      place.second = space;
      if (const auto it = grants_.find(place); it != grants_.end()) {
        all.insert(all.end(), it->second.begin(), it->second.end());
      }
      if (namespace_.empty()) break;
    }
  };
  take(Key('u', user.name));
  for (const std::string& group : user.groups) take(Key('g', group));
  // The first subject of each binding that means the user.
  std::ranges::sort(all, [](const Grant& a, const Grant& b) {
    return std::pair(a.binding, a.subject) < std::pair(b.binding, b.subject);
  });
  all.erase(std::unique(all.begin(), all.end(),
                        [](const Grant& a, const Grant& b) { return a.binding == b.binding; }),
            all.end());
  return all;
}

std::string Policy::Absent(const Binding& binding) {
  return fmt::format("{}.{} {} not found", binding.ref->kind == "Role" ? "role" : "clusterrole",
                     api::kRbacGroup, Quoted(binding.ref->name));
}

std::string Policy::Described(const Binding& binding, const api::RbacSubject& subject) {
  const bool wide = binding.namespace_.empty();
  std::string who = subject.name;
  if (subject.kind == api::kSubjectServiceAccount) {
    who.append("/").append(subject.namespace_.empty() ? binding.namespace_
                                                      : std::string_view(subject.namespace_));
  }
  return fmt::format("{} {} of {} {} to {} {}", wide ? "ClusterRoleBinding" : "RoleBinding",
                     Quoted(wide ? std::string(binding.name)
                                 : fmt::format("{}/{}", binding.name, binding.namespace_)),
                     binding.ref->kind, Quoted(binding.ref->name), subject.kind, Quoted(who));
}

api::AuthorizationDecision Policy::Authorize(const api::AuthorizationRequest& request) const {
  std::vector<std::string> errors;
  // What is no resource is in no namespace.
  const std::string_view space =
      request.IsResource() ? std::string_view(request.namespace_) : std::string_view();
  for (const Grant& grant : GrantsOf(request.user, space)) {
    const Binding& binding = bindings_[grant.binding];
    if (binding.rules == nullptr) {
      errors.push_back(Absent(binding));
    } else if (Allows(*binding.rules, request)) {
      return {.allowed = true, .reason = "RBAC: allowed by " + Described(binding, *grant.subject)};
    }
  }
  if (errors.empty()) return {};
  return {.allowed = false, .reason = "RBAC: " + Joined(errors)};
}

Policy::Rules Policy::RulesFor(const api::UserInfo& user, std::string_view namespace_) const {
  Rules all;
  for (const Grant& grant : GrantsOf(user, namespace_)) {
    const Binding& binding = bindings_[grant.binding];
    if (binding.rules == nullptr) {
      all.errors.push_back(Absent(binding));
    } else {
      all.rules.insert(all.rules.end(), binding.rules->begin(), binding.rules->end());
    }
  }
  return all;
}

}  // namespace dray::rbac
