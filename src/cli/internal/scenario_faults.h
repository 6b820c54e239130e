// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a scenario, told like the findings of every other file.
#pragma once

#include <string>
#include <vector>

#include "cli/environment.h"
#include "simulator/fault.h"

namespace dray::cli::internal {

// To standard error; `file` is the name that people see.
void TellFaults(Io& io, const std::string& file, const std::vector<simulator::Fault>& faults);

}  // namespace dray::cli::internal
