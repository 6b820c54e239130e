// SPDX-License-Identifier: Apache-2.0
//
// Who am I, may I, may they, and what may I: `kubectl auth whoami` and `kubectl auth can-i`, and what
// servers ask that let others in. Answered from the request's user and the roles; nothing is stored.
// Spec: authentication.k8s.io/v1 and authorization.k8s.io/v1.
#include <functional>
#include <optional>
#include <utility>

#include "api/field_selector.h"
#include "fmt/format.h"
#include "registry/internal/exchange.h"
#include "registry/internal/small_body.h"
#include "rest/api_error.h"
#include "rest/options.h"

namespace dray::registry::internal {
namespace {

constexpr std::string_view kGroup = "authorization.k8s.io";

rest::DocumentNode Strings(const std::vector<std::string>& texts) {
  rest::DocumentNode list = rest::ListNode();
  for (const std::string& text : texts) list.items.push_back(rest::StringNode(text));
  return list;
}

rest::DocumentNode WhoAmI(const api::UserInfo& user) {
  rest::DocumentNode status = rest::MapNode();
  rest::SetIn(status, "userInfo", UserNode(user));
  return status;
}

// Field selectors count for nodes; requirements are the same in other words.
std::string SelectorText(const std::optional<rest::SelectorAttributes>& selector) {
  if (!selector) return {};
  if (!selector->raw_selector.empty()) return selector->raw_selector;
  std::string text;
  for (const rest::SelectorRequirement& one : selector->requirements) {
    // What cannot be said as text selects less: leaving it out asks for more, which is safe.
    if (one.operator_ != "In" || one.values.size() != 1) continue;
    text.append(text.empty() ? "" : ",").append(one.key).append("=").append(one.values[0]);
  }
  return text;
}

template <typename Spec>
StatusOr<api::AuthorizationRequest> AskedIn(const Spec& spec, api::UserInfo user,
                                            std::string_view kind) {
  const base::FieldPath at("spec");
  if (spec.resource_attributes && spec.non_resource_attributes) {
    return rest::Invalid(
        kGroup, kind, "",
        {api::InvalidValue(at / "nonResourceAttributes", "{}",
                           "cannot be specified in combination with resourceAttributes")});
  }
  if (!spec.resource_attributes && !spec.non_resource_attributes) {
    return rest::Invalid(
        kGroup, kind, "",
        {api::InvalidValue(at / "resourceAttributes", "null",
                           "exactly one of nonResourceAttributes or resourceAttributes must be "
                           "specified")});
  }
  if (spec.non_resource_attributes) {
    return api::AuthorizationRequest{.user = std::move(user),
                                     .verb = spec.non_resource_attributes->verb,
                                     .path = spec.non_resource_attributes->path};
  }
  const rest::ResourceAttributes& resource = *spec.resource_attributes;
  return api::AuthorizationRequest{.user = std::move(user),
                                   .verb = resource.verb,
                                   .api_group = resource.group,
                                   .resource = resource.resource,
                                   .subresource = resource.subresource,
                                   .namespace_ = resource.namespace_,
                                   .name = resource.name,
                                   .field_selector = SelectorText(resource.field_selector)};
}

rest::DocumentNode Verdict(const api::AuthorizationDecision& decision) {
  rest::DocumentNode status = rest::MapNode();
  rest::SetIn(status, "allowed", rest::BoolNode(decision.allowed));
  if (!decision.reason.empty()) rest::SetIn(status, "reason", rest::StringNode(decision.reason));
  return status;
}

StatusOr<rest::DocumentNode> MayI(const Exchange& exchange, const RoleAuthorizer& authorizer,
                                  const rest::DocumentNode& tree) {
  DRAY_ASSIGN_OR_RETURN(const auto body, ReadBody<rest::AccessReviewBody>(tree));
  DRAY_ASSIGN_OR_RETURN(const auto asked,
                        AskedIn(body.spec, exchange.user(), "SelfSubjectAccessReview"));
  return Verdict(authorizer.Authorize(asked));
}

StatusOr<rest::DocumentNode> MayThey(const RoleAuthorizer& authorizer,
                                     const rest::SubjectAccessReviewSpec& spec,
                                     std::string_view kind) {
  if (spec.user.empty() && spec.groups.empty()) {
    return rest::Invalid(kGroup, kind, "",
                         {api::Invalid(base::FieldPath("spec") / "user", "",
                                       "at least one of user or group must be specified")});
  }
  api::UserInfo user{.name = spec.user, .groups = spec.groups, .extra = {}, .uid = spec.uid};
  for (const auto& [key, values] : spec.extra) user.extra[std::string(key.view())] = values;
  DRAY_ASSIGN_OR_RETURN(const auto asked, AskedIn(spec, std::move(user), kind));
  return Verdict(authorizer.Authorize(asked));
}

StatusOr<rest::DocumentNode> MayTheyHere(const Exchange& exchange, const RoleAuthorizer& authorizer,
                                         const rest::DocumentNode& tree) {
  DRAY_ASSIGN_OR_RETURN(const auto body, ReadBody<rest::LocalSubjectAccessReviewBody>(tree));
  constexpr std::string_view kKind = "LocalSubjectAccessReview";
  if (body.spec.non_resource_attributes) {
    return rest::Invalid(kGroup, kKind, "",
                         {api::InvalidValue(base::FieldPath("spec") / "nonResourceAttributes", "{}",
                                            "disallowed on this kind of request")});
  }
  const std::string& space = exchange.route.namespace_;
  if (body.spec.resource_attributes && body.spec.resource_attributes->namespace_ != space) {
    return rest::BadRequest(
        fmt::format("spec.resourceAttributes.namespace must match namespace: {}", space));
  }
  return MayThey(authorizer, body.spec, kKind);
}

StatusOr<rest::DocumentNode> WhatMayI(const Exchange& exchange, const RoleAuthorizer& authorizer,
                                      const rest::DocumentNode& tree) {
  DRAY_ASSIGN_OR_RETURN(const auto body, ReadBody<rest::RulesReviewBody>(tree));
  const RoleAuthorizer::Rules found = authorizer.RulesFor(exchange.user(), body.spec.namespace_);
  rest::DocumentNode resources = rest::ListNode();
  rest::DocumentNode paths = rest::ListNode();
  for (const api::PolicyRule& rule : found.rules) {
    rest::DocumentNode node = rest::MapNode();
    rest::SetIn(node, "verbs", Strings(rule.verbs));
    if (!rule.non_resource_urls.empty()) {
      rest::SetIn(node, "nonResourceURLs", Strings(rule.non_resource_urls));
      paths.items.push_back(std::move(node));
      continue;
    }
    rest::SetIn(node, "apiGroups", Strings(rule.api_groups));
    rest::SetIn(node, "resources", Strings(rule.resources));
    if (!rule.resource_names.empty()) {
      rest::SetIn(node, "resourceNames", Strings(rule.resource_names));
    }
    resources.items.push_back(std::move(node));
  }
  rest::DocumentNode status = rest::MapNode();
  rest::SetIn(status, "resourceRules", std::move(resources));
  rest::SetIn(status, "nonResourceRules", std::move(paths));
  rest::SetIn(status, "incomplete", rest::BoolNode(found.incomplete));
  if (!found.error.empty()) {
    rest::SetIn(status, "evaluationError", rest::StringNode(found.error));
  }
  return status;
}

}  // namespace

rest::DocumentNode UserNode(const api::UserInfo& user) {
  rest::DocumentNode info = rest::MapNode();
  rest::SetIn(info, "username", rest::StringNode(user.name));
  if (!user.uid.empty()) rest::SetIn(info, "uid", rest::StringNode(user.uid));
  rest::SetIn(info, "groups", Strings(user.groups));
  if (!user.extra.empty()) {
    rest::DocumentNode extra = rest::MapNode();
    for (const auto& [key, values] : user.extra) rest::SetIn(extra, key, Strings(values));
    rest::SetIn(info, "extra", std::move(extra));
  }
  return info;
}

void HandleReview(const ExchangePtr& exchange, const RoleAuthorizer& authorizer) {
  if (exchange->verb != "create") return exchange->SendError(rest::MethodNotAllowed());
  using Answer = std::function<StatusOr<rest::DocumentNode>(const rest::DocumentNode&)>;
  const auto send = [&](const api::TypeInfo& type, const Answer& answer) {
    auto body = SmallBody(*exchange, type);
    if (!body.ok()) return exchange->SendError(body.status());
    auto status = answer(*body);
    if (!status.ok()) return exchange->SendError(status.status());
    rest::SetIn(*body, "status", *std::move(status));
    rest::SetIn(*body, "kind", rest::StringNode(type.fields().name));
    rest::SetIn(*body, "apiVersion",
                rest::StringNode(exchange->route.group + "/" + exchange->route.version));
    exchange->Send(201, ToJson(*body));
  };
  const std::string& resource = exchange->route.resource;
  if (resource == "selfsubjectaccessreviews") {
    return send(api::TypeInfoOf<rest::AccessReviewBody>(),
                [&](const auto& tree) { return MayI(*exchange, authorizer, tree); });
  }
  if (resource == "selfsubjectrulesreviews") {
    return send(api::TypeInfoOf<rest::RulesReviewBody>(),
                [&](const auto& tree) { return WhatMayI(*exchange, authorizer, tree); });
  }
  if (resource == "subjectaccessreviews") {
    return send(api::TypeInfoOf<rest::SubjectAccessReviewBody>(),
                [&](const auto& tree) -> StatusOr<rest::DocumentNode> {
                  DRAY_ASSIGN_OR_RETURN(const auto body,
                                        ReadBody<rest::SubjectAccessReviewBody>(tree));
                  return MayThey(authorizer, body.spec, "SubjectAccessReview");
                });
  }
  if (resource == "localsubjectaccessreviews") {
    return send(api::TypeInfoOf<rest::LocalSubjectAccessReviewBody>(),
                [&](const auto& tree) { return MayTheyHere(*exchange, authorizer, tree); });
  }
  send(api::TypeInfoOf<rest::SelfReviewBody>(),
       [&](const auto&) { return WhoAmI(exchange->user()); });
}

}  // namespace dray::registry::internal
