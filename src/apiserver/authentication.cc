// SPDX-License-Identifier: Apache-2.0
#include "apiserver/authentication.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "fmt/format.h"

namespace dray::apiserver {
namespace {

// Values between commas, of which one may be in quotes and have commas itself.
std::optional<std::vector<std::string>> SplitLine(std::string_view line) {
  std::vector<std::string> values(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  if (quoted) return std::nullopt;
  return values;
}

}  // namespace

std::string Authenticator::Digest(std::string_view token) const {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
       reinterpret_cast<const unsigned char*>(token.data()), token.size(),
       reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return digest;
}

StatusOr<Authenticator> Authenticator::Create(std::string_view tokens) {
  Authenticator authenticator;
  authenticator.key_.resize(SHA256_DIGEST_LENGTH);
  if (RAND_bytes(reinterpret_cast<unsigned char*>(authenticator.key_.data()),
                 static_cast<int>(authenticator.key_.size())) != 1) {
    return base::Unavailable("there is no randomness for the digests of tokens");
  }
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(base::ToAbsl(tokens), '\n')) {
    ++number;
    const std::string_view text = base::FromAbsl(absl::StripAsciiWhitespace(line));
    if (text.empty() || text.starts_with('#')) continue;
    const auto values = SplitLine(text);
    if (!values || values->size() < 3 || values->size() > 4 || (*values)[0].empty() ||
        (*values)[1].empty()) {
      // Without the line's text: it holds a secret.
      return base::InvalidArgument(fmt::format(
          "tokens, line {}: expected token,user,uid or token,user,uid,\"group,group\"", number));
    }
    User user{.name = (*values)[1], .groups = {}, .uid = (*values)[2]};
    if (values->size() == 4) {
      for (const absl::string_view group : absl::StrSplit((*values)[3], ',', absl::SkipEmpty())) {
        user.groups.emplace_back(absl::StripAsciiWhitespace(group));
      }
    }
    user.groups.emplace_back(kAuthenticated);
    if (!authenticator.users_.try_emplace(authenticator.Digest((*values)[0]), std::move(user))
             .second) {
      return base::InvalidArgument(
          fmt::format("tokens, line {}: the same token as on an earlier line", number));
    }
  }
  return authenticator;
}

std::optional<User> Authenticator::Authenticate(const Headers& headers,
                                                const ShownCertificate* certificate) const {
  if (certificate != nullptr && certificate->trusted && !certificate->info.common_name.empty()) {
    User user{.name = certificate->info.common_name, .groups = certificate->info.organizations};
    user.groups.emplace_back(kAuthenticated);
    if (!certificate->info.fingerprint.empty()) {
      user.extra[std::string(kCredentialId)] = {"X509SHA256=" + certificate->info.fingerprint};
    }
    return user;
  }
  const std::string_view authorization = headers.Find("Authorization");
  if (authorization.empty()) {
    return certificate == nullptr ? std::optional(User()) : std::nullopt;
  }
  if (leaves_tokens_) return User();
  constexpr std::string_view kBearer = "Bearer ";
  if (!absl::StartsWithIgnoreCase(base::ToAbsl(authorization), base::ToAbsl(kBearer))) {
    return std::nullopt;
  }
  const absl::string_view token =
      absl::StripAsciiWhitespace(base::ToAbsl(authorization.substr(kBearer.size())));
  const auto it = users_.find(Digest(base::FromAbsl(token)));
  if (it != users_.end()) return it->second;
  for (const TokenReader* reader : readers_) {
    if (auto user = reader->Read(base::FromAbsl(token))) return user;
  }
  return std::nullopt;
}

}  // namespace dray::apiserver
