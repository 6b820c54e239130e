// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cycle_data.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dray::scheduler {

void CandidateNodes::Restrict(std::vector<std::string> only) {
  std::ranges::sort(only);
  only.erase(std::unique(only.begin(), only.end()), only.end());
  if (restricted) {
    std::vector<std::string> both;
    std::ranges::set_intersection(names, only, std::back_inserter(both));
    names = std::move(both);
    return;
  }
  restricted = true;
  names = std::move(only);
}

}  // namespace dray::scheduler
