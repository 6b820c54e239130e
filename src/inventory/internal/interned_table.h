// SPDX-License-Identifier: Apache-2.0
//
// Rows by number and numbers by content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/append_store.h"

namespace dray::inventory::internal {

// Which numbers of a table are in use, found by those who keep them.
class Marked {
 public:
  explicit Marked(std::size_t size) : bits_(size) {}
  // Whether it was not marked yet.
  bool Set(std::size_t id) {
    if (bits_[id]) return false;
    return bits_[id] = true;
  }
  bool Has(std::size_t id) const { return bits_[id]; }

 private:
  std::vector<bool> bits_;
};

// The numbers of an array whose rows can be given back: the smallest free one is taken first, so
// that an array that was large once is filled from its beginning.
class Numbers {
 public:
  template <typename Rows, typename Row>
  std::uint32_t Take(Rows& rows, Row row) {
    if (free_.empty()) return rows.Append(std::move(row));
    const std::uint32_t id = free_.back();
    free_.pop_back();
    rows.Mutable(id) = std::move(row);
    return id;
  }
  std::size_t free() const { return free_.size(); }

  // `gone(id)` is told of each, and then its row becomes an empty one.
  template <typename Rows, typename F>
  void Sweep(Rows& rows, const Marked& live, std::uint32_t keep, F gone) {
    std::vector<std::uint32_t> free;
    auto known = free_.begin();
    for (auto id = static_cast<std::uint32_t>(rows.size()); id-- > keep;) {
      if (known != free_.end() && *known == id) {
        ++known;
      } else if (live.Has(id)) {
        continue;
      } else {
        gone(id);
        rows.Mutable(id) = std::remove_reference_t<decltype(rows.Mutable(id))>{};
      }
      free.push_back(id);
    }
    free_ = std::move(free);
  }
  template <typename Rows, typename F>
  void ForEach(Rows& rows, F f) {
    auto next = free_.rbegin();
    for (std::uint32_t id = 0; id < rows.size(); ++id) {
      if (next != free_.rend() && *next == id) {
        ++next;
      } else {
        f(rows.Mutable(id));
      }
    }
  }
  std::size_t MemoryBytes() const { return free_.capacity() * sizeof(std::uint32_t); }

 private:
  std::vector<std::uint32_t> free_;  // the largest first
};

// The index holds numbers only, and looks at the rows to hash and compare: five bytes a slot.
// Traits: Row, Key, static std::size_t Hash(const Row&), Hash(const Key&), bool Same(const Row&,
// const Key&), where a key with which a row was added hashes as the row does. One thread adds;
// operator[] is for any thread, see AppendArray.
template <typename Traits>
class InternedTable {
 public:
  using Row = typename Traits::Row;
  using Key = typename Traits::Key;

  InternedTable() : index_(0, Hash{&rows_}, Same{&rows_}) {}
  // With number 0 taken by a row that is not found by content.
  explicit InternedTable(Row none) : InternedTable() { rows_.Append(std::move(none)); }

  const Row& operator[](std::uint32_t id) const { return rows_[id]; }
  Row& Mutable(std::uint32_t id) { return rows_.Mutable(id); }
  std::size_t size() const { return rows_.size(); }

  std::optional<std::uint32_t> Find(const Key& key) const {
    const auto found = index_.find(key);
    if (found == index_.end()) return std::nullopt;
    return *found;
  }
  // `row` is not there yet.
  std::uint32_t Add(Row row) {
    const std::uint32_t id = numbers_.Take(rows_, std::move(row));
    index_.insert(id);
    return id;
  }
  // How many rows there are, those that were given back not counted.
  std::size_t live() const { return rows_.size() - numbers_.free(); }

  // Gives back every row but the first `keep` that `live` does not have; `gone(row)` is told
  // before. Nobody reads meanwhile.
  template <typename F>
  void Sweep(const Marked& live, std::uint32_t keep, F gone) {
    numbers_.Sweep(rows_, live, keep, [&](std::uint32_t id) {
      index_.erase(id);
      gone(rows_[id]);
    });
  }
  // Of the rows that there are, in order of their numbers.
  template <typename F>
  void ForEach(F f) {
    numbers_.ForEach(rows_, f);
  }

  std::size_t MemoryBytes() const {
    return rows_.MemoryBytes() + numbers_.MemoryBytes() +
           index_.capacity() * (sizeof(std::uint32_t) + 1);
  }

 private:
  using Rows = base::AppendArray<Row>;
  struct Hash {
    using is_transparent = void;
    const Rows* rows;
    std::size_t operator()(std::uint32_t id) const { return Traits::Hash((*rows)[id]); }
    std::size_t operator()(const Key& key) const { return Traits::Hash(key); }
  };
  struct Same {
    using is_transparent = void;
    const Rows* rows;
    bool operator()(std::uint32_t a, std::uint32_t b) const { return a == b; }
    bool operator()(std::uint32_t id, const Key& key) const {
      return Traits::Same((*rows)[id], key);
    }
    bool operator()(const Key& key, std::uint32_t id) const {
      return Traits::Same((*rows)[id], key);
    }
  };

  Rows rows_;
  Numbers numbers_;
  absl::flat_hash_set<std::uint32_t, Hash, Same> index_;
};

}  // namespace dray::inventory::internal
