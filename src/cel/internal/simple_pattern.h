// SPDX-License-Identifier: Apache-2.0
//
// Patterns that are a row of characters and sets of characters, perhaps fixed to the beginning or
// the end: "^NVIDIA H[12]00", "-a100-", "\.example\.com$". Most patterns of selectors are, and
// comparing bytes is several times faster than starting a regular expression engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dray::cel {

// Thread-safe: immutable.
class SimplePattern {
 public:
  // Nothing when `pattern` has anything else: repetition, alternatives, groups, classes by name, or
  // bytes beyond ASCII. What it takes, RE2 takes too.
  static std::optional<SimplePattern> Parse(std::string_view pattern);

  // Whether the pattern is found in the text.
  bool Matches(std::string_view text) const;

 private:
  static constexpr std::size_t kMaxLength = 32;
  // The characters that may stand in one place.
  struct Set {
    std::array<std::uint64_t, 2> bits{};
    void Add(unsigned char c) { bits[c >> 6] |= std::uint64_t{1} << (c & 63); }
    bool Has(unsigned char c) const { return c < 128 && ((bits[c >> 6] >> (c & 63)) & 1) != 0; }
  };

  static bool ParseSet(std::string_view& rest, Set& set);
  bool MatchesAt(const char* at) const;

  std::array<Set, kMaxLength> sets_;
  std::size_t length_ = 0;
  bool at_begin_ = false;
  bool at_end_ = false;
};

}  // namespace dray::cel
