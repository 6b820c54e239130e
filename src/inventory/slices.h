// SPDX-License-Identifier: Apache-2.0
//
// Slices: a list of slices whose versions share what they have in common. Most lists have one
// slice (a node's, its pool's), but a pool may span the cluster, and then a change of one slice
// must not cost a walk over all of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "inventory/slice_table.h"

namespace dray::inventory {

class PoolCounters;

// In the order in which the slices first came. Immutable; a change makes another list. Thread-safe.
class Slices {
 public:
  using value_type = std::shared_ptr<const SliceTable>;

  // What a pool's completeness depends on, known without looking at each slice.
  struct Summary {
    std::int64_t newest_generation = 0;
    std::size_t newest = 0;  // slices of that generation
    bool counters = false;   // some slice shares or consumes counters
  };

 private:
  struct Entry {
    std::uint64_t arrival = 0;
    value_type slice;
  };
  struct Leaf {
    std::vector<Entry> entries;  // by arrival, never empty
    Summary summary;
  };
  using Leaves = std::vector<std::shared_ptr<const Leaf>>;

 public:
  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Slices::value_type;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type*;
    using reference = const value_type&;

    const_iterator() = default;
    reference operator*() const { return (*leaf_)->entries[entry_].slice; }
    pointer operator->() const { return &**this; }
    const_iterator& operator++() {
      if (++entry_ == (*leaf_)->entries.size()) {
        ++leaf_;
        entry_ = 0;
      }
      return *this;
    }
    const_iterator operator++(int) {
      const_iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const const_iterator&, const const_iterator&) = default;

   private:
    friend class Slices;
    explicit const_iterator(Leaves::const_iterator leaf) : leaf_(leaf) {}
    Leaves::const_iterator leaf_;
    std::size_t entry_ = 0;
  };

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const_iterator begin() const { return const_iterator(leaves_.begin()); }
  const_iterator end() const { return const_iterator(leaves_.end()); }
  const value_type& front() const { return *begin(); }
  const Summary& summary() const { return summary_; }
  // Of the slices of a pool that spans nodes: made when somebody asks for the first time, and kept
  // with this list.
  const PoolCounters& counters(const Dictionary& dictionary) const;

  // With `slice` at its place, instead of the one that arrived at that moment if there is one.
  Slices With(std::uint64_t arrival, value_type slice) const;
  // Without the one that arrived at that moment.
  Slices Without(std::uint64_t arrival) const;

  std::size_t MemoryBytes() const;

 private:
  // Large enough that a list of a hundred thousand has few leaves, small enough to be copied.
  static constexpr std::size_t kLeafSize = 128;

  static std::shared_ptr<const Leaf> MakeLeaf(std::vector<Entry> entries);
  static void Add(const Summary& part, Summary& whole);
  // Of the leaf in which the arrival is or belongs.
  std::size_t LeafOf(std::uint64_t arrival) const;
  void Summarize();

  // What is made of a list, at most once. Another list, a copy too, begins without.
  class Made {
   public:
    Made() = default;
    Made(const Made&) {}
    Made& operator=(const Made&) { return *this = nullptr; }
    Made& operator=(std::nullptr_t);
    ~Made() { *this = nullptr; }
    std::atomic<const PoolCounters*> counters = nullptr;
  };

  Leaves leaves_;
  std::size_t size_ = 0;
  Summary summary_;
  mutable Made made_;
};

}  // namespace dray::inventory
