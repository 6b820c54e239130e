// SPDX-License-Identifier: Apache-2.0
//
// Characters of texts in UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dray::base {

// Whether a byte goes on with a character that began before it.
inline bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// How many characters: bytes that are no continuation, also where the text is not UTF-8.
std::size_t CodePoints(std::string_view text);

// One character at the end of `out`. It must be one: at most 10FFFF and no surrogate.
void AppendUtf8(std::string& out, char32_t code_point);

}  // namespace dray::base
