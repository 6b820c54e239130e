// SPDX-License-Identifier: Apache-2.0
#include "rest/internal/body_size.h"

#include <algorithm>

namespace dray::rest::internal {
namespace {

std::size_t CountJson(std::string_view text) {
  std::size_t count = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',' || c == '[' || c == '{') {
      ++count;
    }
  }
  return count;
}

}  // namespace

bool HasTooManyValues(std::string_view text, bool yaml) {
  if (text.size() <= kMaxBodyValues) return false;
  if (!yaml) return CountJson(text) > kMaxBodyValues;
  const auto separates = [](char c) { return c == '\n' || c == ',' || c == '[' || c == '{'; };
  return static_cast<std::size_t>(std::ranges::count_if(text, separates)) > kMaxBodyValues;
}

}  // namespace dray::rest::internal
