// SPDX-License-Identifier: Apache-2.0
//
// Arena: memory for the values that one evaluation makes, and what is left of its work. Everything
// in it goes at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cel/work.h"

namespace dray::cel {

// Bump allocation from blocks that grow; the first block is inside, so that small evaluations need
// no heap. Values with destructors are destroyed by Reset() in reverse order. One thread.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { Reset(); }

  void* Allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
    std::size_t at = (used_ + alignment - 1) & ~(alignment - 1);
    if (at + bytes > capacity_) {
      NewBlock(bytes);
      at = 0;
    }
    used_ = at + bytes;
    total_ += bytes;
    return current_ + at;
  }

  template <typename T, typename... Args>
  T* New(Args&&... args) {
    T* value = new (Allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
    if constexpr (!std::is_trivially_destructible_v<T>) {
      last_ = new (Allocate(sizeof(Finalizer), alignof(Finalizer)))
          Finalizer{value, [](void* p) { static_cast<T*>(p)->~T(); }, last_};
    }
    return value;
  }
  template <typename T>
  std::span<T> NewArray(std::size_t n) {
    static_assert(std::is_trivially_destructible_v<T>);
    T* first = static_cast<T*>(Allocate(n * sizeof(T), alignof(T)));
    for (std::size_t i = 0; i < n; ++i) new (first + i) T();
    return {first, n};
  }
  std::string_view Copy(std::string_view text) {
    char* to = static_cast<char*>(Allocate(text.size(), 1));
    if (!text.empty()) std::memcpy(to, text.data(), text.size());
    return {to, text.size()};
  }

  // Full after Reset; an evaluation may set another budget.
  Work& work() { return work_; }

  // Bytes handed out since the last Reset.
  std::size_t bytes() const { return total_; }
  void Reset() {
    for (const Finalizer* f = last_; f != nullptr; f = f->before) f->destroy(f->value);
    last_ = nullptr;
    if (!blocks_.empty()) blocks_.clear();
    current_ = inline_;
    capacity_ = sizeof(inline_);
    used_ = 0;
    total_ = 0;
    work_ = Work();
  }

 private:
  struct Finalizer {
    void* value;
    void (*destroy)(void*);
    Finalizer* before;
  };
  void NewBlock(std::size_t at_least) {
    const std::size_t size =
        std::max<std::size_t>(at_least + alignof(std::max_align_t), capacity_ * 2);
    blocks_.push_back(std::make_unique<char[]>(size));
    current_ = blocks_.back().get();
    capacity_ = size;
    used_ = 0;
  }

  alignas(std::max_align_t) char inline_[1024];
  char* current_ = inline_;
  std::size_t capacity_ = sizeof(inline_);
  std::size_t used_ = 0;
  std::size_t total_ = 0;
  std::vector<std::unique_ptr<char[]>> blocks_;
  Work work_;
  Finalizer* last_ = nullptr;  // in the arena itself
};

}  // namespace dray::cel
