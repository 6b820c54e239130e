// SPDX-License-Identifier: Apache-2.0
//
// Tournament: the best of many scores, when a few change at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace dray::scheduler {

// Places 0 to n-1, each with a score or none. The best is the highest score, of equal ones the
// first place. One thread.
class Tournament {
 public:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

  // n places without scores.
  void Reset(std::size_t n) {
    leaves_ = 1;
    while (leaves_ < n) leaves_ *= 2;
    scores_.assign(2 * leaves_, kNone);
  }
  // Without bringing the rounds up to date: Build must follow.
  void Put(std::size_t place, std::int64_t score) { scores_[leaves_ + place] = score; }
  void Build() {
    for (std::size_t at = leaves_ - 1; at > 0; --at) Play(at);
  }
  void Set(std::size_t place, std::int64_t score) {
    std::size_t at = leaves_ + place;
    scores_[at] = score;
    for (at /= 2; at > 0; at /= 2) {
      const std::int64_t before = scores_[at];
      Play(at);
      if (scores_[at] == before) return;
    }
  }
  std::int64_t At(std::size_t place) const { return scores_[leaves_ + place]; }

  std::optional<std::size_t> Best() const {
    if (leaves_ == 0 || scores_[1] == kNone) return std::nullopt;
    std::size_t at = 1;
    while (at < leaves_) at = scores_[2 * at] == scores_[at] ? 2 * at : 2 * at + 1;
    return at - leaves_;
  }

 private:
  void Play(std::size_t at) {
    scores_[at] = scores_[2 * at] >= scores_[2 * at + 1] ? scores_[2 * at] : scores_[2 * at + 1];
  }

  std::size_t leaves_ = 0;
  std::vector<std::int64_t> scores_;  // a heap-ordered tree, root at 1
};

}  // namespace dray::scheduler
