// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/taints.h"

#include <algorithm>

#include "api/resource_slice.h"
#include "api/taints.h"

namespace dray::scheduler {

bool Tolerates(std::span<const api::Toleration> tolerations, const api::Taint& taint) {
  return std::ranges::any_of(tolerations, [&](const auto& t) { return api::Tolerates(t, taint); });
}

const api::Taint* FindUntolerated(std::span<const api::Taint> taints,
                                  std::span<const api::Toleration> tolerations) {
  for (const api::Taint& taint : taints) {
    if (taint.effect != api::kTaintEffectNoSchedule && taint.effect != api::kTaintEffectNoExecute) {
      continue;
    }
    if (!Tolerates(tolerations, taint)) return &taint;
  }
  return nullptr;
}

}  // namespace dray::scheduler
