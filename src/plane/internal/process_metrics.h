// SPDX-License-Identifier: Apache-2.0
//
// What the operating system says about this process, under Prometheus's usual names.
#pragma once

#include "metrics/registry.h"

namespace dray::plane::internal {

// Registers process_cpu_seconds_total and its like. The registry must not be asked when it is gone.
void AddProcessMetrics(metrics::Registry& registry);

}  // namespace dray::plane::internal
