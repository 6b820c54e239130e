// SPDX-License-Identifier: Apache-2.0
//
// Kinds that dray does not know: somebody else's, or a slip of the pen?
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dray::cli::internal {

// What was probably meant by an apiVersion and kind that are not known: another version of a known
// kind, a known kind in another group's place, or a misspelt one. Nothing when they look like a
// kind of somebody else.
std::optional<std::string> MeantKind(std::string_view api_version, std::string_view kind);

}  // namespace dray::cli::internal
