// SPDX-License-Identifier: Apache-2.0
//
// Whether bytes are text. JSON is UTF-8: what is not can be written, but not read again.
#pragma once

#include <cstddef>
#include <string_view>

namespace dray::base {

// The bytes of the character that `text` begins with; 0 if it begins with none: longer than it need
// be, half of a pair, beyond the last one, or cut off. `text` is not empty.
std::size_t CharacterSize(std::string_view text);

bool IsUtf8(std::string_view text);

// As much of the beginning as has so many bytes, and ends with a whole character.
std::string_view Beginning(std::string_view text, std::size_t bytes);

}  // namespace dray::base
