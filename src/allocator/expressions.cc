// SPDX-License-Identifier: Apache-2.0
#include "allocator/expressions.h"

#include <utility>

#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/program.h"

namespace dray::allocator {

Expressions::Expressions(std::shared_ptr<inventory::Dictionary> dictionary)
    : dictionary_(std::move(dictionary)) {}

const Expression* Expressions::Selector(std::string_view text) { return Get(text, false); }
const Expression* Expressions::Derived(std::string_view text) { return Get(text, true); }

const Expression* Expressions::Get(std::string_view text, bool derived) {
  const std::lock_guard lock(mutex_);
  auto& known = derived ? derived_ : selectors_;
  if (const auto it = known.find(text); it != known.end()) return it->second.get();

  auto expression = std::make_unique<Expression>();
  expression->text = text;
  const auto compiled =
      cel::Compile(text, cel::DeviceEnvironment(cel::DeviceEnvironmentOptions::Stored()),
                   {.purpose = derived ? cel::Purpose::kDerivedAttribute : cel::Purpose::kSelector,
                    .estimate_cost = false});
  if (!compiled.ok()) {
    expression->error = base::InvalidArgument(compiled.error);
  } else if (auto program = cel::Program::Compile(*compiled.checked); !program.ok()) {
    expression->error = program.status();
  } else {
    expression->program =
        std::make_shared<inventory::BoundProgram>(*std::move(program), dictionary_);
  }
  return known.emplace(std::string(text), std::move(expression)).first->second.get();
}

ExpressionStatistics Expressions::statistics() const {
  ExpressionStatistics sum;
  const std::lock_guard lock(mutex_);
  for (const auto* known : {&selectors_, &derived_}) {
    for (const auto& [text, expression] : *known) {
      ++sum.compiled;
      if (expression->program == nullptr) {
        ++sum.broken;
        continue;
      }
      const inventory::EvaluationStatistics one = expression->program->statistics();
      sum.evaluations.evaluations += one.evaluations;
      sum.evaluations.errors += one.errors;
      sum.evaluations.cost += one.cost;
    }
  }
  return sum;
}

std::uint32_t Expressions::Number(const std::vector<std::uint64_t>& list) {
  const std::lock_guard lock(mutex_);
  return numbers_.try_emplace(list, static_cast<std::uint32_t>(numbers_.size() + 1)).first->second;
}

}  // namespace dray::allocator
