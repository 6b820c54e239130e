// SPDX-License-Identifier: Apache-2.0
//
// SharedValue: a counted pointer to a value of a type that its owner knows, for copy on write:
// whoever is alone with the value may change it in place.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace dray::base {

// Empty only when default-constructed or moved from. Thread-compatible, and more: copies are
// independent, so that each may live on a thread of its own.
//
// The count is our own rather than std::shared_ptr's. Alone() decides whether a value may be
// written to, so it has to see everything that another thread did with its copy before it let go of
// it; use_count() is a relaxed load and promises nothing of the kind.
class SharedValue {
 public:
  SharedValue() = default;
  // The value is made where it stays: moving a pod takes longer than most decisions about it.
  template <typename T, typename... Args>
  static SharedValue Make(Args&&... args) {
    return SharedValue(new Holder<T>(std::forward<Args>(args)...));
  }
  SharedValue(const SharedValue& other) : cell_(other.cell_) {
    if (cell_ != nullptr) cell_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  SharedValue(SharedValue&& other) noexcept : cell_(std::exchange(other.cell_, nullptr)) {}
  SharedValue& operator=(SharedValue other) noexcept {
    std::swap(cell_, other.cell_);
    return *this;
  }
  ~SharedValue() {
    if (cell_ == nullptr || cell_->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    cell_->destroy(cell_);
  }

  // Null when empty.
  void* get() const { return cell_ == nullptr ? nullptr : cell_->value; }

  // Whether no other copy refers to the value. If so, it stays so until this one is copied, and
  // what others did with their copies has happened before.
  bool Alone() const { return cell_->refs.load(std::memory_order_acquire) == 1; }

 private:
  struct Cell {
    std::atomic<std::uint32_t> refs{1};
    void* value = nullptr;
    void (*destroy)(Cell*) = nullptr;
  };
  template <typename T>
  struct Holder : Cell {
    template <typename... Args>
    explicit Holder(Args&&... args) : item(std::forward<Args>(args)...) {
      this->value = &item;
      this->destroy = [](Cell* cell) { delete static_cast<Holder*>(cell); };
    }
    T item;
  };
  explicit SharedValue(Cell* cell) : cell_(cell) {}

  Cell* cell_ = nullptr;
};

}  // namespace dray::base
