// SPDX-License-Identifier: Apache-2.0
//
// FieldsText: where a reader of fieldsV1 is in its text. It has objects and strings and nothing else.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"
#include "fmt/format.h"

namespace dray::rest::internal {

// One thread.
class FieldsText {
 public:
  explicit FieldsText(std::string_view text) : text_(text) {}

 protected:
  bool Take(char c) {
    Space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool AtEnd() {
    Space();
    return at_ == text_.size();
  }
  // A string as it stands there, and how many backslashes that escape something are in it.
  Status Raw(std::string_view& raw, std::size_t& escapes) {
    if (!Take('"')) return Wrong("\"");
    const std::size_t start = at_;
    escapes = 0;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') {
        ++escapes;
        ++at_;
      }
      ++at_;
    }
    if (at_ >= text_.size()) return Wrong("\"");
    raw = text_.substr(start, at_ - start);
    ++at_;
    return {};
  }
  Status Wrong(std::string_view wanted) const {
    return base::InvalidArgument(
        fmt::format("fieldsV1: {} was expected at byte {} of {}", wanted, at_, text_.size()));
  }

 private:
  void Space() {
    while (at_ < text_.size() && static_cast<unsigned char>(text_[at_]) <= ' ') ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace dray::rest::internal
