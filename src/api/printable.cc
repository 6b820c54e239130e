// SPDX-License-Identifier: Apache-2.0
#include "api/internal/printable.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace dray::api::internal {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
constexpr Range kNotPrintable[] = {
    {0x00, 0x1f},     {0x7f, 0xa0},     {0xad, 0xad},       {0x600, 0x605},      {0x61c, 0x61c},
    {0x6dd, 0x6dd},   {0x70f, 0x70f},   {0x1680, 0x1680},   {0x180e, 0x180e},    {0x2000, 0x200f},
    {0x2028, 0x202f}, {0x205f, 0x206f}, {0x3000, 0x3000},   {0xd800, 0xf8ff},    {0xfeff, 0xfeff},
    {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe00ff}, {0xf0000, 0x10ffff},
};

// Takes one code point off the front; nothing when it is not well-formed.
std::optional<std::uint32_t> TakeCodePoint(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || text.size() < length) return std::nullopt;
  std::uint32_t point = length == 1 ? lead : lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return std::nullopt;
    point = (point << 6) | (next & 0x3fU);
  }
  text.remove_prefix(length);
  return point;
}

}  // namespace

bool IsPrintable(std::string_view utf8) {
  while (!utf8.empty()) {
    const std::optional<std::uint32_t> point = TakeCodePoint(utf8);
    if (!point) return false;
    for (const Range& range : kNotPrintable) {
      if (*point >= range.first && *point <= range.last) return false;
    }
  }
  return true;
}

}  // namespace dray::api::internal
