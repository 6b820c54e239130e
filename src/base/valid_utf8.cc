// SPDX-License-Identifier: Apache-2.0
#include "base/valid_utf8.h"

#include <cstdint>
#include <cstring>

namespace dray::base {

std::size_t CharacterSize(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool beyond = (lead == 0xed && second > 0x9f) || (lead == 0xf4 && second > 0x8f);
  return overlong || beyond ? 0 : size;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    // Nearly everything is ASCII, which is looked at eight bytes at a time.
    std::uint64_t word = 0;
    if (text.size() >= sizeof(word)) {
      std::memcpy(&word, text.data(), sizeof(word));
      if ((word & 0x8080808080808080U) == 0) {
        text.remove_prefix(sizeof(word));
        continue;
      }
    }
    const std::size_t size = CharacterSize(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string_view Beginning(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  // A character has three bytes that go on with it at most.
  std::size_t end = bytes;
  while (end > 0 && bytes - end < 3 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  return text.substr(0, end);
}

}  // namespace dray::base
