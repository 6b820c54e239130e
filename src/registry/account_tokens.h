// SPDX-License-Identifier: Apache-2.0
//
// Tokens of service accounts: made for who asks (serviceaccounts/token), and believed for as long as
// what they are bound to is there. Nothing of them is stored.
//
// Spec: Kubernetes, "Managing Service Accounts", "Bound service account tokens"; docs/decisions.md
// rows 678 to 682.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/authentication.h"
#include "apiserver/token_keys.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/string_map.h"
#include "base/uuid.h"
#include "registry/objects.h"

namespace dray::registry {

struct TokenOptions {
  std::string issuer = "https://kubernetes.default.svc.cluster.local";
  // Who a token is for when nobody says so, and who it must be for to be believed here.
  std::vector<std::string> audiences = {"https://kubernetes.default.svc.cluster.local"};
};

// The object that a token ends with.
struct BoundObject {
  std::string kind;
  std::string api_version;
  std::string name;
  std::string uid;  // empty: whichever is there
};

struct TokenWish {
  std::string namespace_;
  std::string account;
  std::vector<std::string> audiences;  // empty: this server
  std::int64_t seconds = 3600;
  std::optional<BoundObject> bound;
  std::string_view node = {};  // of the kubelet that asks; empty: somebody else does
  // Whether a role lets that kubelet have tokens for an audience that no volume of the pod is for.
  std::function<bool(std::string_view audience)> may_ask_for = nullptr;
};

struct IssuedToken {
  std::string token;
  base::Time expires;
  std::vector<std::string> audiences;
  std::string account_uid;
};

// Thread-safe.
class AccountTokens final : public apiserver::TokenReader {
 public:
  // All outlive it. `random` is thread-safe.
  AccountTokens(const apiserver::TokenKeys& keys, const Objects& objects, const base::Clock& clock,
                base::RandomSource& random, TokenOptions options = {});
  ~AccountTokens() override;

  // Errors are ApiErrors: NotFound, Invalid, BadRequest, Conflict, Forbidden.
  StatusOr<IssuedToken> Issue(const TokenWish& wish) const;

  struct Judged {
    apiserver::User user;
    std::vector<std::string> audiences;  // of those asked for, the token's
  };
  // Whether somebody should believe it who is one of `audiences`. kInvalidArgument: it is none of
  // ours. kUnauthenticated says why it is not good.
  StatusOr<Judged> Judge(std::string_view token, std::span<const std::string> audiences) const;

  // As this server's own audience.
  std::optional<apiserver::User> Read(std::string_view token) const override;

  const TokenOptions& options() const { return options_; }
  std::string Jwks() const { return keys_.Jwks(); }
  // /.well-known/openid-configuration of a server at `url`.
  std::string Discovery(std::string_view url) const;

 private:
  struct Claims;
  using ClaimsPtr = std::shared_ptr<const Claims>;

  StatusOr<ClaimsPtr> Verified(std::string_view token) const;
  Status CheckBound(const Claims& claims) const;

  const apiserver::TokenKeys& keys_;
  const Objects& objects_;
  const base::Clock& clock_;
  base::RandomSource& random_;
  const TokenOptions options_;
  // Tokens whose signature was found good lately, by their text: whoever sends many requests with
  // one is not verified for each. The last used ones, newest first.
  mutable base::Mutex mutex_;
  using Recent = std::list<std::pair<std::string, ClaimsPtr>>;
  mutable Recent recent_ ABSL_GUARDED_BY(mutex_);
  mutable base::StringMap<Recent::iterator> by_token_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::registry
