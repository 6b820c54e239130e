// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace dray::base {

std::size_t CodePoints(std::string_view text) {
  // Every byte that does not continue a character. Eight at a time: the high bit of each byte of
  // `continuing` is set for 10xxxxxx; the product adds them up. (The built-in for counting bits is
  // a call on processors that may not have the instruction.)
  const auto continuing = [](const char* at, std::size_t skip) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    word >>= 8 * skip;
    const std::uint64_t bits = word & ~(word << 1) & 0x8080808080808080U;
    return static_cast<std::size_t>(((bits >> 7) * 0x0101010101010101U) >> 56);
  };
  std::size_t n = text.size();
  const char* at = text.data();
  std::size_t left = text.size();
  if (std::endian::native == std::endian::little && left >= 8) {
    for (; left >= 8; left -= 8, at += 8) n -= continuing(at, 0);
    // The rest once more with bytes before it, which are shifted out.
    return left == 0 ? n : n - continuing(at + left - 8, 8 - left);
  }
  for (; left > 0; --left, ++at) {
    if (IsContinuation(*at)) --n;
  }
  return n;
}

void AppendUtf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | (c >> 6));
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3f));
    put(0x80 | ((c >> 6) & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

}  // namespace dray::base
