// SPDX-License-Identifier: Apache-2.0
//
// Which taints of a node a pod puts up with.
#pragma once

#include <span>

#include "api/affinity.h"
#include "api/node.h"

namespace dray::scheduler {

bool Tolerates(std::span<const api::Toleration> tolerations, const api::Taint& taint);

// The first taint that keeps the pod away (NoSchedule, NoExecute); null: none does.
const api::Taint* FindUntolerated(std::span<const api::Taint> taints,
                                  std::span<const api::Toleration> tolerations);

}  // namespace dray::scheduler
