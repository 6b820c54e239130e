// SPDX-License-Identifier: Apache-2.0
//
// Which fields of a slice a server did not store, and the feature gate that each belongs to.
#pragma once

#include <string>
#include <vector>

#include "api/resource_slice.h"

namespace dray::driver::internal {

struct DroppedField {
  std::string path;  // spec.devices[0].taints
  std::string gate;  // DRADeviceTaints; empty: none that is known
  friend bool operator==(const DroppedField&, const DroppedField&) = default;
};

// At most one per gate, and one without: the first of each.
std::vector<DroppedField> DroppedFields(const api::ResourceSliceSpec& wanted,
                                        const api::ResourceSliceSpec& stored);

}  // namespace dray::driver::internal
