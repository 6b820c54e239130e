// SPDX-License-Identifier: Apache-2.0
//
// Words of the kernel's tables of mounts (/proc/self/mountinfo), which are separated by blanks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dray::files {

// As the kernel writes paths and options there: \040 is a blank.
inline std::string UnescapedMount(std::string_view text) {
  const auto digit = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '7'; };
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                 (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace dray::files
