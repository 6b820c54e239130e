// SPDX-License-Identifier: Apache-2.0
//
// History: the requests that have been seen, each different one once, with its share. What was seen
// long ago counts less, and only so many are kept: the rarest makes room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "packing/shape.h"

namespace dray::packing {

struct HistoryOptions {
  std::size_t capacity = 512;
  // After so many requests one that was seen counts half.
  double half_life = 50'000;
};

// One thread.
class History {
 public:
  explicit History(HistoryOptions options = {}) : options_(options) {}

  struct Entry {
    Request request;
    double seen = 0;  // decayed; 0: nothing is here
    // Changes when another request takes the place.
    std::uint32_t version = 0;
  };

  // Counts it. Its place in entries(), for as long as the version there is the same.
  std::uint32_t Learn(const Request& request, double times = 1);
  // The same without counting; it has a place, and a share of nothing when it is new.
  std::uint32_t Find(const Request& request);
  // Changes what a place means (kinds have been split); its share stays.
  void Replace(std::uint32_t place, const Request& request);
  void Forget();

  std::span<const Entry> entries() const { return entries_; }
  // How often requests were counted, decayed.
  double total() const { return total_ / unit_; }
  double SeenOf(const Entry& entry) const { return entry.seen / unit_; }
  // Changes when the set of requests does.
  std::uint64_t version() const { return version_; }

 private:
  std::uint32_t Put(const Request& request);

  HistoryOptions options_;
  std::vector<Entry> entries_;
  absl::flat_hash_map<Request, std::uint32_t> places_;
  double total_ = 0;
  double unit_ = 1;  // what counting once adds; grows, so that older counts shrink beside it
  std::uint64_t version_ = 0;
};

}  // namespace dray::packing
