// SPDX-License-Identifier: Apache-2.0
//
// Scores of any size brought to 0..100.
#pragma once

#include <cstdint>
#include <span>

namespace dray::scheduler {

// The highest becomes 100 and the others their share of it; `reverse`: 100 becomes 0. When all are
// zero they stay that (reversed: 100).
void NormalizeToMax(std::span<std::int64_t> scores, bool reverse);

}  // namespace dray::scheduler
