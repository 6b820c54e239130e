// SPDX-License-Identifier: Apache-2.0
//
// serviceaccounts/token and tokenreviews: tokens for who may have them, and whose a token is.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "registry/account_tokens.h"
#include "registry/impersonation.h"
#include "registry/internal/exchange.h"
#include "registry/internal/policy_requests.h"
#include "registry/internal/small_body.h"
#include "registry/policies.h"
#include "rest/api_error.h"
#include "rest/options.h"

namespace dray::registry::internal {
namespace {

constexpr std::string_view kVersion = "authentication.k8s.io/v1";

rest::DocumentNode Texts(const std::vector<std::string>& texts) {
  rest::DocumentNode list = rest::ListNode();
  for (const std::string& text : texts) list.items.push_back(rest::StringNode(text));
  return list;
}

// What a kubelet has to say besides, and what others cannot say wrong.
Status CheckWish(const Exchange& exchange, const rest::TokenRequestBody& body,
                 std::string_view node) {
  const Route& route = exchange.route;
  const base::FieldPath metadata("metadata");
  const auto invalid = [&](std::string_view field, std::string_view value, std::string_view why) {
    return rest::Invalid("authentication.k8s.io", "TokenRequest", route.name,
                         {api::Invalid(metadata / field, value, why)});
  };
  if (!body.metadata.name.empty() && body.metadata.name != route.name) {
    return invalid("name", body.metadata.name, "must match the service account name if specified");
  }
  if (!body.metadata.namespace_.empty() && body.metadata.namespace_ != route.namespace_) {
    return invalid("namespace", body.metadata.namespace_,
                   "must match the service account namespace if specified");
  }
  if (node.empty()) return {};
  const auto& ref = body.spec.bound_object_ref;
  if (!ref || ref->api_version != "v1" || ref->kind != "Pod" || ref->name.empty()) {
    return rest::Forbidden(exchange.kind(), route.name, "node requested token not bound to a pod");
  }
  if (ref->uid.empty()) {
    return rest::Forbidden(exchange.kind(), route.name,
                           "node requested token with a pod binding without a uid");
  }
  return {};
}

StatusOr<rest::DocumentNode> Token(const Exchange& exchange, const AccountTokens& tokens,
                                   const RoleAuthorizer& authorizer, rest::DocumentNode tree) {
  DRAY_ASSIGN_OR_RETURN(const auto body, ReadBody<rest::TokenRequestBody>(tree));
  // Of a driver's own user it is not its node that asks.
  const api::UserInfo user = exchange.user();
  const std::string_view node = DriverOf(user).empty() ? NodeOf(user) : std::string_view();
  DRAY_RETURN_IF_ERROR(CheckWish(exchange, body, node));
  TokenWish wish{.namespace_ = exchange.route.namespace_,
                 .account = exchange.route.name,
                 .audiences = body.spec.audiences,
                 .seconds = body.spec.expiration_seconds.value_or(3600),
                 .bound = {},
                 .node = node,
                 .may_ask_for = [&](std::string_view audience) {
                   return authorizer
                       .Authorize({.user = user,
                                   .verb = "request-serviceaccounts-token-audience",
                                   .resource = std::string(audience),
                                   .namespace_ = exchange.route.namespace_,
                                   .name = exchange.route.name})
                       .allowed;
                 }};
  if (const auto& ref = body.spec.bound_object_ref) {
    wish.bound = BoundObject{ref->kind, ref->api_version, ref->name, ref->uid};
  }
  DRAY_ASSIGN_OR_RETURN(IssuedToken issued, tokens.Issue(wish));
  rest::DocumentNode metadata = rest::MapNode();
  rest::SetIn(metadata, "name", rest::StringNode(wish.account));
  rest::SetIn(metadata, "namespace", rest::StringNode(wish.namespace_));
  rest::SetIn(metadata, "uid", rest::StringNode(issued.account_uid));
  rest::SetIn(metadata, "creationTimestamp",
              rest::StringNode(exchange.registry->clock().Now().TruncateToSeconds().ToRfc3339()));
  rest::SetIn(tree, "metadata", std::move(metadata));
  rest::DocumentNode spec = rest::MapNode();
  rest::SetIn(spec, "audiences", Texts(issued.audiences));
  rest::SetIn(spec, "expirationSeconds", rest::NumberNode(wish.seconds));
  const rest::DocumentNode* sent = rest::FindIn(tree, "spec");
  const rest::DocumentNode* ref = sent == nullptr ? nullptr : rest::FindIn(*sent, "boundObjectRef");
  rest::SetIn(spec, "boundObjectRef", ref == nullptr ? rest::DocumentNode{} : *ref);
  rest::SetIn(tree, "spec", std::move(spec));
  rest::DocumentNode status = rest::MapNode();
  rest::SetIn(status, "token", rest::StringNode(issued.token));
  rest::SetIn(status, "expirationTimestamp", rest::StringNode(issued.expires.ToRfc3339()));
  rest::SetIn(tree, "status", std::move(status));
  return tree;
}

rest::DocumentNode Believed(const apiserver::User& user,
                            const std::vector<std::string>& audiences) {
  rest::DocumentNode status = rest::MapNode();
  rest::SetIn(status, "authenticated", rest::BoolNode(true));
  rest::SetIn(status, "user", UserNode(InfoOf(user)));
  if (!audiences.empty()) rest::SetIn(status, "audiences", Texts(audiences));
  return status;
}

void Send(Exchange& exchange, rest::DocumentNode tree, std::string_view kind) {
  rest::SetIn(tree, "kind", rest::StringNode(kind));
  rest::SetIn(tree, "apiVersion", rest::StringNode(kVersion));
  exchange.Send(201, ToJson(tree));
}

}  // namespace

void HandleTokenRequest(const ExchangePtr& exchange, const AccountTokens* tokens,
                        const RoleAuthorizer& authorizer) {
  if (tokens == nullptr) return exchange->SendError(rest::UnknownResource());
  auto body = SmallBody(*exchange, api::TypeInfoOf<rest::TokenRequestBody>());
  if (!body.ok()) return exchange->SendError(body.status());
  if (exchange->notes != nullptr) {
    const PolicyRequest asked = TokenPolicyRequest(*exchange, *body);
    const Status admitted = exchange->registry->AdmitOther(asked.request, exchange->notes.get());
    if (!admitted.ok()) return exchange->SendError(admitted);
  }
  auto answer = Token(*exchange, *tokens, authorizer, *std::move(body));
  if (!answer.ok()) return exchange->SendError(answer.status());
  Send(*exchange, *std::move(answer), "TokenRequest");
}

void HandleTokenReview(const ExchangePtr& exchange, const AccountTokens* tokens,
                       const TokenLookup& lookup) {
  auto tree = SmallBody(*exchange, api::TypeInfoOf<rest::TokenReviewBody>());
  if (!tree.ok()) return exchange->SendError(tree.status());
  const auto body = ReadBody<rest::TokenReviewBody>(*tree);
  if (!body.ok()) return exchange->SendError(body.status());
  if (body->spec.token.empty()) {
    return exchange->SendError(
        rest::BadRequest("token is required for TokenReview in authentication"));
  }
  rest::DocumentNode status = rest::MapNode();
  rest::SetIn(status, "user", rest::MapNode());
  rest::SetIn(status, "error", rest::StringNode("invalid bearer token"));
  // Of a service account: for whom it is counts. Others are for this server alone, and there is
  // nobody whom they could be meant for besides.
  const std::vector<std::string> audiences = !body->spec.audiences.empty() ? body->spec.audiences
                                             : tokens != nullptr ? tokens->options().audiences
                                                                 : std::vector<std::string>();
  if (tokens != nullptr) {
    const auto judged = tokens->Judge(body->spec.token, audiences);
    if (judged.ok()) {
      status = Believed(judged->user, judged->audiences);
    } else if (judged.status().code() == StatusCode::kUnauthenticated) {
      rest::SetIn(status, "error",
                  rest::StringNode(
                      fmt::format("[invalid bearer token, {}]", base::Message(judged.status()))));
    }
  }
  if (rest::FindIn(status, "authenticated") == nullptr && lookup) {
    std::vector<std::string> ours;
    for (const std::string& audience : audiences) {
      const auto& own = tokens != nullptr ? tokens->options().audiences : audiences;
      if (std::ranges::find(own, audience) != own.end()) ours.push_back(audience);
    }
    const auto user = ours.empty() ? std::nullopt : lookup(body->spec.token);
    if (user) status = Believed(*user, ours);
  }
  rest::SetIn(*tree, "status", std::move(status));
  Send(*exchange, *std::move(tree), "TokenReview");
}

}  // namespace dray::registry::internal
