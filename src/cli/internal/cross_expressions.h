// SPDX-License-Identifier: Apache-2.0
//
// Cross-checks that need the expression language: what expressions read and no given device has,
// and classes whose devices a node also has by a device plugin. Beside api/cross_check.h, whose
// room does not know expressions.
#pragma once

#include <span>
#include <vector>

#include "api/cross_check.h"
#include "api/kinds.h"

namespace dray::cli::internal {

// What is not given is not missing: an attribute of a domain of which no device is given may be
// there. An expression is compiled once, however many objects have it; near-linear in the objects.
std::vector<api::CrossFinding> CrossCheckExpressions(std::span<const api::Object> objects);

}  // namespace dray::cli::internal
