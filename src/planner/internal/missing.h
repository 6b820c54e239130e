// SPDX-License-Identifier: Apache-2.0
//
// What a pod names and what is not there: claims, templates, device classes, its scheduler.
#pragma once

#include "planner/cures.h"
#include "planner/internal/trial.h"

namespace dray::planner::internal {

// A name that was probably meant is tried: a cure when that is all that is wrong, a hint otherwise.
void FindMissing(Trial& trial, const api::Object& pod, Help& help);

}  // namespace dray::planner::internal
