// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/internal/report.h"
#include "api/lease.h"
#include "api/node.h"

namespace dray::api::internal {

// No old one: creation. Of an update only what is new is told.
void ValidateNode(Report& report, const Node& node, const Node* old);
void ValidateLease(Report& report, const Lease& lease);

}  // namespace dray::api::internal
