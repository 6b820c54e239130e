// SPDX-License-Identifier: Apache-2.0
#include "api/pod_conditions.h"

#include <algorithm>
#include <utility>

namespace dray::api {

void SetCondition(PodStatus& status, PodCondition condition) {
  const auto at = std::ranges::find(status.conditions, condition.type, &PodCondition::type);
  if (at == status.conditions.end()) {
    status.conditions.push_back(std::move(condition));
    return;
  }
  if (at->status == condition.status) condition.last_transition_time = at->last_transition_time;
  *at = std::move(condition);
}

}  // namespace dray::api
