// SPDX-License-Identifier: Apache-2.0
//
// Whether a taint of a device is tolerated.
//
// Spec: KEP-5055 "DeviceToleration".
#pragma once

#include "api/resource_claim.h"
#include "api/resource_slice.h"

namespace dray::api {

// An empty effect or key of the toleration stands for any.
inline bool Tolerates(const DeviceToleration& toleration, const DeviceTaint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operator_ == kTolerationOpExists) return true;
  return (toleration.operator_.empty() || toleration.operator_ == kTolerationOpEqual) &&
         toleration.value == taint.value;
}

}  // namespace dray::api
