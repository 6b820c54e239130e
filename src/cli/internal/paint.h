// SPDX-License-Identifier: Apache-2.0
//
// Text for terminals: colours, and nothing that a terminal would obey.
#pragma once

#include <string>
#include <string_view>

#include "cli/environment.h"

namespace dray::cli::internal {

inline constexpr std::string_view kBold = "\x1b[1m";
inline constexpr std::string_view kRed = "\x1b[1;31m";
inline constexpr std::string_view kGreen = "\x1b[1;32m";
inline constexpr std::string_view kMagenta = "\x1b[1;35m";
inline constexpr std::string_view kCyan = "\x1b[1;36m";

// A value.
class Painter {
 public:
  explicit Painter(bool on) : on_(on) {}
  std::string Paint(std::string_view color, std::string_view text) const;
  std::string Bold(std::string_view text) const { return Paint(kBold, text); }

 private:
  bool on_;
};

// What --color means: always, never, or auto (on terminals, unless NO_COLOR is set).
bool UseColor(std::string_view when, bool terminal, const Environment& env);

// Whether what reads our output has more than ASCII: what the first of LC_ALL, LC_CTYPE and LANG
// that is set says. When none is, nobody has said otherwise.
bool HasUnicode(const Environment& env);
// What is ours in a text (branches of trees, "µs") in ASCII; what users have written stays.
std::string InAscii(std::string_view text);
// The text as `env` can show it.
std::string Shown(const Environment& env, std::string text);

// Text from a file may carry control characters; a terminal must not obey them. Further lines (a
// compiler's, with its caret) are set off from the left.
std::string Printable(std::string_view text);

}  // namespace dray::cli::internal
