// SPDX-License-Identifier: Apache-2.0
//
// Who am I, may I, and what may I: `kubectl auth whoami` and `kubectl auth can-i`. Answered from
// the request's user and the roles; nothing is stored. Spec: authentication.k8s.io/v1 and
// authorization.k8s.io/v1, the self-subject reviews.
#include <utility>

#include "registry/internal/exchange.h"
#include "rest/api_error.h"
#include "rest/options.h"

namespace dray::registry::internal {
namespace {

rest::DocumentNode Strings(const std::vector<std::string>& texts) {
  rest::DocumentNode list = rest::ListNode();
  for (const std::string& text : texts) list.items.push_back(rest::StringNode(text));
  return list;
}

rest::DocumentNode WhoAmI(const api::UserInfo& user) {
  rest::DocumentNode info = rest::MapNode();
  rest::SetIn(info, "username", rest::StringNode(user.name));
  if (!user.uid.empty()) rest::SetIn(info, "uid", rest::StringNode(user.uid));
  rest::SetIn(info, "groups", Strings(user.groups));
  if (!user.extra.empty()) {
    rest::DocumentNode extra = rest::MapNode();
    for (const auto& [key, values] : user.extra) rest::SetIn(extra, key, Strings(values));
    rest::SetIn(info, "extra", std::move(extra));
  }
  rest::DocumentNode status = rest::MapNode();
  rest::SetIn(status, "userInfo", std::move(info));
  return status;
}

StatusOr<rest::DocumentNode> MayI(const Exchange& exchange, const RoleAuthorizer& authorizer,
                                  const rest::DocumentNode& spec) {
  const rest::DocumentNode* resource = rest::FindIn(spec, "resourceAttributes");
  const rest::DocumentNode* path = rest::FindIn(spec, "nonResourceAttributes");
  if ((resource == nullptr) == (path == nullptr)) {
    return rest::Invalid(
        "authorization.k8s.io", "SelfSubjectAccessReview", "",
        {api::Invalid(base::FieldPath("spec") / "resourceAttributes", "",
                      "exactly one of nonResourceAttributes or resourceAttributes must be set")});
  }
  bool allowed = false;
  if (resource != nullptr) {
    const auto text = [&](std::string_view key) {
      return std::string(rest::TextIn(*resource, key));
    };
    allowed = authorizer
                  .Authorize({.user = exchange.user(),
                              .verb = text("verb"),
                              .api_group = text("group"),
                              .resource = text("resource"),
                              .subresource = text("subresource"),
                              .namespace_ = text("namespace"),
                              .name = text("name")})
                  .allowed;
  } else {
    allowed = rest::TextIn(*path, "verb") == "get" &&
              authorizer.MayRead(exchange.user(), rest::TextIn(*path, "path"));
  }
  rest::DocumentNode status = rest::MapNode();
  rest::SetIn(status, "allowed", rest::BoolNode(allowed));
  return status;
}

rest::DocumentNode WhatMayI(const std::vector<RoleRule>& rules) {
  rest::DocumentNode resources = rest::ListNode();
  for (const RoleRule& rule : rules) {
    rest::DocumentNode node = rest::MapNode();
    rest::SetIn(node, "verbs", Strings(rule.verbs));
    rest::SetIn(node, "apiGroups", Strings({rule.group}));
    rest::SetIn(node, "resources", Strings(rule.resources));
    resources.items.push_back(std::move(node));
  }
  rest::DocumentNode paths = rest::MapNode();
  rest::SetIn(paths, "verbs", Strings({"get"}));
  rest::SetIn(paths, "nonResourceURLs", Strings({"*"}));
  rest::DocumentNode others = rest::ListNode();
  others.items.push_back(std::move(paths));
  rest::DocumentNode status = rest::MapNode();
  rest::SetIn(status, "resourceRules", std::move(resources));
  rest::SetIn(status, "nonResourceRules", std::move(others));
  rest::SetIn(status, "incomplete", rest::BoolNode(false));
  return status;
}

}  // namespace

void HandleReview(const ExchangePtr& exchange, const RoleAuthorizer& authorizer) {
  if (exchange->verb != "create") return exchange->SendError(rest::MethodNotAllowed());
  const std::string& resource = exchange->route.resource;
  const bool access = resource == "selfsubjectaccessreviews";
  const bool rules = resource == "selfsubjectrulesreviews";
  const api::TypeInfo& type = access  ? api::TypeInfoOf<rest::AccessReviewBody>()
                              : rules ? api::TypeInfoOf<rest::RulesReviewBody>()
                                      : api::TypeInfoOf<rest::SelfReviewBody>();
  auto body = SmallBody(*exchange, type);
  if (!body.ok()) return exchange->SendError(body.status());
  if (access) {
    const rest::DocumentNode* spec = rest::FindIn(*body, "spec");
    auto status = MayI(*exchange, authorizer, spec == nullptr ? rest::MapNode() : *spec);
    if (!status.ok()) return exchange->SendError(status.status());
    rest::SetIn(*body, "status", *std::move(status));
  } else if (rules) {
    rest::SetIn(*body, "status", WhatMayI(authorizer.RulesOf(exchange->user())));
  } else {
    rest::SetIn(*body, "status", WhoAmI(exchange->user()));
  }
  rest::SetIn(*body, "kind", rest::StringNode(type.fields().name));
  rest::SetIn(*body, "apiVersion",
              rest::StringNode(exchange->route.group + "/" + exchange->route.version));
  exchange->Send(201, ToJson(*body));
}

}  // namespace dray::registry::internal
