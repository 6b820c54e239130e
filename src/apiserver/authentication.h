// SPDX-License-Identifier: Apache-2.0
//
// Who is asking: by client certificate, else by bearer token, else nobody in particular.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/certificates.h"
#include "apiserver/http.h"
#include "base/status.h"
#include "base/string_map.h"

namespace dray::apiserver {

// In a user's extra: which of its certificates or tokens was shown (KEP-4193).
inline constexpr std::string_view kCredentialId = "authentication.kubernetes.io/credential-id";

// What a connection knows of the certificate that its client has shown.
struct ShownCertificate {
  CertificateInfo info;
  bool trusted = false;  // signed by our authority, for a client, and not over
};

// Knows tokens that are not in a file: those of service accounts, and those that join nodes.
// Thread-safe, and quick.
class TokenReader {
 public:
  virtual ~TokenReader() = default;
  // Whose it is, with all groups; nothing: not one of these, or no longer good.
  virtual std::optional<User> Read(std::string_view token) const = 0;
};

// Built once, then only read: thread-safe.
class Authenticator {
 public:
  Authenticator() = default;
  // Tokens from the text of a file as kube-apiserver has it: `token,user,uid` or
  // `token,user,uid,"group,group"` on a line; empty lines and those that begin with # do not count.
  // kInvalidArgument names the line.
  static StatusOr<Authenticator> Create(std::string_view tokens);
  // For a server that asks somebody else about tokens: whoever shows one is the anonymous user until
  // the handler, which sees the header, knows better.
  static Authenticator LeavingTokens() {
    Authenticator authenticator;
    authenticator.leaves_tokens_ = true;
    return authenticator;
  }

  // Asked for tokens that are not in the file, in the order in which they were added; outlives it.
  // Before the server starts.
  void Ask(const TokenReader* reader) { readers_.push_back(reader); }

  // A certificate that is not trusted does not stand in the way of a good token, as in Kubernetes.
  // Nothing: what was shown is not believed, the answer is 401. With no credentials at all it is
  // the anonymous user. Everyone else is in system:authenticated too.
  std::optional<User> Authenticate(const Headers& headers,
                                   const ShownCertificate* certificate) const;

 private:
  std::string Digest(std::string_view token) const;

  bool leaves_tokens_ = false;
  std::vector<const TokenReader*> readers_;
  // By the token's digest under a key that only this process knows: how long a look-up takes
  // depends on numbers that nobody outside can foresee, so that it tells nothing about tokens.
  std::string key_;
  base::StringMap<User> users_;
};

}  // namespace dray::apiserver
