// SPDX-License-Identifier: Apache-2.0
#include "policy/evaluation.h"

#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "cel/document_values.h"
#include "cel/evaluator.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::policy {
namespace {

using cel::Kind;
using cel::Value;

constexpr std::string_view kOutOfBudget =
    "validation failed due to running out of cost budget, no further validation rules will be run";
constexpr std::size_t kMaxMessage = 5 * 1024;

std::string_view Trimmed(std::string_view text) {
  return base::FromAbsl(absl::StripAsciiWhitespace(base::ToAbsl(text)));
}

// A value, or why there is none.
struct Outcome {
  Value value;
  std::string error;
};

class Scope;

// `variables` in expressions: each is computed when it is first asked for.
class Variables final : public cel::Map {
 public:
  explicit Variables(Scope& scope) : scope_(scope) {}
  std::size_t size() const override;
  bool Find(const Value& key, Value* value) const override;
  Value KeyAt(std::size_t i) const override;
  Value ValueAt(std::size_t i) const override;

 private:
  Scope& scope_;
};

// One run through expressions of a policy, with what they see. One thread.
class Scope {
 public:
  Scope(const CompiledPolicy& policy, const Version& version, Inputs& inputs,
        const api::DocumentNode* params, const Budgets& budgets, std::uint64_t budget,
        bool shows_namespace)
      : policy_(policy),
        version_(version),
        inputs_(inputs),
        params_(params),
        budgets_(budgets),
        left_(budget),
        shows_namespace_(shows_namespace),
        computed_(policy.variables().size()),
        variables_(*this) {}

  const CompiledPolicy& policy() const { return policy_; }
  std::uint64_t left() const { return left_; }
  std::size_t evaluated() const { return evaluated_; }

  // Nothing: there is no budget left for it, and none for others.
  std::optional<Outcome> Run(const Expression& expression) {
    if (expression.program == nullptr) {
      return Outcome{{}, fmt::format("compilation error: {}", expression.error)};
    }
    spent_on_variables_ = 0;
    const cel::EvaluationResult result = Compute(expression);
    if (spent_on_variables_ + result.cost > left_) {
      left_ = 0;
      return std::nullopt;
    }
    left_ -= spent_on_variables_ + result.cost;
    if (result.value.is_error()) {
      return Outcome{{},
                     fmt::format("expression '{}' resulted in error: {}", expression.text,
                                 cel::ErrorMessage(result.value))};
    }
    return Outcome{result.value, {}};
  }

  Value VariableAt(std::size_t i) {
    std::optional<Value>& known = computed_[i];
    if (known) return *known;
    // A variable sees those before it, which are others: this cannot go round.
    const Expression& expression = policy_.variables()[i];
    const std::string& name = policy_.spec().variables[i].name;
    if (expression.program == nullptr) {
      known = MakeError(NewArena(), fmt::format("composited variable \"{}\" fails to compile: {}",
                                                name, expression.error));
      return *known;
    }
    const cel::EvaluationResult result = Compute(expression);
    spent_on_variables_ += result.cost;
    known =
        !result.value.is_error()
            ? result.value
            : MakeError(NewArena(), fmt::format("composited variable \"{}\" fails to evaluate: {}",
                                                name, cel::ErrorMessage(result.value)));
    return *known;
  }

 private:
  // Evaluations may be inside of each other: each has its own.
  cel::Arena& NewArena() { return arenas_.emplace_back(); }

  cel::EvaluationResult Compute(const Expression& expression) {
    ++evaluated_;
    std::vector<Value> values;
    for (const std::string& name : expression.program->variables()) {
      values.push_back(ValueNamed(name));
    }
    return cel::Evaluate(*expression.program, values, NewArena(), {.cost = budgets_.expression});
  }

  Value ValueNamed(std::string_view name) {
    if (name == "object") return inputs_.Object(version_);
    if (name == "oldObject") return inputs_.OldObject(version_);
    if (name == "request") {
      if (!request_) request_ = inputs_.RequestAs(version_);
      return *request_;
    }
    if (name == "namespaceObject") {
      return shows_namespace_ ? inputs_.NamespaceObject() : Value::Null();
    }
    if (name == "params") {
      if (params_ == nullptr) return Value::Null();
      if (!params_value_) params_value_ = ValueOf(NewArena(), *params_);
      return *params_value_;
    }
    if (name == "authorizer") return inputs_.Authorizer();
    if (name == "authorizer.requestResource") return inputs_.RequestResource();
    return Value::Pointer(Kind::kMap, static_cast<const cel::Map*>(&variables_));
  }

  const CompiledPolicy& policy_;
  const Version& version_;
  Inputs& inputs_;
  const api::DocumentNode* const params_;
  const Budgets& budgets_;
  std::uint64_t left_;
  const bool shows_namespace_;
  std::uint64_t spent_on_variables_ = 0;
  std::size_t evaluated_ = 0;
  std::deque<cel::Arena> arenas_;
  std::vector<std::optional<Value>> computed_;
  std::optional<Value> request_;
  std::optional<Value> params_value_;
  Variables variables_;
};

std::size_t Variables::size() const { return scope_.policy().spec().variables.size(); }
bool Variables::Find(const Value& key, Value* value) const {
  if (!key.is(Kind::kString)) return false;
  const auto& all = scope_.policy().spec().variables;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name != key.as_text()) continue;
    *value = scope_.VariableAt(i);
    return true;
  }
  return false;
}
Value Variables::KeyAt(std::size_t i) const {
  return Value::String(scope_.policy().spec().variables[i].name);
}
Value Variables::ValueAt(std::size_t i) const { return scope_.VariableAt(i); }

