// SPDX-License-Identifier: Apache-2.0
#include "simulator/fault.h"

#include "fmt/format.h"

namespace dray::simulator {

std::string ToString(const Fault& fault) {
  std::string text = fmt::format("{}:{}: ", fault.position.line, fault.position.column);
  if (!fault.field.empty()) text += fault.field + ": ";
  text += fault.message;
  if (!fault.hint.empty()) text += fmt::format(" ({})", fault.hint);
  return text;
}

}  // namespace dray::simulator
