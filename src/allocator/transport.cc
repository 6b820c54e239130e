// SPDX-License-Identifier: Apache-2.0
#include "allocator/transport.h"

#include <algorithm>

#include "base/check.h"

namespace dray::allocator {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

}  // namespace

void Transport::Reset(std::size_t items, std::size_t buckets) {
  items_ = items;
  spent_ = items / 4 + buckets;
  group_count_ = 0;
  supply_.assign(items, 0);
  used_.assign(items, 0);
  bucket_.assign(items, kNoBucket);
  room_.assign(buckets, 0);
  in_bucket_.assign(buckets, 0);
}

void Transport::SetItem(std::size_t item, std::uint32_t supply, std::uint32_t bucket) {
  supply_[item] = supply;
  bucket_[item] = bucket;
}

void Transport::AddGroup(std::uint32_t need, const base::BitSet& allowed) {
  DRAY_DCHECK(allowed.size() == items_);
  if (group_count_ == groups_.size()) groups_.emplace_back();
  Group& group = groups_[group_count_++];
  group.need = need;
  group.allowed = &allowed;
  if (group.has.size() != items_) group.has = base::BitSet(items_);
  group.has.ResetAll();
}

bool Transport::Feasible() {
  for (std::uint32_t g = 0; g < group_count_; ++g) {
    for (std::uint32_t unit = 0; unit < groups_[g].need; ++unit) {
      if (!Give(g) && !Augment(g)) return false;
    }
  }
  return true;
}

// One more item without taking anything from anybody.
bool Transport::Give(std::uint32_t g) {
  Group& group = groups_[g];
  for (std::size_t i = group.allowed->First(); i != base::BitSet::kNone;
       i = group.allowed->Next(i)) {
    const auto item = static_cast<std::uint32_t>(i);
    ++spent_;
    if (group.has.Test(item) || Saturated(item) || BucketFull(item)) continue;
    group.has.Set(item);
    ++used_[item];
    if (bucket_[item] != kNoBucket) ++in_bucket_[bucket_[item]];
    return true;
  }
  return false;
}

bool Transport::Augment(std::uint32_t start) {
  spent_ += items_ / 4 + group_count_ + room_.size();
  came_.assign(items_, Came::kNo);
  item_from_.resize(items_);
  group_from_.assign(group_count_, kNone);
  bucket_from_.assign(room_.size(), kNone);
  std::vector<bool> group_seen(group_count_, false);
  group_seen[start] = true;
  queue_.clear();

  const auto enter = [&](std::uint32_t item, Came came, std::uint32_t from) {
    if (came_[item] != Came::kNo) return;
    came_[item] = came;
    item_from_[item] = from;
    queue_.push_back(item);
  };
  const auto enter_group = [&](std::uint32_t g) {
    const Group& group = groups_[g];
    spent_ += group.allowed->Count() + items_ / 64;
    group.allowed->ForEach([&](std::size_t item) {
      if (!group.has.Test(item)) enter(static_cast<std::uint32_t>(item), Came::kFromGroup, g);
    });
  };

  enter_group(start);
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    const std::uint32_t item = queue_[head];
    spent_ += 2 + group_count_;
    if (!Saturated(item)) {
      const std::uint32_t bucket = bucket_[item];
      if (!BucketFull(item)) {
        ++used_[item];
        if (bucket != kNoBucket) ++in_bucket_[bucket];
        Apply(item);
        return true;
      }
      if (bucket_from_[bucket] == kNone) {
        bucket_from_[bucket] = item;
        spent_ += items_;
        for (std::uint32_t other = 0; other < items_; ++other) {
          if (bucket_[other] == bucket && used_[other] > 0) enter(other, Came::kFromBucket, bucket);
        }
      }
    }
    for (std::uint32_t g = 0; g < group_count_; ++g) {
      if (group_seen[g] || !groups_[g].has.Test(item)) continue;
      group_seen[g] = true;
      group_from_[g] = item;
      enter_group(g);
    }
  }
  return false;
}

// Walks back from `item`, which has just got one more use.
void Transport::Apply(std::uint32_t item) {
  while (true) {
    if (came_[item] == Came::kFromBucket) {
      --used_[item];
      item = bucket_from_[item_from_[item]];
      ++used_[item];
      continue;
    }
    const std::uint32_t g = item_from_[item];
    groups_[g].has.Set(item);
    if (group_from_[g] == kNone) return;
    item = group_from_[g];
    groups_[g].has.Reset(item);
  }
}

}  // namespace dray::allocator
