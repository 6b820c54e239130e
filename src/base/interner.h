// SPDX-License-Identifier: Apache-2.0
//
// Interner: strings as small dense numbers. What is compared often is interned once and compared as
// a number.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/string_map.h"

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

// Append-only: a symbol, and the string_view it stands for, stay valid as long as the Interner
// lives, moves of it included. Thread-compatible: Find and View may run in parallel as long as
// nobody calls Intern.
class Interner {
 public:
  Interner() = default;
  Interner(Interner&&) noexcept = default;
  Interner& operator=(Interner&&) noexcept = default;

  // The symbol of `text`, a new one if it has none yet.
  Symbol Intern(std::string_view text);
  // The same without adding.
  std::optional<Symbol> Find(std::string_view text) const;
  // `symbol` must come from this Interner.
  std::string_view View(Symbol symbol) const;

  std::size_t size() const { return views_.size(); }
  // What this Interner holds on the heap.
  std::size_t MemoryBytes() const;

 private:
  std::string_view Store(std::string_view text);

  // Strings lie end to end in blocks that never move; a long one has a block of its own.
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;
  std::size_t free_bytes_ = 0;
  std::size_t block_bytes_ = 0;  // of all blocks
  std::vector<std::string_view> views_;
  absl::flat_hash_map<std::string_view, std::uint32_t, StringHash, StringEq> ids_;
};

}  // namespace dray::base
