// SPDX-License-Identifier: Apache-2.0
//
// Interner: strings as small dense numbers. What is compared often is interned once and compared as
// a number.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dray::base {

// The number of a string in one Interner: 0, 1, 2 ... in order of arrival. Means nothing in another
// Interner.
class Symbol {
 public:
  Symbol() = default;
  explicit constexpr Symbol(std::uint32_t id) : id_(id) {}
  constexpr std::uint32_t id() const { return id_; }

  friend bool operator==(Symbol, Symbol) = default;
  friend std::strong_ordering operator<=>(Symbol, Symbol) = default;
  template <typename H>
  friend H AbslHashValue(H h, Symbol symbol) {
    return H::combine(std::move(h), symbol.id_);
  }

 private:
  std::uint32_t id_ = 0;
};

// Append-only: a symbol stays valid, its string_view until the next Intern. Strings lie end to end
// in one block as large as needed, since most interners have a dozen short ones: there is one per
// expression. inventory::Dictionary is for names that come and go, and for many threads.
// Thread-compatible.
class Interner {
 public:
  // The symbol of `text`, a new one if it has none yet.
  Symbol Intern(std::string_view text);
  // The same without adding.
  std::optional<Symbol> Find(std::string_view text) const;
  // `symbol` must come from this Interner.
  std::string_view View(Symbol symbol) const {
    const Piece& piece = pieces_[symbol.id()];
    return std::string_view(text_).substr(piece.begin, piece.size);
  }

  std::size_t size() const { return pieces_.size(); }
  void Reserve(std::size_t strings, std::size_t bytes);
  // What this Interner holds on the heap.
  std::size_t MemoryBytes() const;

 private:
  struct Piece {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    std::uint32_t hash = 0;
  };

  // Where `text` is, or the free slot where it would be.
  std::size_t SlotOf(std::string_view text, std::uint32_t hash) const;
  void Grow();

  std::string text_;
  std::vector<Piece> pieces_;
  // Open addressing, a power of two, at most half full: symbol + 1, or 0 for a free slot.
  std::vector<std::uint32_t> slots_;
};

}  // namespace dray::base
