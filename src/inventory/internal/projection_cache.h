// SPDX-License-Identifier: Apache-2.0
//
// ProjectionCache: results by the few numbers they depend on. All threads of a scheduler ask for
// the same few keys, so a hit writes nothing that they share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"

namespace dray::inventory::internal {

// Forgets: a key has one place, and the next key of that place takes it over. The table grows while
// that happens often, up to a limit, so that memory is bounded and old keys make room for new ones.
// Thread-safe; nobody ever waits, except for the moment of growing.
class ProjectionCache {
 public:
  static constexpr std::size_t kFirstSlots = 64;
  static constexpr std::size_t kMaxSlots = 65536;

  // What all caches that share a count of their bytes may have. A cache does not grow beyond it;
  // its first table is free.
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  // Keys have `width` numbers. `bytes` outlives it and counts what grown tables take; null: nobody
  // counts.
  explicit ProjectionCache(std::size_t width, std::atomic<std::size_t>* bytes = nullptr)
      : width_(width), bytes_(bytes) {}
  ~ProjectionCache() { Clear(); }
  ProjectionCache(const ProjectionCache&) = delete;
  ProjectionCache& operator=(const ProjectionCache&) = delete;

  std::optional<std::uint32_t> Find(std::span<const std::uint32_t> key) const;
  void Put(std::span<const std::uint32_t> key, std::uint32_t result);
  // Forgets everything and gives the memory back. Nobody else uses it meanwhile.
  void Clear();
  std::size_t MemoryBytes() const;

  std::size_t SlotsForTest() const;

 private:
  // A slot is a row of words: version, result, key. An odd version: it is being written. A reader
  // that sees the same even version before and after has seen one entry. Every word is written
  // with release and read with acquire order: who sees a new word sees the odd version before it.
  using Word = std::atomic<std::uint32_t>;
  static constexpr std::size_t kVersion = 0;
  static constexpr std::size_t kResult = 1;
  static constexpr std::size_t kKey = 2;

  struct Table {
    Table(std::size_t slots, std::size_t width)
        : words(std::make_unique<Word[]>(slots * (kKey + width))), mask(slots - 1) {}
    std::unique_ptr<Word[]> words;
    std::size_t mask;
    std::atomic<std::uint32_t> taken_over = 0;
  };

  static std::size_t Hash(std::span<const std::uint32_t> key);
  Word* SlotOf(const Table& table, std::span<const std::uint32_t> key) const {
    return &table.words[(Hash(key) & table.mask) * (kKey + width_)];
  }
  void Grow(Table* from);
  std::size_t BytesOf(std::size_t slots) const { return slots * (kKey + width_) * sizeof(Word); }

  const std::size_t width_;
  std::atomic<std::size_t>* const bytes_;
  std::atomic<Table*> table_ = nullptr;
  mutable base::Mutex growing_;
  std::size_t counted_ ABSL_GUARDED_BY(growing_) = 0;  // of bytes_
  // Readers may still be in a smaller one. Together they are a third of the last.
  std::vector<std::unique_ptr<Table>> tables_ ABSL_GUARDED_BY(growing_);
};

}  // namespace dray::inventory::internal
