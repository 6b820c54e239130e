// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/internal/report.h"
#include "api/priority_class.h"

namespace dray::api::internal {

// No old one: creation.
void ValidatePriorityClass(Report& report, const PriorityClass& row, const PriorityClass* old);

}  // namespace dray::api::internal
