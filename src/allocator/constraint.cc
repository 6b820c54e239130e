// SPDX-License-Identifier: Apache-2.0
#include "allocator/constraint.h"

#include <array>

namespace dray::allocator {

std::span<const ConstraintType* const> ConstraintTypes() {
  static const std::array kTypes = {
      &kMatchAttribute,
      &kDistinctAttribute,
  };
  return kTypes;
}

}  // namespace dray::allocator
