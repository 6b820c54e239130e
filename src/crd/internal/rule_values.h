// SPDX-License-Identifier: Apache-2.0
//
// Trees as values of expressions, by the type that rules see. Nothing is made before it is asked for.
#pragma once

#include "cel/arena.h"
#include "cel/value.h"
#include "crd/rule_types.h"

namespace dray::crd::internal {

// All outlive the value. An error value when the tree is not of the type.
cel::Value RuleValue(cel::Arena& arena, const RuleType& type, const DocumentNode& node);

}  // namespace dray::crd::internal
