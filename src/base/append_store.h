// SPDX-License-Identifier: Apache-2.0
//
// Memory for what is known by a number: arrays and bytes that grow and never move.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"

namespace dray::base {

// An array in chunks. Each power of two is cut in eight, so at most an eighth is unused, and an
// index becomes a chunk and a place in it with a few shifts.
//
// One thread appends; any thread reads elements whose number it was given, since they are written
// before they are numbered and stay where they are.
template <typename T>
class AppendArray {
 public:
  AppendArray() = default;
  AppendArray(const AppendArray&) = delete;
  AppendArray& operator=(const AppendArray&) = delete;
  ~AppendArray() {
    for (std::size_t i = 0; i < size_; ++i) Slot(i)->~T();
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      if (T* chunk = chunks_[c].load(std::memory_order_relaxed); chunk != nullptr) {
        ::operator delete (chunk, std::align_val_t{alignof(T)});
      }
    }
  }

  const T& operator[](std::size_t i) const { return *Slot(i); }
  T& Mutable(std::size_t i) { return *Slot(i); }  // the appending thread's
  std::size_t size() const { return size_; }

  std::uint32_t Append(T value) {
    DRAY_CHECK(size_ < std::size_t{0xffffffff}, "a table is full");
    const Place place = PlaceOf(size_);
    T* chunk = chunks_[place.chunk].load(std::memory_order_relaxed);
    if (chunk == nullptr) {
      chunk = static_cast<T*>(
          ::operator new (place.chunk_size * sizeof(T), std::align_val_t{alignof(T)}));
      chunks_[place.chunk].store(chunk, std::memory_order_release);
      capacity_ += place.chunk_size;
    }
    new (chunk + place.offset) T(std::move(value));
    return static_cast<std::uint32_t>(size_++);
  }

  std::size_t MemoryBytes() const { return capacity_ * sizeof(T); }

 private:
  static constexpr int kFirstBits = 8;  // the first chunks have 2^(8-3) elements
  static constexpr int kSplitBits = 3;

  struct Place {
    std::size_t chunk;
    std::size_t offset;
    std::size_t chunk_size;
  };
  static Place PlaceOf(std::size_t i) {
    const std::size_t n = i + (std::size_t{1} << kFirstBits);
    const int bits = static_cast<int>(std::bit_width(n)) - 1;
    const int chunk_bits = bits - kSplitBits;
    const std::size_t part = (n >> chunk_bits) & ((1U << kSplitBits) - 1);
    return {.chunk = (static_cast<std::size_t>(bits - kFirstBits) << kSplitBits) + part,
            .offset = n & ((std::size_t{1} << chunk_bits) - 1),
            .chunk_size = std::size_t{1} << chunk_bits};
  }
  T* Slot(std::size_t i) const {
    const Place place = PlaceOf(i);
    return chunks_[place.chunk].load(std::memory_order_acquire) + place.offset;
  }

  std::array<std::atomic<T*>, (33 - kFirstBits) << kSplitBits> chunks_{};
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// Bytes for what tables point to. One thread.
class AppendBytes {
 public:
  void* Allocate(std::size_t bytes, std::size_t alignment) {
    std::size_t padding = Padding(alignment);
    if (free_ == nullptr || padding + bytes > left_) {
      if (bytes > kLarge) {
        total_ += bytes;
        return blocks_.emplace_back(new char[bytes]).get();
      }
      blocks_.emplace_back(new char[kBlock]);
      free_ = blocks_.back().get();
      left_ = kBlock;
      total_ += kBlock;
      padding = 0;  // operator new[] aligns for everything we have
    }
    char* at = free_ + padding;
    free_ = at + bytes;
    left_ -= padding + bytes;
    return at;
  }
  std::string_view Copy(std::string_view text) {
    if (text.empty()) return "";
    char* to = static_cast<char*>(Allocate(text.size(), 1));
    std::memcpy(to, text.data(), text.size());
    return {to, text.size()};
  }
  template <typename T>
  std::span<const T> Copy(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (items.empty()) return {};
    void* to = Allocate(items.size_bytes(), alignof(T));
    std::memcpy(to, items.data(), items.size_bytes());
    return {static_cast<const T*>(to), items.size()};
  }
  // Never destroyed: for what owns nothing.
  template <typename T, typename... Args>
  const T* New(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (Allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
  }

  std::size_t MemoryBytes() const { return total_ + blocks_.capacity() * sizeof(blocks_[0]); }

 private:
  static constexpr std::size_t kBlock = 32 * 1024;
  static constexpr std::size_t kLarge = kBlock / 8;

  std::size_t Padding(std::size_t alignment) const {
    return (alignment - reinterpret_cast<std::uintptr_t>(free_) % alignment) % alignment;
  }

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;
  std::size_t left_ = 0;
  std::size_t total_ = 0;
};

}  // namespace dray::base
