// SPDX-License-Identifier: Apache-2.0
//
// Map<V>: texts to values, sorted by key, in one block of memory. API maps are small, are
// written sorted and are read far more often than changed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"

namespace dray::api {

// Invariant, but between AppendUnsorted() and Seal(): keys ascend strictly. Thread-compatible.
template <typename V>
class Map {
 public:
  using value_type = std::pair<base::Text, V>;
  using const_iterator = typename std::vector<value_type>::const_iterator;
  using iterator = typename std::vector<value_type>::iterator;

  Map() = default;
  Map(std::initializer_list<value_type> entries) : entries_(entries) { Seal(); }

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  iterator begin() { return entries_.begin(); }
  iterator end() { return entries_.end(); }

  // Null when there is no such key.
  const V* Find(std::string_view key) const {
    const auto it = LowerBound(key);
    return it != entries_.end() && it->first == key ? &it->second : nullptr;
  }
  V* Find(std::string_view key) { return const_cast<V*>(std::as_const(*this).Find(key)); }
  bool contains(std::string_view key) const { return Find(key) != nullptr; }

  // The value of `key`, made when missing.
  V& operator[](std::string_view key) {
    const auto at = entries_.begin() + (LowerBound(key) - entries_.cbegin());
    if (at != entries_.end() && at->first == key) return at->second;
    return entries_.emplace(at, base::Text(key), V{})->second;
  }
  bool erase(std::string_view key) {
    const auto it = LowerBound(key);
    if (it == entries_.end() || it->first != key) return false;
    entries_.erase(it);
    return true;
  }
  void clear() { entries_.clear(); }
  void reserve(std::size_t n) { entries_.reserve(n); }

  // For decoders: entries in any order, then one Seal() that restores the invariant. Of equal keys
  // the last one stays, as in Go; the answer says whether all keys were different.
  V& AppendUnsorted(base::Text&& key) {
    return entries_
        .emplace_back(std::piecewise_construct, std::forward_as_tuple(std::move(key)),
                      std::forward_as_tuple())
        .second;
  }
  bool Seal() {
    // What Go writes is sorted already; look before moving anything.
    bool ascending = true;
    for (std::size_t i = 1; i < entries_.size() && ascending; ++i) {
      ascending = entries_[i - 1].first < entries_[i].first;
    }
    if (ascending) return true;
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const value_type& a, const value_type& b) { return a.first < b.first; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (i + 1 < entries_.size() && entries_[i].first == entries_[i + 1].first) continue;
      if (kept != i) entries_[kept] = std::move(entries_[i]);
      ++kept;
    }
    const bool distinct = kept == entries_.size();
    entries_.resize(kept);
    return distinct;
  }
  const value_type& entry(std::size_t i) const { return entries_[i]; }

  friend bool operator==(const Map& a, const Map& b) { return a.entries_ == b.entries_; }

 private:
  const_iterator LowerBound(std::string_view key) const {
    return std::lower_bound(
        entries_.begin(), entries_.end(), key,
        [](const value_type& e, std::string_view k) { return e.first.view() < k; });
  }

  std::vector<value_type> entries_;
};

}  // namespace dray::api
