// SPDX-License-Identifier: Apache-2.0
//
// The values of literals. The lexer has seen to their form, so what can still be wrong is a number
// out of range and an escape that is no character. Texts are Kubernetes'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dray::cel {

// "12", "0x1f"; nothing if it does not fit.
std::optional<std::int64_t> ParseInt(std::string_view text, bool negative);
// The same with a `u` at the end.
std::optional<std::uint64_t> ParseUint(std::string_view text);
// Nothing if it is too large; too small is zero.
std::optional<double> ParseDouble(std::string_view text, bool negative);

struct Unquoted {
  std::string value;
  std::string_view error;  // empty: none
};

// A string literal with quotes and `r`, or a bytes literal with its `b` before them, as the
// lexer gave it. Line ends inside are \n whatever they were in the text.
// In a string \x, \u, \U and octals are code points; in bytes \x and octals are bytes.
Unquoted Unquote(std::string_view token, bool bytes);

}  // namespace dray::cel
