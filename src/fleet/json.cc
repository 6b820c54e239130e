// SPDX-License-Identifier: Apache-2.0
#include "fleet/json.h"

#include <cmath>

#include "fmt/format.h"

namespace dray::fleet {

JsonOut& JsonOut::Real(double value, int digits) {
  if (!std::isfinite(value)) return Null();
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (text.find('.') != std::string::npos) {
    while (text.ends_with('0')) text.pop_back();
    if (text.ends_with('.')) text.pop_back();
  }
  return Raw(text == "-0" ? "0" : text);
}

void JsonOut::Quote(std::string_view text) {
  out_ += '"';
  std::size_t from = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20) continue;
    out_.append(text, from, i - from);
    from = i + 1;
    switch (c) {
      case '"':
        out_ += "\\\"";
        break;
      case '\\':
        out_ += "\\\\";
        break;
      case '\n':
        out_ += "\\n";
        break;
      default:
        out_ += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    }
  }
  out_.append(text, from);
  out_ += '"';
}

}  // namespace dray::fleet
