// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/normalize.h"

#include <algorithm>

#include "scheduler/framework.h"

namespace dray::scheduler {

void NormalizeToMax(std::span<std::int64_t> scores, bool reverse) {
  std::int64_t max = 0;
  for (const std::int64_t score : scores) max = std::max(max, score);
  for (std::int64_t& score : scores) {
    const std::int64_t share = max == 0 ? 0 : kMaxNodeScore * score / max;
    score = reverse ? kMaxNodeScore - share : share;
  }
}

}  // namespace dray::scheduler
