// SPDX-License-Identifier: Apache-2.0
//
// Box<T>: an optional value on the heap, with the manners of std::optional. For fields that are
// seldom set (or would make their struct recursive or large): an absent one costs a pointer.
#pragma once

#include <memory>
#include <utility>

namespace dray::api {

// A value: copies are deep, equality looks inside. Thread-compatible.
template <typename T>
class Box {
 public:
  Box() = default;
  Box(const T& value)
      : value_(std::make_unique<T>(value)) {}  // NOLINT: converts like std::optional
  Box(T&& value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT
  Box(const Box& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Box(Box&&) noexcept = default;
  Box& operator=(const Box& other) {
    if (this != &other) value_ = other.value_ ? std::make_unique<T>(*other.value_) : nullptr;
    return *this;
  }
  Box& operator=(Box&&) noexcept = default;
  ~Box() = default;

  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  T* get() { return value_.get(); }
  const T* get() const { return value_.get(); }

  template <typename... Args>
  T& emplace(Args&&... args) {
    value_ = std::make_unique<T>(T{std::forward<Args>(args)...});
    return *value_;
  }
  void reset() { value_.reset(); }

  friend bool operator==(const Box& a, const Box& b) {
    return a.has_value() == b.has_value() && (!a.has_value() || *a == *b);
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace dray::api
