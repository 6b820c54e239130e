// SPDX-License-Identifier: Apache-2.0
//
// BitSet: a set of small numbers as bits in words. The allocator's candidate sets are of this type.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "base/check.h"

namespace dray::base {

// A set over [0, size()); the size is given at construction and changed by Resize. Up to 128 bits
// lie in the object itself. Operations on two sets want equal sizes.
//
// Invariant: bits at and past size() are zero, in the last word and in inline words that the size
// does not need. So counting and comparing go word by word, and a small set, which most are, is
// worked on as its two words without a look at the size. Thread-compatible.
class BitSet {
 public:
  using Word = std::uint64_t;
  static constexpr std::size_t kWordBits = 64;
  static constexpr std::size_t kInlineWords = 2;
  // What First and Next answer when there is no such bit.
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  BitSet() = default;
  explicit BitSet(std::size_t size, bool value = false) : size_(size) {
    if (words() > kInlineWords) heap_ = new Word[words()]();
    if (value) SetAll();
  }
  BitSet(const BitSet& other) : size_(other.size_) {
    if (words() > kInlineWords) heap_ = new Word[words()];
    std::memcpy(data(), other.data(), words() * sizeof(Word));
  }
  BitSet(BitSet&& other) noexcept : size_(0) { swap(other); }
  BitSet& operator=(const BitSet& other) {
    if (this == &other) return *this;
    if (IsInline() && other.IsInline()) {
      size_ = other.size_;
      std::memcpy(inline_, other.inline_, sizeof(inline_));
    } else if (words() == other.words()) {
      size_ = other.size_;
      std::memcpy(data(), other.data(), words() * sizeof(Word));
    } else {
      BitSet copy(other);
      swap(copy);
    }
    return *this;
  }
  BitSet& operator=(BitSet&& other) noexcept {
    BitSet taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~BitSet() {
    if (!IsInline()) delete[] heap_;
  }
  void swap(BitSet& other) noexcept {
    std::swap(size_, other.size_);
    // The union as plain bytes: either side may be a pointer or words.
    Word mine[kInlineWords];
    std::memcpy(mine, inline_, sizeof(mine));
    std::memcpy(inline_, other.inline_, sizeof(mine));
    std::memcpy(other.inline_, mine, sizeof(mine));
  }

  std::size_t size() const { return size_; }
  std::size_t HeapBytes() const { return IsInline() ? 0 : words() * sizeof(Word); }

  bool Test(std::size_t i) const {
    DRAY_DCHECK(i < size_);
    return data()[i / kWordBits] >> (i % kWordBits) & 1;
  }
  void Set(std::size_t i) {
    DRAY_DCHECK(i < size_);
    data()[i / kWordBits] |= Word{1} << (i % kWordBits);
  }
  void Reset(std::size_t i) {
    DRAY_DCHECK(i < size_);
    data()[i / kWordBits] &= ~(Word{1} << (i % kWordBits));
  }
  void Assign(std::size_t i, bool value) { value ? Set(i) : Reset(i); }
  void SetAll() {
    std::fill_n(data(), words(), ~Word{0});
    ClearTail();
  }
  void ResetAll() {
    if (IsInline()) {
      std::fill_n(inline_, kInlineWords, Word{0});
    } else {
      std::fill_n(heap_, words(), Word{0});
    }
  }
  // No members of a set of that size, whatever it was before.
  void Clear(std::size_t size) {
    if (size_ == size) {
      ResetAll();
    } else {
      *this = BitSet(size);
    }
  }
  // Keeps the bits below the new size; new ones are zero.
  void Resize(std::size_t size) {
    BitSet resized(size);
    std::memcpy(resized.data(), data(), std::min(words(), resized.words()) * sizeof(Word));
    resized.ClearTail();
    swap(resized);
  }

  std::size_t Count() const {
    std::size_t count = 0;
    ForEachWord([&](Word word) { count += BitsIn(word); });
    return count;
  }
  bool Any() const {
    Word any = 0;
    ForEachWord([&](Word word) { any |= word; });
    return any != 0;
  }
  bool None() const { return !Any(); }

  // In place, with a set of the same size.
  BitSet& operator&=(const BitSet& other) {
    return Combine(other, [](Word a, Word b) { return a & b; });
  }
  BitSet& operator|=(const BitSet& other) {
    return Combine(other, [](Word a, Word b) { return a | b; });
  }
  // Takes the other's members out.
  BitSet& AndNot(const BitSet& other) {
    return Combine(other, [](Word a, Word b) { return a & ~b; });
  }
  // Adds the members of a set that may be smaller, each moved up by `at`; there is room for them.
  BitSet& OrAt(const BitSet& other, std::size_t at) {
    DRAY_DCHECK(at + other.size_ <= size_);
    Word* mine = data() + at / kWordBits;
    const Word* theirs = other.data();
    const std::size_t shift = at % kWordBits;
    for (std::size_t w = 0, n = other.words(); w < n; ++w) {
      mine[w] |= theirs[w] << shift;
      // What is carried over has a word to go to: it is a member.
      if (shift == 0) continue;
      if (const Word carried = theirs[w] >> (kWordBits - shift); carried != 0) {
        mine[w + 1] |= carried;
      }
    }
    return *this;
  }

  bool Intersects(const BitSet& other) const {
    DRAY_DCHECK(size_ == other.size_);
    for (std::size_t w = 0; w < words(); ++w) {
      if (data()[w] & other.data()[w]) return true;
    }
    return false;
  }
  std::size_t IntersectionCount(const BitSet& other) const {
    DRAY_DCHECK(size_ == other.size_);
    std::size_t count = 0;
    for (std::size_t w = 0; w < words(); ++w) {
      count += BitsIn(data()[w] & other.data()[w]);
    }
    return count;
  }
  bool IsSubsetOf(const BitSet& other) const {
    DRAY_DCHECK(size_ == other.size_);
    for (std::size_t w = 0; w < words(); ++w) {
      if (data()[w] & ~other.data()[w]) return false;
    }
    return true;
  }

  // The smallest member, and the smallest one after `i`; kNone if there is none.
  std::size_t First() const { return FirstFrom(0); }
  std::size_t Next(std::size_t i) const { return FirstFrom(i + 1); }
  // The smallest member >= `i`.
  std::size_t FirstFrom(std::size_t i) const {
    if (i >= size_) return kNone;
    std::size_t w = i / kWordBits;
    Word word = data()[w] & ~Word{0} << (i % kWordBits);
    while (word == 0) {
      if (++w == words()) return kNone;
      word = data()[w];
    }
    return w * kWordBits + static_cast<std::size_t>(std::countr_zero(word));
  }
  // Calls `visit` on every member in increasing order. The set must not change meanwhile.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (std::size_t w = 0; w < words(); ++w) {
      for (Word word = data()[w]; word != 0; word &= word - 1) {
        visit(w * kWordBits + static_cast<std::size_t>(std::countr_zero(word)));
      }
    }
  }

