// SPDX-License-Identifier: Apache-2.0
//
// Integers as Go reads them.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dray::base {

// As strconv.ParseInt does in base 10: digits with one sign of either kind, within 64 bits.
inline std::optional<std::int64_t> ParseInteger(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace dray::base
