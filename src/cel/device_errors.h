// SPDX-License-Identifier: Apache-2.0
//
// Errors of evaluation in the words of the device: which attribute is missing, and what there is
// instead. Made only when somebody wants to read them.
#pragma once

#include <string>

#include "cel/device_view.h"
#include "cel/program.h"
#include "cel/value.h"

namespace dray::cel {

// The message of an error that Evaluate gave for this view. One about a missing attribute or
// capacity begins with Kubernetes' words and goes on with what the device has.
std::string ErrorText(const Program& program, const DeviceView& view, const Value& error);

}  // namespace dray::cel
