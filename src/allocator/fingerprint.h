// SPDX-License-Identifier: Apache-2.0
//
// Fingerprint: 128 bits that stand for a description. What failed under a description is looked up
// by these bits, so a collision would be a wrong refusal; at XXH3's quality a search that remembers
// a million states meets one with a probability below 2^-88.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "allocator/attempt.h"

namespace dray::allocator {

struct Fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Fingerprint& f) {
    return H::combine(std::move(h), f.high, f.low);
  }
};

// A description on its way to a fingerprint: words in order. Reused. One thread.
class Description {
 public:
  void Clear() { words_.clear(); }
  void Add(std::uint64_t word) { words_.push_back(word); }
  void Add(const Amount& amount) {
    Add(absl::Int128Low64(amount));
    Add(static_cast<std::uint64_t>(absl::Int128High64(amount)));
  }
  void Add(const Fingerprint& other) {
    Add(other.high);
    Add(other.low);
  }
  std::size_t size() const { return words_.size(); }
  Fingerprint Hash() const;

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace dray::allocator
