// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "cel/functions.h"
#include "cel/internal/regex.h"
#include "cel/internal/simple_pattern.h"
#include "cel/program.h"

namespace dray::cel {

using RegexImpl = Value (*)(Arena&, const re2::RE2&, std::span<const Value>);

// A constant pattern and what is done with it: `simple` for matches() where that is possible, else
// `regex` and `impl`. RE2 is safe for several threads.
struct Program::Pattern {
  std::optional<SimplePattern> simple;
  std::optional<re2::RE2> regex;
  RegexImpl impl = nullptr;
};

}  // namespace dray::cel
