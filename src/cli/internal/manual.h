// SPDX-License-Identifier: Apache-2.0
//
// Manual pages, from what --help shows.
#pragma once

#include <string>
#include <string_view>

#include "cli/internal/outline.h"

namespace dray::cli::internal {

// The page dray(1), and that of a command, such as dray-plan(1); in the language of man.
std::string ManualOfAll(std::string_view version);
std::string ManualOf(const CommandOutline& command, std::string_view version);

}  // namespace dray::cli::internal
