// SPDX-License-Identifier: Apache-2.0
//
// Tokens that strangers show: nothing that the key has not signed is believed, and what it has signed only as it was
// signed. Input: V and a token; or S, a byte that says where to change the token, one that says how, and its claims.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "apiserver/token_keys.h"
#include "base/check.h"
#include "files/temporary_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dray::apiserver;  // NOLINT: a fuzz target is about one room
  static const dray::files::TemporaryFolder folder;
  static const TokenKeys keys = *TokenKeys::Ensure(folder.path());
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with('V')) {
    DRAY_CHECK(!keys.Verify(input.substr(1)).ok(), "somebody else's token");
    return 0;
  }
  std::string bytes;
  if (ReadBase64Url(input, bytes)) DRAY_CHECK(Base64Url(bytes) == input);
  if (!input.starts_with('S') || size < 3) return 0;
  const std::string_view claims = input.substr(3);
  const auto token = keys.Sign(claims);
  if (!token.ok()) return 0;
  const auto said = keys.Verify(*token);
  if (token->size() > kMaxTokenBytes) {
    DRAY_CHECK(!said.ok());
    return 0;
  }
  DRAY_CHECK(said.ok() && *said == claims);
  std::string changed = *token;
  char& c = changed[data[1] * changed.size() / 256];
  if (c == static_cast<char>(data[2])) return 0;
  c = static_cast<char>(data[2]);
  DRAY_CHECK(!keys.Verify(changed).ok(), changed);
  return 0;
}
