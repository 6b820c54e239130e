// SPDX-License-Identifier: Apache-2.0
//
// Whether a taint of a node or of a device is tolerated: one rule for both.
//
// Spec: core/v1 Toleration, KEP-5055 "DeviceToleration". Operators Exists and Equal; Kubernetes's
// alpha operators Lt and Gt tolerate nothing here.
#pragma once

#include <string_view>

#include "api/affinity.h"
#include "api/node.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"

namespace dray::api {

// An empty effect or key of the toleration stands for any.
template <typename Toleration, typename Taint>
bool ToleratesTaint(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operator_ == kTolerationOpExists) return true;
  return (toleration.operator_.empty() || toleration.operator_ == kTolerationOpEqual) &&
         toleration.value == taint.value;
}

inline bool Tolerates(const DeviceToleration& toleration, const DeviceTaint& taint) {
  return ToleratesTaint(toleration, taint);
}
inline bool Tolerates(const Toleration& toleration, const Taint& taint) {
  return ToleratesTaint(toleration, taint);
}

}  // namespace dray::api
