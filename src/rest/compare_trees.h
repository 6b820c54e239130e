// SPDX-License-Identifier: Apache-2.0
//
// As compare.h, of trees: for objects whose fields no struct has.
#pragma once

#include "api/field_table.h"
#include "rest/compare.h"
#include "rest/tree.h"

namespace dray::rest {

// Managed fields aside.
Comparison CompareTrees(const api::TypeInfo& type, const DocumentNode& before,
                        const DocumentNode& after);

}  // namespace dray::rest
