// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "base/integer.h"
#include "base/status.h"

namespace dray::apiserver {

std::string_view Headers::Find(std::string_view name) const {
  for (const auto& [key, value] : list) {
    if (absl::EqualsIgnoreCase(base::ToAbsl(key), base::ToAbsl(name))) return value;
  }
  return {};
}

void Headers::Add(std::string name, std::string value) {
  list.emplace_back(std::move(name), std::move(value));
}

std::string_view ValidAuditId(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == ':';
  };
  return text.size() <= kLongest && std::ranges::all_of(text, fits) ? text : std::string_view();
}

namespace {

// Decoded; nothing when it is not as it should be.
std::optional<std::string> Segment(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = base::HexDigit(text[i + 1]);
      const int low = base::HexDigit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      if (c == '/' || c == '\\') return std::nullopt;
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return std::nullopt;
    out += c;
  }
  return out;
}

}  // namespace

bool IsNormalPath(std::string_view path) {
  if (!path.starts_with('/')) return false;
  path.remove_prefix(1);
  while (!path.empty()) {
    const std::size_t end = path.find('/');
    const auto part = Segment(path.substr(0, end));
    if (!part || part->empty() || *part == "." || *part == "..") return false;
    if (end == path.npos) break;
    path.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace dray::apiserver
