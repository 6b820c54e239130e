// SPDX-License-Identifier: Apache-2.0
//
// Rows by number and numbers by content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "inventory/internal/append_store.h"

namespace dray::inventory::internal {

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
    const std::uint32_t id = rows_.Append(std::move(row));
    index_.insert(id);
    return id;
  }

  std::size_t MemoryBytes() const {
    return rows_.MemoryBytes() + index_.capacity() * (sizeof(std::uint32_t) + 1);
  }

 private:
  using Rows = AppendArray<Row>;
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
  absl::flat_hash_set<std::uint32_t, Hash, Same> index_;
};

}  // namespace dray::inventory::internal
