// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "cel/functions.h"
#include "cel/internal/regex.h"
#include "cel/internal/simple_pattern.h"
#include "cel/program.h"

namespace dray::cel {

using RegexImpl = Value (*)(Arena&, const re2::RE2&, std::span<const Value>);

// A constant pattern and what is done with it. RE2 is safe for several threads.
struct Program::Pattern {
  Pattern(std::string_view text, RegexImpl impl)
      : regex(re2::StringPiece(text.data(), text.size()), RegexOptions()), impl(impl) {}
  re2::RE2 regex;
  RegexImpl impl;
  // Of matches(), when the pattern is one.
  std::optional<SimplePattern> simple;
};

}  // namespace dray::cel
