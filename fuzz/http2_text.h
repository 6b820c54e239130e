// SPDX-License-Identifier: Apache-2.0
//
// HTTP/2 frames written as text, so that a fuzzer that changes letters makes frames: a line each,
//
//   h stream flags name: value|name: value    HEADERS, not compressed     d stream flags bytes    DATA
//   x type flags stream bytes                  any frame                   r bytes                 as they are
//
// with stream, flags and type as two hexadecimal digits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dray::fuzz {

inline std::uint8_t Hex(std::string_view& text) {
  std::uint8_t value = 0;
  for (int i = 0; i < 2 && !text.empty(); ++i, text.remove_prefix(1)) {
    const char c = text[0];
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
    value = static_cast<std::uint8_t>(value << 4 | digit);
  }
  if (text.starts_with(' ')) text.remove_prefix(1);
  return value;
}

inline std::string Frame(std::uint8_t type, std::uint8_t flags, std::uint8_t stream,
                         std::string_view payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(payload.size() >> shift & 0xff);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  frame.append(3, '\0');
  frame += static_cast<char>(stream);
  return frame.append(payload);
}

// Literal, never indexed, without Huffman's code (RFC 7541, 6.2.3).
inline std::string Block(std::string_view headers) {
  std::string block;
  const auto put = [&](std::string_view text) {
    text = text.substr(0, 126);
    block += static_cast<char>(text.size());
    block += text;
  };
  while (!headers.empty()) {
    const std::string_view one = headers.substr(0, headers.find('|'));
    headers.remove_prefix(std::min(headers.size(), one.size() + 1));
    // A pseudo-header begins with a colon of its own.
    const std::size_t colon = one.find(": ", 1);
    block += '\x10';
    put(one.substr(0, colon));
    put(colon == one.npos ? std::string_view() : one.substr(colon + 2));
  }
  return block;
}

// The side's settings come first.
inline std::string BytesOf(std::string_view input) {
  std::string bytes = Frame(4, 0, 0, "");
  while (!input.empty()) {
    std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(input.size(), line.size() + 1));
    if (line.size() < 2) continue;
    const char kind = line[0];
    line.remove_prefix(2);
    if (kind == 'r') bytes += line;
    if (kind == 'h' || kind == 'd') {
      const std::uint8_t stream = Hex(line);
      const std::uint8_t flags = Hex(line);
      bytes += kind == 'h' ? Frame(1, flags, stream, Block(line)) : Frame(0, flags, stream, line);
    }
    if (kind == 'x') {
      const std::uint8_t type = Hex(line);
      const std::uint8_t flags = Hex(line);
      const std::uint8_t stream = Hex(line);
      bytes += Frame(type, flags, stream, line);
    }
  }
  return bytes;
}

}  // namespace dray::fuzz
