// SPDX-License-Identifier: Apache-2.0
//
// Strings of one expression as small numbers. Unlike base::Interner it lies in one block as large
// as needed, since there is one per expression and most have a dozen short strings.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dray::cel {

// The number of a string in one StringPool: 0, 1, 2 ... in order of arrival.
struct StringId {
  std::uint32_t value = 0;
  friend auto operator<=>(const StringId&, const StringId&) = default;
};

// Equal strings have equal ids. Thread-compatible.
class StringPool {
 public:
  StringId Intern(std::string_view text);
  // Valid until the next Intern.
  std::string_view View(StringId id) const {
    const Piece& piece = pieces_[id.value];
    return std::string_view(text_).substr(piece.begin, piece.size);
  }

  std::size_t size() const { return pieces_.size(); }
  void Reserve(std::size_t strings, std::size_t bytes);
  std::size_t MemoryBytes() const;

 private:
  struct Piece {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    std::uint32_t hash = 0;
  };

  void Grow();

  std::string text_;
  std::vector<Piece> pieces_;
  // Open addressing, a power of two, at most half full: id + 1, or 0 for a free slot.
  std::vector<std::uint32_t> slots_;
};

}  // namespace dray::cel
