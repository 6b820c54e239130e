// SPDX-License-Identifier: Apache-2.0
//
// Strings: texts by number, each once.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "base/string_map.h"

namespace dray::fleet {

// 0 is the empty text. Numbers are given once and never taken back. Thread-compatible.
class Strings {
 public:
  Strings() { Of(""); }
  std::uint32_t Of(std::string_view text) {
    if (const auto it = numbers_.find(text); it != numbers_.end()) return it->second;
    const auto number = static_cast<std::uint32_t>(texts_.size());
    bytes_ += text.size();
    texts_.emplace_back(text);
    numbers_.emplace(texts_.back(), number);
    return number;
  }
  const std::string& At(std::uint32_t number) const { return texts_[number]; }
  std::size_t size() const { return texts_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::deque<std::string> texts_;
  base::StringMap<std::uint32_t> numbers_;
  std::size_t bytes_ = 0;
};

}  // namespace dray::fleet
