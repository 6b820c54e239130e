// SPDX-License-Identifier: Apache-2.0
//
// Scenarios of a folder, listed and run for the console.
#pragma once

#include <functional>
#include <string>

#include "console/desk.h"

namespace dray::cli::internal {

console::Answer ListScenarios(const std::string& folder);

// A file of the folder by its name, which is not a path; what it refers to is below the folder.
// Text that somebody sends refers to no file.
console::Answer RunScenario(const std::string& folder, const console::SimulationRequest& request,
                            const std::function<void(const console::Desk::Started&)>& started,
                            const std::function<void(const console::SimulationProgress&)>& progress,
                            const std::function<bool()>& cancelled);

}  // namespace dray::cli::internal
