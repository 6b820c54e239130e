// SPDX-License-Identifier: Apache-2.0
//
// Transport: can every group have as many different items as it needs, when each item serves only
// so many groups and each bucket of items only so many in all? A maximum flow, small and dense.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bit_set.h"

namespace dray::allocator {

// Groups need `need` different items out of `allowed`. Reused: Reset starts another question. One
// thread.
class Transport {
 public:
  static constexpr std::uint32_t kNoBucket = 0xffffffff;

  void Reset(std::size_t items, std::size_t buckets);
  void SetItem(std::size_t item, std::uint32_t supply, std::uint32_t bucket);
  void SetBucket(std::size_t bucket, std::uint32_t room) { room_[bucket] = room; }
  // `allowed` must stay until Feasible is through.
  void AddGroup(std::uint32_t need, const base::BitSet& allowed);

  // The groups can all have what they need.
  bool Feasible();
  // What the last question cost (work.h).
  std::uint64_t spent() const { return spent_; }

 private:
  struct Group {
    std::uint32_t need = 0;
    const base::BitSet* allowed = nullptr;
    base::BitSet has;
  };
  enum class Came : std::uint8_t { kNo, kFromGroup, kFromBucket };

  bool Give(std::uint32_t group);
  bool Augment(std::uint32_t group);
  void Apply(std::uint32_t item);
  bool Saturated(std::uint32_t item) const { return used_[item] >= supply_[item]; }
  bool BucketFull(std::uint32_t item) const {
    return bucket_[item] != kNoBucket && in_bucket_[bucket_[item]] >= room_[bucket_[item]];
  }

  std::size_t items_ = 0;
  std::uint64_t spent_ = 0;
  std::vector<Group> groups_;
  std::size_t group_count_ = 0;
  std::vector<std::uint32_t> supply_;
  std::vector<std::uint32_t> used_;
  std::vector<std::uint32_t> bucket_;
  std::vector<std::uint32_t> room_;
  std::vector<std::uint32_t> in_bucket_;

  // The search for a way to give one group one more item. An item is entered from a group that
  // would take it, or from its bucket, which would then have room.
  std::vector<Came> came_;
  std::vector<std::uint32_t> item_from_;    // group or bucket
  std::vector<std::uint32_t> group_from_;   // the item that a group would give up
  std::vector<std::uint32_t> bucket_from_;  // the item that needs room in it
  std::vector<std::uint32_t> queue_;
};

}  // namespace dray::allocator
