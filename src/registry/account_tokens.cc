// SPDX-License-Identifier: Apache-2.0
#include "registry/account_tokens.h"

#include <algorithm>
#include <charconv>

#include "api/document.h"
#include "api/node.h"
#include "api/pod.h"
#include "fmt/format.h"
#include "rbac/policy.h"
#include "rbac/quoted.h"
#include "registry/internal/token_audiences.h"
#include "rest/api_error.h"
#include "rest/tree.h"

namespace dray::registry {

// What a token says, read once.
struct AccountTokens::Claims {
  struct Ref {
    std::string name;
    std::string uid;
  };
  std::string issuer;
  std::string subject;
  std::string id;
  std::vector<std::string> audiences;
  base::Time expires;
  base::Time not_before;
  std::string namespace_;
  Ref account;
  std::optional<Ref> pod;
  std::optional<Ref> node;
  std::optional<Ref> secret;
};

namespace {

constexpr std::size_t kMostRecent = 1'024;
constexpr std::int64_t kLeastSeconds = 600;
constexpr std::int64_t kMostSeconds = std::int64_t{1} << 32;
// As Kubernetes: whoever ends takes leave.
constexpr std::chrono::seconds kLeave{60};
constexpr std::string_view kExtra = "authentication.kubernetes.io/";

const api::KindInfo* CoreKind(std::string_view kind) { return api::FindKind("v1", kind); }

Status Unauthenticated(std::string_view why) {
  return base::MakeStatus(StatusCode::kUnauthenticated, why);
}

rest::DocumentNode RefNode(std::string_view name, std::string_view uid) {
  rest::DocumentNode node = rest::MapNode();
  rest::SetIn(node, "name", rest::StringNode(name));
  if (!uid.empty()) rest::SetIn(node, "uid", rest::StringNode(uid));
  return node;
}

rest::DocumentNode Texts(std::span<const std::string> texts) {
  rest::DocumentNode list = rest::ListNode();
  for (const std::string& text : texts) list.items.push_back(rest::StringNode(text));
  return list;
}

std::optional<std::int64_t> NumberIn(const rest::DocumentNode& map, std::string_view key) {
  const rest::DocumentNode* node = rest::FindIn(map, key);
  if (node == nullptr || node->kind != api::DocumentNode::Kind::kNumber) return std::nullopt;
  std::int64_t number = 0;
  const char* end = node->text.data() + node->text.size();
  const auto read = std::from_chars(node->text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

}  // namespace

AccountTokens::AccountTokens(const apiserver::TokenKeys& keys, const Objects& objects,
                             const base::Clock& clock, base::RandomSource& random,
                             TokenOptions options)
    : keys_(keys),
      objects_(objects),
      clock_(clock),
      random_(random),
      options_(std::move(options)) {}

AccountTokens::~AccountTokens() = default;

StatusOr<IssuedToken> AccountTokens::Issue(const TokenWish& wish) const {
  const auto find = [&](std::string_view kind, std::string_view space,
                        std::string_view name) -> StatusOr<api::Object> {
    const api::KindInfo* info = CoreKind(kind);
    if (info == nullptr) {
      return rest::BadRequest(fmt::format("cannot bind token to object of type {}", kind));
    }
    DRAY_ASSIGN_OR_RETURN(const auto found, objects_.Find(*info, space, name));
    if (!found) return rest::NotFound(*info, name);
    return found->object();
  };
  DRAY_ASSIGN_OR_RETURN(const api::Object account,
                        find("ServiceAccount", wish.namespace_, wish.account));
  api::ErrorList errors;
  const base::FieldPath seconds = base::FieldPath("spec") / "expirationSeconds";
  if (wish.seconds < kLeastSeconds) {
    errors.push_back(api::InvalidNumber(seconds, wish.seconds,
                                        "may not specify a duration less than 10 minutes"));
  }
  if (wish.seconds > kMostSeconds) {
    errors.push_back(api::InvalidNumber(seconds, wish.seconds,
                                        "may not specify a duration larger than 2^32 seconds"));
  }
  if (!errors.empty()) return rest::Invalid("authentication.k8s.io", "TokenRequest", "", errors);

  rest::DocumentNode own = rest::MapNode();
  rest::SetIn(own, "namespace", rest::StringNode(wish.namespace_));
  if (wish.bound) {
    const BoundObject& bound = *wish.bound;
    const bool core = bound.api_version == "v1" || bound.api_version.empty();
    if (!core || (bound.kind != "Pod" && bound.kind != "Node" && bound.kind != "Secret")) {
      return rest::BadRequest(fmt::format("cannot bind token to object of type {}, Kind={}",
                                          bound.api_version, bound.kind));
    }
    DRAY_ASSIGN_OR_RETURN(
        const api::Object object,
        find(bound.kind, bound.kind == "Node" ? "" : wish.namespace_, bound.name));
    const std::string& uid = object.metadata().uid;
    if (!bound.uid.empty() && bound.uid != uid) {
      return rest::Conflict(object.kind(), bound.name,
                            fmt::format("the UID in the bound object reference ({}) does not match "
                                        "the UID in record. The object might have been deleted and "
                                        "then recreated",
                                        bound.uid));
    }
    if (const auto* pod = object.As<api::Pod>()) {
      if (pod->spec.service_account_name != wish.account) {
        return rest::BadRequest(
            fmt::format("cannot bind token for serviceaccount \"{}\" to pod running with different "
                        "serviceaccount name.",
                        wish.account));
      }
      if (!wish.node.empty() && pod->spec.node_name != wish.node) {
        return rest::Forbidden(account.kind(), wish.account,
                               "node requested token bound to a pod scheduled on a different node");
      }
      if (!wish.node.empty()) {
        DRAY_RETURN_IF_ERROR(internal::CheckAudiences(objects_, wish, account, *pod));
      }
      rest::SetIn(own, "pod", RefNode(bound.name, uid));
      if (!pod->spec.node_name.empty()) {
        DRAY_ASSIGN_OR_RETURN(const auto node,
                              objects_.Find(*CoreKind("Node"), "", pod->spec.node_name));
        rest::SetIn(own, "node",
                    RefNode(pod->spec.node_name, node ? node->object().metadata().uid : ""));
      }
    } else {
      rest::SetIn(own, bound.kind == "Node" ? "node" : "secret", RefNode(bound.name, uid));
    }
  }
  rest::SetIn(own, "serviceaccount", RefNode(wish.account, account.metadata().uid));

  const base::Time now = clock_.Now().TruncateToSeconds();
  IssuedToken issued{.token = {},
                     .expires = now + std::chrono::seconds(wish.seconds),
                     .audiences = wish.audiences.empty() ? options_.audiences : wish.audiences,
                     .account_uid = account.metadata().uid};
  rest::DocumentNode claims = rest::MapNode();
  rest::SetIn(claims, "aud", Texts(issued.audiences));
  rest::SetIn(claims, "exp", rest::NumberNode(issued.expires.seconds()));
  rest::SetIn(claims, "iat", rest::NumberNode(now.seconds()));
  rest::SetIn(claims, "iss", rest::StringNode(options_.issuer));
  rest::SetIn(claims, "jti", rest::StringNode(base::NewUuid(random_)));
  rest::SetIn(claims, "kubernetes.io", std::move(own));
  rest::SetIn(claims, "nbf", rest::NumberNode(now.seconds()));
  rest::SetIn(claims, "sub",
              rest::StringNode(rbac::UserOfServiceAccount(wish.namespace_, wish.account)));
  DRAY_ASSIGN_OR_RETURN(issued.token, keys_.Sign(ToJson(claims)));
  if (issued.token.size() > apiserver::kMaxTokenBytes) {
    return rest::BadRequest("the token would be too long: ask for fewer or shorter audiences");
  }
  return issued;
}

StatusOr<AccountTokens::ClaimsPtr> AccountTokens::Verified(std::string_view token) const {
  {
    const base::MutexLock lock(mutex_);
    const auto it = by_token_.find(token);
    if (it != by_token_.end()) {
      recent_.splice(recent_.begin(), recent_, it->second);
      return it->second->second;
    }
  }
  DRAY_ASSIGN_OR_RETURN(const std::string text, keys_.Verify(token));
  const auto tree = rest::ReadTree(text);
  const Status none = base::InvalidArgument("not a token of a service account");
  if (!tree.ok() || !rest::IsMap(*tree)) return none;
  const rest::DocumentNode* own = rest::FindIn(*tree, "kubernetes.io");
  const auto expires = NumberIn(*tree, "exp");
  const auto not_before = NumberIn(*tree, "nbf");
  if (own == nullptr || !rest::IsMap(*own) || !expires || !not_before) return none;
  auto claims = std::make_shared<Claims>();
  claims->issuer = rest::TextIn(*tree, "iss");
  claims->subject = rest::TextIn(*tree, "sub");
  claims->id = rest::TextIn(*tree, "jti");
  claims->expires = base::Time::FromUnix(*expires);
  claims->not_before = base::Time::FromUnix(*not_before);
  claims->namespace_ = rest::TextIn(*own, "namespace");
  if (const rest::DocumentNode* audiences = rest::FindIn(*tree, "aud")) {
    for (const rest::DocumentNode& one : audiences->items) claims->audiences.push_back(one.text);
  }
  const auto ref = [&](std::string_view name) -> std::optional<Claims::Ref> {
    const rest::DocumentNode* node = rest::FindIn(*own, name);
    if (node == nullptr || !rest::IsMap(*node)) return std::nullopt;
    return Claims::Ref{std::string(rest::TextIn(*node, "name")),
                       std::string(rest::TextIn(*node, "uid"))};
  };
  const auto account = ref("serviceaccount");
  if (!account) return none;
  claims->account = *account;
  claims->pod = ref("pod");
  claims->node = ref("node");
  claims->secret = ref("secret");
  const base::MutexLock lock(mutex_);
  if (by_token_.find(token) != by_token_.end()) return ClaimsPtr(claims);
  recent_.emplace_front(token, claims);
  by_token_.emplace(std::string(token), recent_.begin());
  if (recent_.size() > kMostRecent) {
    by_token_.erase(by_token_.find(recent_.back().first));
    recent_.pop_back();
  }
  return ClaimsPtr(claims);
}

Status AccountTokens::CheckBound(const Claims& claims) const {
  const base::Time left_before = clock_.Now() - kLeave;
  const auto check = [&](std::string_view kind, std::string_view space, const Claims::Ref& ref,
                         std::string_view word) -> Status {
    const api::KindInfo* info = CoreKind(kind);
    const auto found = info == nullptr ? StatusOr<std::optional<Found>>(std::nullopt)
                                       : objects_.Find(*info, space, ref.name);
    if (!found.ok() || !*found)
      return Unauthenticated("service account token has been invalidated");
    const api::ObjectMeta& metadata = (*found)->object().metadata();
    if (metadata.uid != ref.uid) {
      return Unauthenticated(
          fmt::format("{} UID ({}) does not match service account {} ref claim "
                      "({})",
                      word, metadata.uid, word, ref.uid));
    }
    if (metadata.deletion_timestamp && *metadata.deletion_timestamp < left_before) {
      return Unauthenticated("service account token has been invalidated");
    }
    return {};
  };
  if (const Status account =
          check("ServiceAccount", claims.namespace_, claims.account, "service account");
      !account.ok()) {
    return account;
  }
  if (claims.secret) {
    DRAY_RETURN_IF_ERROR(check("Secret", claims.namespace_, *claims.secret, "secret"));
  }
  if (claims.pod) return check("Pod", claims.namespace_, *claims.pod, "pod");
  if (claims.node) return check("Node", "", *claims.node, "node");
  return {};
}

StatusOr<AccountTokens::Judged> AccountTokens::Judge(std::string_view token,
                                                     std::span<const std::string> audiences) const {
  DRAY_ASSIGN_OR_RETURN(const ClaimsPtr claims, Verified(token));
  if (claims->issuer != options_.issuer) {
    return Unauthenticated(fmt::format("token issuer {} is invalid", rbac::Quoted(claims->issuer)));
  }
  Judged judged;
  for (const std::string& audience : audiences) {
    const bool meant = std::ranges::find(claims->audiences, audience) != claims->audiences.end();
    if (meant) judged.audiences.push_back(audience);
  }
  if (judged.audiences.empty()) {
    return Unauthenticated(
        fmt::format("token audiences {} is invalid for the target audiences {}",
                    rbac::Quoted(claims->audiences),
                    rbac::Quoted(std::vector<std::string>(audiences.begin(), audiences.end()))));
  }
  const base::Time now = clock_.Now();
  if (now >= claims->expires) return Unauthenticated("service account token has expired");
  if (now < claims->not_before) return Unauthenticated("service account token is not valid yet");
  if (claims->subject != rbac::UserOfServiceAccount(claims->namespace_, claims->account.name)) {
    return Unauthenticated("service account token claims could not be validated: subject");
  }
  DRAY_RETURN_IF_ERROR(CheckBound(*claims));
  apiserver::User& user = judged.user;
  user.name = claims->subject;
  user.uid = claims->account.uid;
  user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + claims->namespace_,
                 std::string(apiserver::kAuthenticated)};
  const auto extra = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) user.extra[std::string(kExtra).append(key)] = {value};
  };
  extra("credential-id", "JTI=" + claims->id);
  if (claims->pod) {
    extra("pod-name", claims->pod->name);
    extra("pod-uid", claims->pod->uid);
  }
  if (claims->node) {
    extra("node-name", claims->node->name);
    extra("node-uid", claims->node->uid);
  }
  return judged;
}

std::optional<apiserver::User> AccountTokens::Read(std::string_view token) const {
  auto judged = Judge(token, options_.audiences);
  if (!judged.ok()) return std::nullopt;
  return std::move(judged->user);
}

std::string AccountTokens::Discovery(std::string_view url) const {
  rest::DocumentNode node = rest::MapNode();
  rest::SetIn(node, "issuer", rest::StringNode(options_.issuer));
  rest::SetIn(node, "jwks_uri", rest::StringNode(fmt::format("{}/openid/v1/jwks", url)));
  const auto list = [&](std::string_view key, std::string text) {
    rest::SetIn(node, key, Texts(std::vector<std::string>{std::move(text)}));
  };
  list("response_types_supported", "id_token");
  list("subject_types_supported", "public");
  list("id_token_signing_alg_values_supported", "ES256");
  return ToJson(node);
}

}  // namespace dray::registry
