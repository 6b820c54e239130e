// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/paint.h"

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
