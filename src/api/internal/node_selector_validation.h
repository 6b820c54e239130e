// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/internal/path.h"
#include "api/internal/report.h"
#include "api/node_selector.h"

namespace dray::api::internal {

// At least one term; every requirement well-formed.
void ValidateNodeSelector(Report& report, const Path& at, const NodeSelector& selector);

void ValidateNodeSelectorTerm(Report& report, const Path& at, const NodeSelectorTerm& term);

}  // namespace dray::api::internal
