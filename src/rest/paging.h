// SPDX-License-Identifier: Apache-2.0
//
// Paging through a list: the token that says where the next page begins, and of which moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dray::rest {

struct ContinueToken {
  std::int64_t revision = 0;  // -1: of now; the pages then are not of one moment
  std::string start;          // the key to begin with, relative to the list's prefix
  // How many are left from there on, if that is known: counting them again for each page would cost
  // as much as reading them.
  std::optional<std::int64_t> left = std::nullopt;

  // Opaque to clients: base64 of JSON.
  std::string Encode() const;
  // BadRequest that says what is wrong with it.
  static StatusOr<ContinueToken> Parse(std::string_view text);
  friend bool operator==(const ContinueToken&, const ContinueToken&) = default;
};

// URL-safe, without padding.
std::string Base64Url(std::string_view bytes);
// Nothing that is not base64 of either alphabet, padded or not.
StatusOr<std::string> DecodeBase64Url(std::string_view text);

}  // namespace dray::rest
