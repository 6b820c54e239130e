// SPDX-License-Identifier: Apache-2.0
#include "logs/limiter.h"

#include <algorithm>
#include <utility>

namespace dray::logs {

Limiter::Bucket& Limiter::BucketOf(std::string_view name, std::chrono::nanoseconds now) {
  auto it = buckets_.find(name);
  if (it == buckets_.end() && buckets_.size() >= options_.names) it = buckets_.find("");
  if (it != buckets_.end()) return it->second;
  const std::string key(buckets_.size() + 1 >= options_.names ? std::string_view() : name);
  return buckets_.emplace(key, Bucket{.left = options_.burst, .filled = now}).first->second;
}

std::optional<std::uint64_t> Limiter::Allow(std::string_view name, std::chrono::nanoseconds now) {
  Bucket& bucket = BucketOf(name, now);
  const std::int64_t more =
      options_.every.count() <= 0 ? options_.burst : (now - bucket.filled) / options_.every;
  if (more >= static_cast<std::int64_t>(options_.burst - bucket.left)) {
    bucket.left = options_.burst;
    bucket.filled = now;
  } else if (more > 0) {
    bucket.left += static_cast<std::uint32_t>(more);
    bucket.filled += more * options_.every;
  }
  if (bucket.left == 0) {
    ++bucket.suppressed;
    return std::nullopt;
  }
  --bucket.left;
  return std::exchange(bucket.suppressed, 0);
}

}  // namespace dray::logs
