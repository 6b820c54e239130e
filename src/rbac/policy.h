// SPDX-License-Identifier: Apache-2.0
//
// Policy: roles and bindings as they are at one moment, ready to be asked. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/authorization.h"
#include "api/kinds.h"
#include "api/rbac.h"

namespace dray::rbac {

// "system:serviceaccount:ns:name": what a service account is called as a user.
std::string UserOfServiceAccount(std::string_view namespace_, std::string_view name);

// Built once, then only read: thread-safe.
class Policy {
 public:
  Policy() = default;
  // Roles and bindings; objects of other kinds are left out. What they say is kept.
  explicit Policy(std::vector<api::Object> objects);

  // Whether a rule of a role that the user has here allows it. The reason says which binding does;
  // of a refusal, which roles are missing that the user was given.
  api::AuthorizationDecision Authorize(const api::AuthorizationRequest& request) const;

  // All rules that the user has in a namespace (empty: in the whole cluster), and the roles that
  // are missing.
  struct Rules {
    std::vector<api::PolicyRule> rules;
    std::vector<std::string> errors;
  };
  Rules RulesFor(const api::UserInfo& user, std::string_view namespace_) const;

  // Null: there is none.
  const std::vector<api::PolicyRule>* RulesOf(const api::RoleRef& ref,
                                              std::string_view namespace_) const;

  std::size_t bindings() const { return bindings_.size(); }

 private:
  struct Binding {
    const std::vector<api::PolicyRule>* rules = nullptr;  // null: the role is missing
    const api::RoleRef* ref = nullptr;
    std::string_view name;
    std::string_view namespace_;  // empty: of a ClusterRoleBinding
  };
  // Who is given something where: 'u' or 'g', the name, and the namespace.
  using Place = std::pair<std::string, std::string>;
  // Which of the bindings, and by which of its subjects.
  struct Grant {
    std::size_t binding = 0;
    const api::RbacSubject* subject = nullptr;
  };

  void Add(const std::vector<api::RbacSubject>& subjects, Binding binding);
  // In the order of the bindings, each once; those of the whole cluster first.
  std::vector<Grant> GrantsOf(const api::UserInfo& user, std::string_view namespace_) const;
  static std::string Absent(const Binding& binding);
  static std::string Described(const Binding& binding, const api::RbacSubject& subject);

  std::vector<api::Object> objects_;
  std::map<std::string, const std::vector<api::PolicyRule>*, std::less<>> cluster_roles_;
  std::map<Place, const std::vector<api::PolicyRule>*> roles_;  // by namespace and name
  std::vector<Binding> bindings_;
  std::map<Place, std::vector<Grant>> grants_;
};

}  // namespace dray::rbac
