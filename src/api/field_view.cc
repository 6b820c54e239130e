// SPDX-License-Identifier: Apache-2.0
#include "api/field_view.h"

#include <algorithm>
#include <variant>

namespace dray::api {

FieldView::FieldView(const TypeInfo& type, const void* value) : type_(&type), value_(value) {
  while (type_->shape == Shape::kOptional) {
    was_optional_ = true;
    if (value_ != nullptr) value_ = type_->get(value_);
    type_ = type_->element;
  }
}

FieldView FieldView::operator[](std::string_view name) const {
  if (value_ == nullptr) return {};
  if (type_->shape == Shape::kMap) {
    for (std::size_t i = 0; i < size(); ++i) {
      if (key(i) == name) return item(i);
    }
    return {};
  }
  if (type_->shape != Shape::kStruct) return {};
  const StructInfo& info = type_->fields();
  const int index = info.Find(name);
  if (index < 0) return {};
  const FieldInfo& field = info.fields[static_cast<std::size_t>(index)];
  const void* value = field.Get(value_);
  return value == nullptr ? FieldView() : FieldView(*field.type, value);
}

FieldView FieldView::At(std::string_view path) const {
  FieldView view = *this;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('.'), path.size());
    view = view[path.substr(0, end)];
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return view;
}

std::size_t FieldView::size() const {
  const bool items =
      value_ != nullptr && (type_->shape == Shape::kList || type_->shape == Shape::kMap);
  return items ? type_->size(value_) : 0;
}

FieldView FieldView::item(std::size_t i) const { return {*type_->element, type_->at(value_, i)}; }

std::string_view FieldView::key(std::size_t i) const { return type_->key_at(value_, i); }

std::string_view FieldView::text() const {
  if (value_ == nullptr) return {};
  if (type_->shape == Shape::kString) return *static_cast<const std::string*>(value_);
  if (type_->shape == Shape::kText) return *static_cast<const base::Text*>(value_);
  if (type_->shape == Shape::kIntOrString) {
    const auto* text = std::get_if<std::string>(&static_cast<const IntOrString*>(value_)->value);
    if (text != nullptr) return *text;
  }
  return {};
}

std::optional<std::int64_t> FieldView::number() const {
  if (value_ == nullptr) return std::nullopt;
  if (type_->shape == Shape::kInt32) return *static_cast<const std::int32_t*>(value_);
  if (type_->shape == Shape::kInt64) return *static_cast<const std::int64_t*>(value_);
  if (type_->shape == Shape::kIntOrString) {
    const auto* number = std::get_if<std::int32_t>(&static_cast<const IntOrString*>(value_)->value);
    if (number != nullptr) return *number;
  }
  return std::nullopt;
}

bool FieldView::flag() const {
  return value_ != nullptr && type_->shape == Shape::kBool && *static_cast<const bool*>(value_);
}

std::string FieldView::Shown() const {
  if (value_ == nullptr) return {};
  if (const auto integer = number()) return std::to_string(*integer);
  switch (type_->shape) {
    case Shape::kBool:
      return flag() ? "true" : "false";
    case Shape::kQuantity:
      return static_cast<const base::Quantity*>(value_)->ToString();
    case Shape::kTime:
      return static_cast<const base::Time*>(value_)->ToRfc3339();
    default:
      return std::string(text());
  }
}

}  // namespace dray::api
