// SPDX-License-Identifier: Apache-2.0
//
// PersistentArray: an array whose copies share what they have in common. Copying takes a counted
// pointer; changing one element of a shared array copies the blocks on the way to it, not the rest.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace dray::base {

// A tree of blocks of 32. Elements that were never set are T(), and blocks of nothing but those do
// not exist, so that a sparse array costs what is in it.
//
// Thread-compatible, and more: copies are independent. One thread may change its copy while others
// read theirs. A block that only one array refers to is changed in place; counts are our own rather
// than std::shared_ptr's because that decision has to see what a reader's last release ordered
// before it, which use_count() does not promise.
template <typename T>
class PersistentArray {
 public:
  PersistentArray() = default;
  PersistentArray(const PersistentArray& other)
      : root_(other.root_), size_(other.size_), levels_(other.levels_) {
    if (root_ != nullptr) Ref(root_);
  }
  PersistentArray(PersistentArray&& other) noexcept { swap(other); }
  PersistentArray& operator=(PersistentArray other) noexcept {
    swap(other);
    return *this;
  }
  ~PersistentArray() { Unref(root_, levels_); }
  void swap(PersistentArray& other) noexcept {
    std::swap(root_, other.root_);
    std::swap(size_, other.size_);
    std::swap(levels_, other.levels_);
  }

  // One more than the largest index that was ever set.
  std::size_t size() const { return size_; }

  // The element, or T() when it was never set. Valid until this array changes.
  const T& At(std::size_t i) const {
    if (i >= size_) return Default();
    const Block* block = root_;
    for (int level = levels_; level > 0 && block != nullptr; --level) {
      block = static_cast<const Inner*>(block)->children[Digit(i, level)];
    }
    return block == nullptr ? Default() : static_cast<const Leaf*>(block)->items[Digit(i, 0)];
  }

  void Set(std::size_t i, T value) {
    while (levels_ < kMaxLevels && (i >> (kBits * (levels_ + 1))) != 0) Grow();
    if (i >= size_) size_ = i + 1;
    Block** at = &root_;
    for (int level = levels_; level > 0; --level) {
      at = &Own<Inner>(at, level)->children[Digit(i, level)];
    }
    Own<Leaf>(at, 0)->items[Digit(i, 0)] = std::move(value);
  }

  // What the blocks hold on the heap, shared ones included; not what elements point to.
  std::size_t MemoryBytes() const { return BytesBelow(root_, levels_); }

 private:
  static constexpr int kBits = 5;
  static constexpr std::size_t kFanOut = std::size_t{1} << kBits;
  static constexpr int kMaxLevels = 12;

  struct Block {
    std::atomic<std::uint32_t> refs{1};
  };
  struct Leaf : Block {
    std::array<T, kFanOut> items{};
    Leaf() = default;
    Leaf(const Leaf& other) : Block(), items(other.items) {}
  };
  struct Inner : Block {
    std::array<Block*, kFanOut> children{};
    Inner() = default;
    Inner(const Inner& other) : Block(), children(other.children) {
      for (Block* child : children) {
        if (child != nullptr) Ref(child);
      }
    }
  };

  static const T& Default() {
    static const T value{};
    return value;
  }
  static std::size_t Digit(std::size_t i, int level) {
    return (i >> (kBits * level)) & (kFanOut - 1);
  }
  static void Ref(Block* block) { block->refs.fetch_add(1, std::memory_order_relaxed); }
  static void Unref(Block* block, int level) {
    if (block == nullptr || block->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (level == 0) {
      delete static_cast<Leaf*>(block);
      return;
    }
    auto* inner = static_cast<Inner*>(block);
    for (Block* child : inner->children) Unref(child, level - 1);
    delete inner;
  }
  // The block at `at` as one that nobody else sees: itself, a copy, or a new one.
  template <typename B>
  static B* Own(Block** at, int level) {
    if (*at == nullptr) {
      *at = new B();
    } else if ((*at)->refs.load(std::memory_order_acquire) != 1) {
      auto* copy = new B(*static_cast<const B*>(*at));
      Unref(std::exchange(*at, copy), level);
    }
    return static_cast<B*>(*at);
  }
  void Grow() {
    if (root_ != nullptr) {
      auto* root = new Inner();
      root->children[0] = root_;
      root_ = root;
    }
    ++levels_;
  }
  static std::size_t BytesBelow(const Block* block, int level) {
    if (block == nullptr) return 0;
    if (level == 0) return sizeof(Leaf);
    std::size_t bytes = sizeof(Inner);
    for (const Block* child : static_cast<const Inner*>(block)->children) {
      bytes += BytesBelow(child, level - 1);
    }
    return bytes;
  }

  Block* root_ = nullptr;
  std::size_t size_ = 0;
  int levels_ = 0;  // of Inner blocks above the leaves
};

}  // namespace dray::base
