// SPDX-License-Identifier: Apache-2.0
//
// How this room compiles patterns.
#pragma once

#include <string>

#include "re2/re2.h"

namespace dray::cel {

re2::RE2::Options RegexOptions();
// Why a pattern is none, in Go's words.
std::string RegexError(const re2::RE2& pattern);

}  // namespace dray::cel
