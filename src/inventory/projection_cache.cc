// SPDX-License-Identifier: Apache-2.0
#include "inventory/internal/projection_cache.h"

#include <utility>

namespace dray::inventory::internal {

std::size_t ProjectionCache::Hash(std::span<const std::uint32_t> key) {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  for (const std::uint32_t number : key) {
    hash = (hash ^ number) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

std::optional<std::uint32_t> ProjectionCache::Find(std::span<const std::uint32_t> key) const {
  const Table* table = table_.load(std::memory_order_acquire);
  if (table == nullptr) return std::nullopt;
  const Word* slot = SlotOf(*table, key);
  const std::uint32_t version = slot[kVersion].load(std::memory_order_acquire);
  if (version == 0 || (version & 1) != 0) return std::nullopt;
  for (std::size_t i = 0; i < width_; ++i) {
    if (slot[kKey + i].load(std::memory_order_acquire) != key[i]) return std::nullopt;
  }
  const std::uint32_t result = slot[kResult].load(std::memory_order_acquire);
  if (slot[kVersion].load(std::memory_order_relaxed) != version) return std::nullopt;
  return result;
}

void ProjectionCache::Put(std::span<const std::uint32_t> key, std::uint32_t result) {
  Table* table = table_.load(std::memory_order_acquire);
  if (table == nullptr) {
    Grow(nullptr);
    table = table_.load(std::memory_order_acquire);
  }
  Word* slot = SlotOf(*table, key);
  std::uint32_t version = slot[kVersion].load(std::memory_order_relaxed);
  // Somebody else is writing here: then this result is not remembered.
  if ((version & 1) != 0 ||
      !slot[kVersion].compare_exchange_strong(version, version + 1, std::memory_order_acq_rel)) {
    return;
  }
  for (std::size_t i = 0; i < width_; ++i) {
    slot[kKey + i].store(key[i], std::memory_order_release);
  }
  slot[kResult].store(result, std::memory_order_release);
  // 0 says that nothing was ever written.
  const std::uint32_t next = version + 2 == 0 ? 2 : version + 2;
  slot[kVersion].store(next, std::memory_order_release);

  const std::size_t slots = table->mask + 1;
  if (version != 0 && slots < kMaxSlots &&
      table->taken_over.fetch_add(1, std::memory_order_relaxed) >= slots / 2) {
    Grow(table);
  }
}

void ProjectionCache::Grow(Table* from) {
  const base::MutexLock lock(growing_);
  if (table_.load(std::memory_order_relaxed) != from) return;  // somebody was faster
  // What is remembered is not carried over: it comes back by itself.
  std::size_t slots = from == nullptr ? kFirstSlots : (from->mask + 1) * 4;
  if (slots > kMaxSlots) slots = kMaxSlots;
  if (from != nullptr && bytes_ != nullptr) {
    const std::size_t more = BytesOf(slots);
    if (bytes_->fetch_add(more, std::memory_order_relaxed) + more > kMostBytes) {
      bytes_->fetch_sub(more, std::memory_order_relaxed);
      from->taken_over.store(0, std::memory_order_relaxed);  // later, perhaps
      return;
    }
    counted_ += more;
  }
  tables_.push_back(std::make_unique<Table>(slots, width_));
  table_.store(tables_.back().get(), std::memory_order_release);
}

void ProjectionCache::Clear() {
  const base::MutexLock lock(growing_);
  table_.store(nullptr, std::memory_order_release);
  tables_.clear();
  if (counted_ > 0) bytes_->fetch_sub(std::exchange(counted_, 0), std::memory_order_relaxed);
}

std::size_t ProjectionCache::MemoryBytes() const {
  const base::MutexLock lock(growing_);
  std::size_t bytes = 0;
  for (const auto& table : tables_) bytes += sizeof(Table) + BytesOf(table->mask + 1);
  return bytes;
}

std::size_t ProjectionCache::SlotsForTest() const {
  const Table* table = table_.load(std::memory_order_acquire);
  return table == nullptr ? 0 : table->mask + 1;
}

}  // namespace dray::inventory::internal
