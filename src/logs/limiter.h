// SPDX-License-Identifier: Apache-2.0
//
// Limiter: how often the same thing is worth telling. The first ones at once, then one now and
// then, which says how many were left out.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/string_map.h"

namespace dray::logs {

struct LimiterOptions {
  std::uint32_t burst = 10;                                 // at once
  std::chrono::nanoseconds every{std::chrono::seconds(1)};  // one more
  // Names that are remembered. They are constants of the program, so that there are few; should it
  // be otherwise, the names beyond share one place.
  std::size_t names = 1024;
};

// One thread.
class Limiter {
 public:
  explicit Limiter(LimiterOptions options = {}) : options_(options) {}

  // Whether to tell it; if so, how many of its kind were not since the last time. `now` never goes
  // back.
  std::optional<std::uint64_t> Allow(std::string_view name, std::chrono::nanoseconds now);

 private:
  struct Bucket {
    std::uint32_t left = 0;
    std::chrono::nanoseconds filled{0};  // until then `left` was counted
    std::uint64_t suppressed = 0;
  };
  Bucket& BucketOf(std::string_view name, std::chrono::nanoseconds now);

  const LimiterOptions options_;
  base::StringMap<Bucket> buckets_;
};

}  // namespace dray::logs
