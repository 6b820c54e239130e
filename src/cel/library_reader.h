// SPDX-License-Identifier: Apache-2.0
//
// Reads the declarations of library.h.
#pragma once

#include <string_view>

#include "cel/environment.h"
#include "cel/type.h"

namespace dray::cel {

// The text is part of the program: a mistake in it aborts.
Overload ReadOverload(std::string_view declaration, TypePool& pool);

// One type without type parameters, as declarations have it: "map(string, list(net.IP))".
Type ReadType(std::string_view text, TypePool& pool);

}  // namespace dray::cel
