// SPDX-License-Identifier: Apache-2.0
//
// Fault: something in a scenario that is not right, with its place.
#pragma once

#include <string>

#include "api/document.h"
#include "base/field_path.h"

namespace dray::simulator {

struct Fault {
  api::Position position;
  std::string field;    // cluster.nodeGroups[0].count
  std::string message;  // "0: must be at least 1"
  std::string hint;     // what was probably meant; may be empty
};

// "12:5: cluster.nodeGroups[0].count: 0: must be at least 1"
std::string ToString(const Fault& fault);

}  // namespace dray::simulator
