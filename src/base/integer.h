// SPDX-License-Identifier: Apache-2.0
//
// Digits, and integers as Go reads them.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dray::base {

// What a hexadecimal digit of either case is worth; -1 of what is none.
constexpr int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

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
