// SPDX-License-Identifier: Apache-2.0
#include "model/expressions.h"

#include <algorithm>

#include "base/semver.h"
#include "cel/device_env.h"
#include "cel/device_values.h"
#include "fmt/format.h"
#include "model/abort.h"

namespace dray::model {
namespace {

bool IsVersion(std::string_view text) { return base::SemVer::Parse(text).ok(); }

// Kubernetes converts every attribute before it evaluates anything, so that one that has no value
// fails all expressions on its device. (The language here converts what is read.)
bool HasValue(const api::DeviceAttribute& a) {
  const api::AttributeLists& lists = a.Lists();
  const auto* inner = lists.list_value.get();
  if (lists.int_values || lists.bool_values || lists.string_values) return true;
  if (lists.version_values) return std::ranges::all_of(*lists.version_values, IsVersion);
  if (inner != nullptr) {
    if (inner->int_value || inner->bool_value || inner->string_value) return true;
    if (inner->version_value) return std::ranges::all_of(*inner->version_value, IsVersion);
  }
  if (a.int_value || a.bool_value || a.string_value) return true;
  return a.version_value && IsVersion(a.version_value->view());
}

void CheckAttributes(std::string_view driver, const api::Device& device) {
  for (const auto& [name, attribute] : device.attributes) {
    if (!HasValue(attribute)) {
      throw Abort{fmt::format("{} {}: attribute {} has no value", driver, device.name, name)};
    }
  }
}

}  // namespace

const cel::Program& Expressions::Compiled(const std::string& expression, cel::Purpose purpose) {
  auto& program = programs_[{expression, purpose}];
  if (program != nullptr) return *program;
  const cel::CompileResult compiled =
      cel::Compile(expression, cel::DeviceEnvironment(cel::DeviceEnvironmentOptions::Stored()),
                   {.purpose = purpose, .estimate_cost = false, .program_check = {}});
  if (!compiled.ok()) throw Abort{fmt::format("{}: {}", expression, compiled.error)};
  auto made = cel::Program::Compile(*compiled.checked);
  if (!made.ok()) throw Abort{fmt::format("{}: {}", expression, base::Message(made.status()))};
  program = *std::move(made);
  return *program;
}

bool Expressions::Match(const std::vector<api::DeviceSelector>& selectors, std::string_view driver,
                        const api::Device& device) {
  for (const api::DeviceSelector& selector : selectors) {
    if (!selector.cel) throw Abort{"a selector without an expression"};
    const std::string& text = selector.cel->expression;
    const cel::Program& program = Compiled(text, cel::Purpose::kSelector);
    CheckAttributes(driver, device);
    const auto result = cel::Match(program, driver, device);
    if (!result.ok()) {
      throw Abort{
          fmt::format("{} on device {}: {}", text, device.name, base::Message(result.status()))};
    }
    if (!result->match) return false;
  }
  return true;
}

api::DeviceAttribute Expressions::Derive(const std::string& expression, std::string_view driver,
                                         const api::Device& device) {
  const cel::Program& program = Compiled(expression, cel::Purpose::kDerivedAttribute);
  CheckAttributes(driver, device);
  auto result = cel::Derive(program, driver, device);
  if (!result.ok()) {
    throw Abort{fmt::format("{} on device {}: {}", expression, device.name,
                            base::Message(result.status()))};
  }
  return *std::move(result);
}

}  // namespace dray::model
