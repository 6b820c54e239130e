// SPDX-License-Identifier: Apache-2.0
//
// Values as errors show them.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "cel/values.h"
#include "fmt/format.h"
#include "rest/tree.h"

namespace dray::crd::internal {

// Go's %q.
inline std::string Quoted(std::string_view text) { return cel::QuoteGo(text); }

// Texts quoted, others as JSON.
inline std::string Shown(const api::DocumentNode& node) {
  return rest::IsString(node) ? Quoted(node.text) : ToJson(node);
}

// Go's %v of a float64.
inline std::string GoNumber(double number) {
  if (number == std::trunc(number) && std::abs(number) < 1e21) return fmt::format("{:.0f}", number);
  return fmt::format("{}", number);
}

}  // namespace dray::crd::internal
