// SPDX-License-Identifier: Apache-2.0
//
// FieldTree: a FieldSet for who makes one, uses it once and throws it away: every write of every
// object compares, adds and subtracts some.
//
// Trees do not change once made, so that a result shares what it has in common with what it was made
// from; one that would be the same is the same. Their memory goes all at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "rest/field_set.h"

namespace dray::rest::internal {

// Memory that is given back as a whole. One thread.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // For values that need no end.
  template <typename T>
  T* Array(std::size_t n) {
    static_assert(alignof(T) <= kAlignment);
    return static_cast<T*>(Bytes(n * sizeof(T)));
  }
  std::string_view Keep(std::string_view text);
  // Everything that it gave is gone.
  void Clear();

 private:
  static constexpr std::size_t kAlignment = 8;
  static constexpr std::size_t kBlock = 16384;
  struct Block {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
  };
  void* Bytes(std::size_t n);

  std::vector<Block> blocks_;
  char* next_ = nullptr;
  char* end_ = nullptr;
};

// "f:labels" as 'f' and "labels". What it looks at outlives it.
struct Element {
  char tag = 'f';
  std::string_view rest;

  friend bool operator==(const Element&, const Element&) = default;
  // As FieldSet's.
  friend auto operator<=>(const Element&, const Element&) = default;
};

struct FieldTree;
struct Branch {
  Element element;
  const FieldTree* below = nullptr;  // never null in a tree
};

// As FieldSet: a null pointer is the empty set, and none of the branches is empty.
struct FieldTree {
  bool member = false;
  std::uint32_t size = 0;
  const Branch* first = nullptr;

  std::span<const Branch> branches() const { return {first, size}; }
};

// Of branches in order. Null when there are none and it is no member itself.
const FieldTree* MakeTree(Arena& arena, bool member, std::span<const Branch> branches);

// Null is the empty set. A result that equals the first argument is the first argument.
const FieldTree* Union(Arena& arena, const FieldTree* a, const FieldTree* b);
const FieldTree* Subtract(Arena& arena, const FieldTree* a, const FieldTree* b);
// Without one element and everything below.
const FieldTree* Without(Arena& arena, const FieldTree* a, const Element& element);

// Trees may look at the text, which outlives them.
StatusOr<const FieldTree*> ParseTree(Arena& arena, std::string_view json);
std::string ToJson(const FieldTree* tree);

// Looks at the set, which outlives it.
const FieldTree* TreeOf(Arena& arena, const FieldSet& set);
FieldSet SetOf(const FieldTree* tree);

}  // namespace dray::rest::internal