  // Equal in size and members.
  friend bool operator==(const BitSet& a, const BitSet& b) {
    return a.size_ == b.size_ && std::equal(a.data(), a.data() + a.words(), b.data());
  }
  template <typename H>
  friend H AbslHashValue(H h, const BitSet& set) {
    return H::combine(H::combine_contiguous(std::move(h), set.data(), set.words()), set.size_);
  }

 private:
  std::size_t words() const { return (size_ + kWordBits - 1) / kWordBits; }
  bool IsInline() const { return size_ <= kInlineWords * kWordBits; }
  Word* data() { return IsInline() ? inline_ : heap_; }
  const Word* data() const { return IsInline() ? inline_ : heap_; }
  void ClearTail() {
    if (const std::size_t used = size_ % kWordBits; used != 0) {
      data()[words() - 1] &= ~(~Word{0} << used);
    }
  }
  // Written out: without an instruction for it, which not every x86-64 has, std::popcount is a
  // call into a library.
  static constexpr std::size_t BitsIn(Word word) {
    word -= word >> 1 & 0x5555555555555555;
    word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return static_cast<std::size_t>(word * 0x0101010101010101 >> 56);
  }
  // For what words past the size, which are zero, do not change.
  template <typename Visit>
  void ForEachWord(Visit visit) const {
    if (IsInline()) {
      for (const Word word : inline_) visit(word);
    } else {
      for (std::size_t w = 0, n = words(); w < n; ++w) visit(heap_[w]);
    }
  }
  // `op` of zero and zero is zero.
  template <typename Op>
  BitSet& Combine(const BitSet& other, Op op) {
    DRAY_DCHECK(size_ == other.size_);
    if (IsInline()) {
      for (std::size_t w = 0; w < kInlineWords; ++w) {
        inline_[w] = op(inline_[w], other.inline_[w]);
      }
      return *this;
    }
    Word* mine = data();
    const Word* theirs = other.data();
    for (std::size_t w = 0, n = words(); w < n; ++w) mine[w] = op(mine[w], theirs[w]);
    return *this;
  }

  std::size_t size_ = 0;
  union {
    Word inline_[kInlineWords] = {};
    Word* heap_;
  };
};

static_assert(sizeof(BitSet) == 24);

}  // namespace dray::base
