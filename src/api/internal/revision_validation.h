// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/daemon_set.h"
#include "api/internal/report.h"

namespace dray::api::internal {

// No old one: creation.
void ValidateRevision(Report& report, const ControllerRevision& revision,
                      const ControllerRevision* old);

}  // namespace dray::api::internal
