// SPDX-License-Identifier: Apache-2.0
#include "packing/history.h"

#include <algorithm>
#include <cmath>

namespace dray::packing {

std::uint32_t History::Put(const Request& request) {
  if (const auto known = places_.find(request); known != places_.end()) return known->second;
  ++version_;
  std::uint32_t place = 0;
  if (entries_.size() < options_.capacity) {
    place = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back({.request = request, .version = 1});
  } else {
    const auto rarest = std::ranges::min_element(entries_, {}, &Entry::seen);
    place = static_cast<std::uint32_t>(rarest - entries_.begin());
    total_ -= rarest->seen;
    if (const auto old = places_.find(rarest->request);
        old != places_.end() && old->second == place) {
      places_.erase(old);
    }
    *rarest = {.request = request, .version = rarest->version + 1};
  }
  places_.emplace(request, place);
  return place;
}

std::uint32_t History::Learn(const Request& request, double times) {
  const std::uint32_t place = Put(request);
  unit_ *= std::exp2(times / options_.half_life);
  entries_[place].seen += times * unit_;
  total_ += times * unit_;
  // Long before numbers become too large.
  constexpr double kLarge = 1e100;
  if (unit_ > kLarge) {
    for (Entry& entry : entries_) entry.seen /= unit_;
    total_ /= unit_;
    unit_ = 1;
  }
  return place;
}

std::uint32_t History::Find(const Request& request) { return Put(request); }

void History::Replace(std::uint32_t place, const Request& request) {
  Entry& entry = entries_[place];
  if (entry.request == request) return;
  if (const auto old = places_.find(entry.request); old != places_.end() && old->second == place) {
    places_.erase(old);
  }
  entry.request = request;
  ++entry.version;
  ++version_;
  places_.insert_or_assign(request, place);
}

void History::Forget() {
  entries_.clear();
  places_.clear();
  total_ = 0;
  unit_ = 1;
  ++version_;
}

}  // namespace dray::packing
