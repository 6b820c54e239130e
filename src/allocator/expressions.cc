// SPDX-License-Identifier: Apache-2.0
#include "allocator/expressions.h"

#include <utility>

#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/program.h"

namespace dray::allocator {
namespace {

void Add(const inventory::EvaluationStatistics& one, inventory::EvaluationStatistics& sum) {
  sum.evaluations += one.evaluations;
  sum.errors += one.errors;
  sum.cost += one.cost;
}

}  // namespace

Expressions::Expressions(std::shared_ptr<inventory::Dictionary> dictionary, std::size_t capacity)
    : dictionary_(std::move(dictionary)),
      selectors_(capacity),
      derived_(capacity),
      numbers_(4 * capacity) {}

std::shared_ptr<const Expression> Expressions::Selector(std::string_view text) {
  return Get(text, false);
}
std::shared_ptr<const Expression> Expressions::Derived(std::string_view text) {
  return Get(text, true);
}

std::shared_ptr<const Expression> Expressions::Get(std::string_view text, bool derived) {
  const base::MutexLock lock(mutex_);
  Known& known = derived ? derived_ : selectors_;
  if (const auto* found = known.Find(text)) return *found;

  auto expression = std::make_unique<Expression>();
  expression->text = text;
  expression->number = next_expression_++;
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
  const std::shared_ptr<const Expression> shared(
      expression.release(), [living = living_](const Expression* gone) {
        const std::unique_ptr<const Expression> owned(gone);
        const base::MutexLock lock(living->mutex);
        living->expressions.erase(gone);
        if (gone->program != nullptr) Add(gone->program->statistics(), living->gone);
      });
  {
    const base::MutexLock lock_living(living_->mutex);
    living_->expressions.insert(shared.get());
  }
  known.Trim();
  return known.Put(std::string(text), shared);
}

ExpressionStatistics Expressions::statistics() const {
  const base::MutexLock lock(living_->mutex);
  ExpressionStatistics sum;
  sum.evaluations = living_->gone;
  for (const Expression* expression : living_->expressions) {
    ++sum.compiled;
    if (expression->program == nullptr) {
      ++sum.broken;
    } else {
      Add(expression->program->statistics(), sum.evaluations);
    }
  }
  return sum;
}

std::size_t Expressions::known() const {
  const base::MutexLock lock(mutex_);
  return selectors_.size() + derived_.size();
}

std::uint64_t Expressions::Number(std::string_view description) {
  const base::MutexLock lock(mutex_);
  if (const auto* found = numbers_.Find(description)) return *found;
  numbers_.Trim();
  return numbers_.Put(std::string(description), next_number_++);
}

}  // namespace dray::allocator
