// SPDX-License-Identifier: Apache-2.0
//
// FieldView: a value with its type, to look into an object by the names of its fields. For code that
// treats kinds alike, and for kinds that have no C++ struct; everybody else uses members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/field_table.h"
#include "api/kinds.h"

namespace dray::api {

// Of an object that lives longer. A view of nothing answers as an empty value does, so that
// view["spec"]["ports"] needs no question in between. Thread-compatible.
class FieldView {
 public:
  FieldView() = default;
  FieldView(const TypeInfo& type, const void* value);
  static FieldView Of(const Object& object) { return {*object.kind().hub, object.data()}; }

  // The field of a struct or the value of a map; nothing when there is none.
  FieldView operator[](std::string_view name) const;
  // "spec.type"
  FieldView At(std::string_view path) const;

  // Whether it is there: an optional that is set, or any other field that is not empty.
  bool set() const { return value_ != nullptr && (was_optional_ || !IsEmptyValue(*type_, value_)); }
  Shape shape() const { return type_ == nullptr ? Shape::kRaw : type_->shape; }
  const TypeInfo* type() const { return type_; }
  const void* value() const { return value_; }

  // Of a list or a map.
  std::size_t size() const;
  FieldView item(std::size_t i) const;
  std::string_view key(std::size_t i) const;

  std::string_view text() const;               // of a string; else empty
  std::optional<std::int64_t> number() const;  // of an integer, also one that may be a text
  bool flag() const;                           // of a boolean
  std::string Shown() const;                   // any scalar as a text
  template <typename T>
  const T* As() const {
    return type_ == &TypeInfoOf<T>() ? static_cast<const T*>(value_) : nullptr;
  }

 private:
  const TypeInfo* type_ = nullptr;  // without optionals
  const void* value_ = nullptr;
  bool was_optional_ = false;
};

}  // namespace dray::api
