// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/taints.h"

#include <algorithm>

#include "api/resource_slice.h"

namespace dray::scheduler {

bool Tolerates(const api::Toleration& toleration, const api::Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operator_ == "Exists") return true;
  const bool equal = toleration.operator_.empty() || toleration.operator_ == "Equal";
  return equal && toleration.value == taint.value;
}

bool Tolerates(std::span<const api::Toleration> tolerations, const api::Taint& taint) {
  return std::ranges::any_of(tolerations, [&](const auto& t) { return Tolerates(t, taint); });
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
