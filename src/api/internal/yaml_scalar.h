// SPDX-License-Identifier: Apache-2.0
//
// What a scalar of a YAML text is in JSON: YAML 1.1's rules as the Go library behind kubectl and the
// API server has them.
#pragma once

#include <string>
#include <string_view>

#include "api/document.h"

namespace dray::api::internal {

// Gives `node` its kind and value. `tag` is the full tag or empty, `plain` a scalar without quotes.
// Returns what is wrong with it, or an empty text.
std::string ResolveScalar(std::string_view tag, bool plain, std::string_view text,
                          DocumentNode& node);

}  // namespace dray::api::internal
