// SPDX-License-Identifier: Apache-2.0
#include "inventory/slices.h"

#include <algorithm>
#include <utility>

#include "inventory/pool_counters.h"

namespace dray::inventory {

void Slices::Add(const Summary& part, Summary& whole) {
  whole.counters |= part.counters;
  if (whole.newest == 0 || part.newest_generation > whole.newest_generation) {
    whole.newest_generation = part.newest_generation;
    whole.newest = part.newest;
  } else if (part.newest_generation == whole.newest_generation) {
    whole.newest += part.newest;
  }
}

std::shared_ptr<const Slices::Leaf> Slices::MakeLeaf(std::vector<Entry> entries) {
  auto leaf = std::make_shared<Leaf>();
  for (const Entry& entry : entries) {
    const SliceTable& slice = *entry.slice;
    Add({.newest_generation = slice.generation(),
         .newest = 1,
         .counters = slice.has_shared_counters() || slice.has_consumption()},
        leaf->summary);
  }
  leaf->entries = std::move(entries);
  return leaf;
}

std::size_t Slices::LeafOf(std::uint64_t arrival) const {
  const auto it = std::ranges::lower_bound(
      leaves_, arrival, {},
      [](const std::shared_ptr<const Leaf>& leaf) { return leaf->entries.back().arrival; });
  return static_cast<std::size_t>(it - leaves_.begin());
}

void Slices::Summarize() {
  summary_ = {};
  size_ = 0;
  for (const auto& leaf : leaves_) {
    Add(leaf->summary, summary_);
    size_ += leaf->entries.size();
  }
}

Slices Slices::With(std::uint64_t arrival, value_type slice) const {
  Slices next = *this;
  if (leaves_.empty()) {
    next.leaves_.push_back(MakeLeaf({{arrival, std::move(slice)}}));
    next.Summarize();
    return next;
  }
  const std::size_t at = std::min(LeafOf(arrival), leaves_.size() - 1);
  const std::vector<Entry>& old = leaves_[at]->entries;
  std::vector<Entry> entries;
  entries.reserve(old.size() + 1);
  entries = old;
  const auto place = std::ranges::lower_bound(entries, arrival, {}, &Entry::arrival);
  if (place != entries.end() && place->arrival == arrival) {
    place->slice = std::move(slice);
  } else {
    entries.insert(place, {arrival, std::move(slice)});
  }
  if (entries.size() > kLeafSize) {
    // Most come at the end, so a full leaf stays full there and the next one starts empty.
    const std::size_t keep = at + 1 == leaves_.size() ? kLeafSize : entries.size() / 2;
    const auto middle = entries.begin() + static_cast<std::ptrdiff_t>(keep);
    std::vector<Entry> behind(std::make_move_iterator(middle),
                              std::make_move_iterator(entries.end()));
    entries.erase(middle, entries.end());
    next.leaves_.insert(next.leaves_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                        MakeLeaf(std::move(behind)));
  }
  next.leaves_[at] = MakeLeaf(std::move(entries));
  next.Summarize();
  return next;
}

Slices Slices::Without(std::uint64_t arrival) const {
  const std::size_t at = LeafOf(arrival);
  if (at == leaves_.size()) return *this;
  std::vector<Entry> entries = leaves_[at]->entries;
  const auto place = std::ranges::lower_bound(entries, arrival, {}, &Entry::arrival);
  if (place->arrival != arrival) return *this;
  entries.erase(place);
  Slices next = *this;
  const auto leaf = next.leaves_.begin() + static_cast<std::ptrdiff_t>(at);
  // Leaves that have become small join, so that a list that shrinks has few again.
  if (at + 1 < leaves_.size() && entries.size() + leaf[1]->entries.size() <= kLeafSize / 2) {
    entries.insert(entries.end(), leaf[1]->entries.begin(), leaf[1]->entries.end());
    next.leaves_.erase(leaf + 1);
  }
  if (entries.empty()) {
    next.leaves_.erase(next.leaves_.begin() + static_cast<std::ptrdiff_t>(at));
  } else {
    next.leaves_[at] = MakeLeaf(std::move(entries));
  }
  next.Summarize();
  return next;
}

Slices::Made& Slices::Made::operator=(std::nullptr_t) {
  delete counters.exchange(nullptr, std::memory_order_acq_rel);
  return *this;
}

// Two threads may make it at the same time; one of them was for nothing.
const PoolCounters& Slices::counters(const Dictionary& dictionary) const {
  const PoolCounters* known = made_.counters.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  auto made = std::make_unique<const PoolCounters>(*this, dictionary);
  if (made_.counters.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *known;
}

std::size_t Slices::MemoryBytes() const {
  std::size_t bytes = sizeof(*this) + leaves_.capacity() * sizeof(Leaves::value_type);
  if (const PoolCounters* made = made_.counters.load(std::memory_order_acquire); made != nullptr) {
    bytes += made->MemoryBytes();
  }
  for (const auto& leaf : leaves_) {
    bytes += sizeof(*leaf) + leaf->entries.capacity() * sizeof(Entry);
  }
  return bytes;
}

}  // namespace dray::inventory
