// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/paint.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "fmt/format.h"

namespace dray::cli::internal {

std::string Painter::Paint(std::string_view color, std::string_view text) const {
  return on_ ? fmt::format("{}{}\x1b[0m", color, text) : std::string(text);
}

bool UseColor(std::string_view when, bool terminal, const Environment& env) {
  if (when != "auto") return when == "always";
  const auto no_color = env.variables.find("NO_COLOR");
  const bool refused = no_color != env.variables.end() && !no_color->second.empty();
  return terminal && !refused;
}

bool HasUnicode(const Environment& env) {
  for (const std::string_view name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const auto set = env.variables.find(name);
    if (set == env.variables.end() || set->second.empty()) continue;
    // "C.UTF-8", "de_DE.utf8", "en_US.UTF-8@euro"
    const std::string locale = absl::AsciiStrToLower(set->second);
    return locale.find("utf-8") != locale.npos || locale.find("utf8") != locale.npos;
  }
  return true;
}

std::string InAscii(std::string_view text) {
  return absl::StrReplaceAll(base::ToAbsl(text),
                             {{"├─", "|-"}, {"└─", "`-"}, {"│", "|"}, {"µ", "u"}});
}

std::string Shown(const Environment& env, std::string text) {
  return HasUnicode(env) ? std::move(text) : InAscii(text);
}

std::string Printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\n    ";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace dray::cli::internal
