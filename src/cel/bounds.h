// SPDX-License-Identifier: Apache-2.0
//
// What one call may make or walk through; work.h is about all calls together. Kubernetes' costs are
// those of the outermost list or of the arguments, and are known after a call; a few functions can
// make of little so much that there is no afterwards. Nothing that a device has comes near.
#pragma once

#include <cstddef>

#include "cel/value.h"
#include "cel/values.h"
#include "cel/work.h"

namespace dray::cel {

inline constexpr std::size_t kMaxMadeBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxMadeValues = std::size_t{4} << 20;
// Pairs of elements that are compared with each other. Each costs one or more, so the limit on cost
// is passed long before.
inline constexpr std::size_t kMaxPairs = 20'000'000;
// Values inside of the elements of a list or map. Values may be shared: [a, a] of [b, b] of ... has
// no end.
inline constexpr std::size_t kMaxNested = 10'000;

inline constexpr Error kMemoryExceeded{"operation cancelled: memory limit exceeded"};
inline constexpr Error kWorkExceeded{"operation cancelled: work limit exceeded"};
inline Value TooLarge() { return StaticError(kMemoryExceeded); }

// Whether at most kMaxNested values are in the elements of a list or map. Spends what it looks at;
// not when there is no work left.
bool IsBounded(Work& work, const Value& value);

}  // namespace dray::cel
