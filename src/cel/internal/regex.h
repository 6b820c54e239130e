// SPDX-License-Identifier: Apache-2.0
//
// How this room compiles patterns.
#pragma once

#include <string>
#include <string_view>

#include "re2/re2.h"

namespace dray::cel {

re2::RE2::Options RegexOptions();
// A pattern as Go reads it, for an RE2 that may be older: (?<name>...) is a group with a name, and
// \C, any byte, does not exist.
std::string GoPattern(std::string_view pattern);
// Why a pattern is none, in Go's words. `pattern` was made of GoPattern(source).
std::string RegexError(const re2::RE2& pattern, std::string_view source);

}  // namespace dray::cel