Decision Failed(const CompiledPolicy& policy, std::string message) {
  return {.denied = !policy.spec().ignore_failures, .message = std::move(message)};
}

enum class Interest : unsigned char { kYes, kNo, kFailed };

// Whether all conditions hold. One that does not ends it, whatever fails beside.
Interest Interested(const CompiledPolicy& policy, Scope& scope, std::string* why) {
  std::vector<std::string> errors;
  for (const Expression& condition : policy.conditions()) {
    const auto outcome = scope.Run(condition);
    if (!outcome) {
      *why = kOutOfBudget;
      return Interest::kFailed;
    }
    if (!outcome->error.empty()) {
      errors.push_back(outcome->error);
    } else if (outcome->value.is_false()) {
      return Interest::kNo;
    }
  }
  if (errors.empty()) return Interest::kYes;
  *why = errors.size() == 1 ? errors[0] : fmt::format("[{}]", absl::StrJoin(errors, ", "));
  return Interest::kFailed;
}

// What a computed message is, if it is one.
std::string MessageOf(const Outcome& outcome) {
  if (!outcome.error.empty() || !outcome.value.is(Kind::kString)) return {};
  const std::string_view text = Trimmed(outcome.value.as_text());
  if (text.size() > kMaxMessage || text.find('\n') != text.npos) return {};
  return std::string(text);
}

Decision Judge(const CompiledPolicy& policy, std::size_t i, const Outcome& outcome,
               const std::optional<Outcome>& message) {
  if (!outcome.error.empty()) return Failed(policy, outcome.error);
  if (outcome.value.is_true()) return {};
  const Validation& validation = policy.spec().validations[i];
  Decision decision{.denied = true, .message = {}, .reason = validation.reason};
  if (message) decision.message = MessageOf(*message);
  if (decision.message.empty()) decision.message = Trimmed(validation.message);
  if (decision.message.empty()) {
    decision.message = fmt::format("failed expression: {}", Trimmed(validation.expression));
  }
  return decision;
}

void Annotate(const CompiledPolicy& policy, std::size_t i, const Outcome& outcome,
              std::vector<Annotation>& annotations) {
  const NamedExpression& wish = policy.spec().annotations[i];
  if (!outcome.error.empty()) {
    if (!policy.spec().ignore_failures) annotations.push_back({wish.name, "", outcome.error});
    return;
  }
  if (outcome.value.is(Kind::kNull)) return;
  if (!outcome.value.is(Kind::kString)) {
    annotations.push_back(
        {wish.name, "",
         fmt::format("valueExpression '{}' resulted in unsupported return type: {}. Return type "
                     "must be either string or null.",
                     wish.expression, cel::TypeName(outcome.value))});
    return;
  }
  const std::string_view text = Trimmed(outcome.value.as_text());
  if (!text.empty()) annotations.push_back({wish.name, std::string(text)});
}

}  // namespace

Judgement Evaluate(const CompiledPolicy& policy, const Version& version, Inputs& inputs,
                   const api::DocumentNode* params, const Budgets& budgets) {
  Judgement judgement;
  const auto as_whole = [&](std::string message) {
    judgement.decisions = {Failed(policy, std::move(message))};
    judgement.annotations.clear();
    return judgement;
  };
  if (!policy.conditions().empty()) {
    Scope scope(policy, version, inputs, params, budgets, budgets.conditions, false);
    std::string why;
    const Interest interest = Interested(policy, scope, &why);
    judgement.evaluated += scope.evaluated();
    // One that fails on its conditions and may be ignored has no interest.
    if (interest == Interest::kNo) return judgement;
    if (interest == Interest::kFailed) {
      if (policy.spec().ignore_failures) return judgement;
      return as_whole(std::move(why));
    }
  }
  Scope scope(policy, version, inputs, params, budgets, budgets.policy, true);
  std::vector<Outcome> outcomes;
  for (const Expression& validation : policy.validations()) {
    auto outcome = scope.Run(validation);
    if (!outcome) {
      judgement.evaluated += scope.evaluated();
      return as_whole(std::string(kOutOfBudget));
    }
    outcomes.push_back(*std::move(outcome));
  }
  // A message is made only for who will read it; what it costs is the same budget's.
  bool spent = false;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    const bool refused = outcome.error.empty() && !outcome.value.is_true();
    std::optional<Outcome> message;
    if (refused && policy.messages()[i].there() && !spent) {
      message = scope.Run(policy.messages()[i]);
      spent = !message.has_value();
    }
    judgement.decisions.push_back(
        refused && spent ? Failed(policy, fmt::format("failed messageExpression: {}", kOutOfBudget))
                         : Judge(policy, i, outcome, message));
  }
  judgement.evaluated += scope.evaluated();
  if (policy.annotations().empty()) return judgement;
  Scope noting(policy, version, inputs, params, budgets, budgets.policy, true);
  for (std::size_t i = 0; i < policy.annotations().size(); ++i) {
    const auto outcome = noting.Run(policy.annotations()[i]);
    if (!outcome) {
      judgement.evaluated += noting.evaluated();
      return as_whole(std::string(kOutOfBudget));
    }
    Annotate(policy, i, *outcome, judgement.annotations);
  }
  judgement.evaluated += noting.evaluated();
  return judgement;
}

}  // namespace dray::policy
