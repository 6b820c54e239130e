// SPDX-License-Identifier: Apache-2.0
//
// Path: where a validator is, kept on the stack. Valid objects are the rule and their paths are
// never read, so that a path only becomes a base::FieldPath when there is a fault to report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/field_path.h"

namespace dray::api::internal {

// Points at its parent, which must outlive it: a child of a temporary does not compile. The texts
// are borrowed too. One thread.
class Path {
 public:
  explicit Path(std::string_view field) : Path(nullptr, Kind::kField, field, 0) {}

  Path Child(std::string_view field) const& { return {this, Kind::kField, field, 0}; }
  Path Index(std::size_t index) const& { return {this, Kind::kIndex, {}, index}; }
  Path Key(std::string_view key) const& { return {this, Kind::kKey, key, 0}; }
  Path Child(std::string_view) const&& = delete;
  Path Index(std::size_t) const&& = delete;
  Path Key(std::string_view) const&& = delete;

  base::FieldPath ToFieldPath() const {
    const base::FieldPath before = parent_ == nullptr ? base::FieldPath() : parent_->ToFieldPath();
    switch (kind_) {
      case Kind::kField:
        return before.Child(text_);
      case Kind::kIndex:
        return before.Index(index_);
      case Kind::kKey:
        return before.Key(text_);
    }
    return before;
  }

 private:
  enum class Kind : std::uint8_t { kField, kIndex, kKey };
  Path(const Path* parent, Kind kind, std::string_view text, std::size_t index)
      : parent_(parent), text_(text), index_(index), kind_(kind) {}

  const Path* parent_;
  std::string_view text_;
  std::size_t index_;
  Kind kind_;
};

}  // namespace dray::api::internal
