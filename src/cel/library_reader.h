// SPDX-License-Identifier: Apache-2.0
//
// Reads the texts of library.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cel/environment.h"
#include "cel/type.h"

namespace dray::cel {

struct Declaration {
  std::string function;
  Overload overload;
};

// The text is part of the program: a mistake in it aborts.
std::vector<Declaration> ReadLibrary(std::string_view text, TypePool& pool);

// One type without type parameters, as the texts have it: "map(string, list(net.IP))".
Type ReadType(std::string_view text, TypePool& pool);

}  // namespace dray::cel
