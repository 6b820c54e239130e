// SPDX-License-Identifier: Apache-2.0
//
// Manifests that somebody sends to the console, read and applied as `dray plan` does it.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "console/planning.h"

namespace dray::cli::internal {

// A console::ManifestReader.
std::variant<console::ManifestResult, console::Answer> ReadConsoleManifests(
    const std::string& manifests, std::vector<api::Object> objects, const std::string& namespace_,
    const planner::PlanOptions& options);

}  // namespace dray::cli::internal
