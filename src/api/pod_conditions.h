// SPDX-License-Identifier: Apache-2.0
//
// Conditions of a pod.
#pragma once

#include "api/pod.h"

namespace dray::api {

// Adds the condition or replaces the one of its type. The time of the last transition stays where
// the status does.
void SetCondition(PodStatus& status, PodCondition condition);

}  // namespace dray::api
