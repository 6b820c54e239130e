// SPDX-License-Identifier: Apache-2.0
//
// What people probably meant: hints to what the compiler has against an expression about devices,
// and words about expressions that compile and will surprise. For people only; nothing here decides
// whether an expression is right.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/compile.h"

namespace dray::cel {

// Something about a place in an expression, or about all of it (kNowhere).
struct Advice {
  Offset offset = kNowhere;
  std::string message;
  std::string hint;  // may be empty
};

// Why `compiled` failed: at least one advice, by place. The arguments are those of Compile.
std::vector<Advice> Explain(std::string_view expression, const CompileResult& compiled,
                            const Environment& environment, Purpose purpose);

// What compiles because any key of a map does, and finds nothing on any device.
std::vector<Advice> FindSuspicious(const CheckedExpr& expr);

// What makes an expression cost much, if there is more to say than its length.
std::optional<Advice> ExplainCost(const CheckedExpr& expr);

}  // namespace dray::cel
