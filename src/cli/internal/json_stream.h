// SPDX-License-Identifier: Apache-2.0
//
// JSON objects one after the other, as several answers of `kubectl -o json` in one file. kubectl reads
// them, and so do the commands here.
#pragma once

#include <string_view>
#include <vector>

#include "api/document.h"

namespace dray::cli::internal {

// A text with one object is a stream of one. On a syntax error nothing, and where and why.
std::vector<api::DocumentNode> ParseJsonStream(std::string_view text,
                                               std::vector<api::Diagnostic>& diagnostics);

}  // namespace dray::cli::internal
