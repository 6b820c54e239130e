// SPDX-License-Identifier: Apache-2.0
//
// The time zones that this machine knows, for cron jobs.
#pragma once

#include "controllers/cron_job_controller.h"

namespace dray::plane::internal {

// By their names; without one, the machine's own.
controllers::TimeZones MachineTimeZones();

}  // namespace dray::plane::internal
