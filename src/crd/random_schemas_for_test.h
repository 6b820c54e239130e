// SPDX-License-Identifier: Apache-2.0
//
// Structural schemas and values at random, for properties that hold of all of them.
#pragma once

#include <random>

#include "crd/schema.h"

namespace dray::crd {

// Of whole objects.
DocumentNode RandomSchema(std::mt19937& random);
// Of anything: what the schema wants now and then, and otherwise what it does not.
DocumentNode RandomValue(std::mt19937& random, const Schema* schema, int depth = 0);

}  // namespace dray::crd
