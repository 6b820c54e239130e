// SPDX-License-Identifier: Apache-2.0
//
// JSON Web Tokens that this server has signed: ES256 and nothing else. What a token says is for
// others to judge; here it is found out whether it says so truthfully.
//
// Spec: RFC 7515, 7517, 7518, 7519. The key is DIR/pki/sa.key, mode 0600.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dray::apiserver {

// Longer ones are not looked at.
inline constexpr std::size_t kMaxTokenBytes = 16u << 10;

// Built once, then only read: thread-safe.
class TokenKeys {
 public:
  // Private keys in PEM, on the curve P-256: the first one signs, all are believed.
  static StatusOr<TokenKeys> FromPem(const std::vector<std::string>& keys);
  // The key of a data folder, made if it is not there. Errors name the file.
  static StatusOr<TokenKeys> Ensure(const std::string& folder);

  // `claims` is a JSON object.
  StatusOr<std::string> Sign(std::string_view claims) const;
  // What a token says that one of the keys has signed. kInvalidArgument: it is none; whoever showed
  // it is not told why.
  StatusOr<std::string> Verify(std::string_view token) const;
  // The public keys, as /openid/v1/jwks shows them.
  std::string Jwks() const;

 private:
  struct Key;
  std::vector<std::shared_ptr<const Key>> keys_;
};

// Without padding, and only one text for the same bytes: nothing if it is another one.
std::string Base64Url(std::string_view bytes);
bool ReadBase64Url(std::string_view text, std::string& bytes);

}  // namespace dray::apiserver
