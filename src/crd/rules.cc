// SPDX-License-Identifier: Apache-2.0
#include "crd/rules.h"

#include <algorithm>
#include <utility>

#include "cel/compile.h"
#include "cel/evaluator.h"
#include "crd/field_paths.h"
#include "crd/internal/rule_values.h"
#include "crd/internal/shown.h"
#include "crd/validator.h"
#include "fmt/format.h"

namespace dray::crd {
namespace {

using api::ErrorList;
using api::FieldError;

constexpr std::string_view kOldSelf = "oldSelf";

std::string Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == text.npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(kBlank) - begin + 1));
}

std::string RuleText(const Rule& rule) {
  return Trimmed(rule.message.empty() ? rule.rule : rule.message);
}

struct OneProgram {
  std::shared_ptr<const cel::Program> program;
  std::uint64_t cost = 0;
  std::string error;
  cel::TypeKind type = cel::TypeKind::kDyn;
};

OneProgram CompileOne(const std::string& text,
                      const std::shared_ptr<const cel::Environment>& environment) {
  OneProgram one;
  const cel::CompileResult compiled = cel::Compile(text, environment);
  if (!compiled.ok()) {
    one.error = compiled.error;
    return one;
  }
  one.type = compiled.checked->result_type().kind();
  auto program = cel::Program::Compile(*compiled.checked);
  if (!program.ok()) {
    one.error = std::string(base::Message(program.status()));
    return one;
  }
  one.program = *std::move(program);
  one.cost = compiled.cost.max;
  return one;
}

}  // namespace

std::vector<CompiledRule> CompileRules(const Schema& schema, const RuleTypePtr& type) {
  std::shared_ptr<const cel::Environment> environments[2];
  std::vector<CompiledRule> all;
  for (const Rule& rule : schema.rules) {
    CompiledRule& compiled = all.emplace_back();
    if (Trimmed(rule.rule).empty()) continue;
    auto& environment = environments[rule.optional_old_self.value_or(false) ? 1 : 0];
    if (environment == nullptr) {
      environment = RuleEnvironment(type, rule.optional_old_self.value_or(false));
    }
    OneProgram one = CompileOne(rule.rule, environment);
    if (one.error.empty() && one.type != cel::TypeKind::kBool) {
      one = {.error = "cel expression must evaluate to a bool"};
    }
    compiled.error = std::move(one.error);
    if (!compiled.error.empty()) continue;
    const auto& names = one.program->variables();
    compiled.uses_old_self = std::ranges::find(names, kOldSelf) != names.end();
    compiled.program = std::move(one.program);
    compiled.max_cost = one.cost;
    if (!rule.message_expression.empty()) {
      OneProgram message = CompileOne(rule.message_expression, environment);
      if (!message.error.empty()) {
        compiled.message_error = "messageExpression " + message.error;
      } else if (message.type != cel::TypeKind::kString) {
        compiled.message_error = "messageExpression must evaluate to a string";
      } else {
        compiled.message = std::move(message.program);
        compiled.message_max_cost = message.cost;
      }
    }
    if (!rule.field_path.empty()) {
      compiled.field_path = FindField(rule.field_path, schema).path.ToString();
    }
  }
  return all;
}

// The places of a schema that have rules, or lead to some.
struct Rules::Node {
  const Schema* schema = nullptr;
  RuleTypePtr type;
  std::vector<CompiledRule> rules;
  std::unique_ptr<const Node> items;
  std::unique_ptr<const Node> additional;
  std::vector<std::pair<std::string, std::unique_ptr<const Node>>> properties;

  static std::unique_ptr<const Node> Make(const Schema& schema, const RuleTypePtr& type) {
    // What expressions do not see has no rules that could be evaluated.
    if (type == nullptr) return nullptr;
    auto node = std::make_unique<Node>();
    node->schema = &schema;
    node->type = type;
    node->rules = CompileRules(schema, type);
    if (schema.items != nullptr) node->items = Make(*schema.items, type->element);
    if (schema.additional != nullptr && type->kind == RuleType::Kind::kMap) {
      node->additional = Make(*schema.additional, type->element);
    }
    for (const Property& property : schema.properties) {
      auto made = Make(*property.schema, TypeOfProperty(*type, property));
      if (made != nullptr) node->properties.emplace_back(property.name, std::move(made));
    }
    const bool empty = node->rules.empty() && node->items == nullptr &&
                       node->additional == nullptr && node->properties.empty();
    return empty ? nullptr : std::move(node);
  }

  static RuleTypePtr TypeOfProperty(const RuleType& type, const Property& property) {
    const auto name = Escaped(property.name);
    // One whose name expressions cannot write may have rules of its own all the same.
    if (!name) return RuleTypeOf(*property.schema, property.schema->embedded_resource);
    const RuleType::Field* field = type.FindField(*name);
    return field == nullptr ? nullptr : field->type;
  }
};

class Rules::Run {
 public:
  Run(std::int64_t budget, ErrorList& errors) : budget_(budget), errors_(errors) {}

  // `same`: what surrounds the value is as it was. False when no more rules are to be evaluated.
  bool Check(const Node& node, const DocumentNode& value, const DocumentNode* old, bool same,
             const FieldPath& at) {
    if (rest::IsNull(value)) return true;
    if (old != nullptr && rest::IsNull(*old)) old = nullptr;
    if (old != nullptr) same = rest::JsonEqual(*old, value);
    if (!Evaluate(node, value, old, same, at)) return false;
    if (rest::IsList(value)) {
      if (node.items == nullptr) return true;
      const OldItems before(*node.schema, old);
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        const DocumentNode& item = value.items[i];
        if (!Check(*node.items, item, before.Find(item), same, at.Index(i))) return false;
      }
      return true;
    }
    if (!rest::IsMap(value)) return true;
    const auto before = [&](std::string_view key) -> const DocumentNode* {
      return old == nullptr || !rest::IsMap(*old) ? nullptr : rest::FindIn(*old, key);
    };
    if (node.additional != nullptr) {
      for (const api::Member& member : value.members) {
        if (!Check(*node.additional, member.value, before(member.key), same, at.Key(member.key))) {
          return false;
        }
      }
    }
    for (const auto& [name, below] : node.properties) {
      const DocumentNode* found = rest::FindIn(value, name);
      if (found == nullptr) continue;
      if (!Check(*below, *found, before(name), same, at / name)) return false;
    }
    return true;
  }

 private:
  static constexpr std::string_view kSpent =
      "validation failed due to running out of cost budget, no further validation rules will be "
      "run";

  bool Stop(const FieldPath& at, const Node& node, std::string_view why) {
    errors_.push_back(api::Invalid(at, node.schema->type, why));
    return false;
  }

  bool Evaluate(const Node& node, const DocumentNode& value, const DocumentNode* old, bool same,
                const FieldPath& at) {
    if (node.rules.empty()) return true;
    if (budget_ <= 0) return Stop(at, node, kSpent);
    for (std::size_t i = 0; i < node.rules.size(); ++i) {
      const Rule& rule = node.schema->rules[i];
      const CompiledRule& compiled = node.rules[i];
      if (!compiled.error.empty()) {
        errors_.push_back(api::Invalid(at, node.schema->type,
                                       fmt::format("rule compile error: {}", compiled.error)));
        continue;
      }
      if (compiled.program == nullptr) continue;
      const bool optional = rule.optional_old_self.value_or(false);
      // Rules about changes are for what has changed from something.
      if (compiled.uses_old_self && old == nullptr && !optional) continue;
      cel::Arena arena;
      const cel::EvaluationResult result =
          Call(*compiled.program, node, value, old, optional, arena);
      if (static_cast<std::int64_t>(result.cost) > budget_) return Stop(at, node, kSpent);
      budget_ -= static_cast<std::int64_t>(result.cost);
      if (result.value.is_error()) {
        if (!Failed(cel::ErrorMessage(result.value), rule, node, at)) return false;
        continue;
      }
      if (result.value.is_true()) continue;
      if (!Refuse(node, rule, compiled, value, old, same, at)) return false;
    }
    return true;
  }

  static cel::EvaluationResult Call(const cel::Program& program, const Node& node,
                                    const DocumentNode& value, const DocumentNode* old,
                                    bool optional, cel::Arena& arena) {
    std::vector<cel::Value> variables;
    for (const std::string& name : program.variables()) {
      if (name != kOldSelf) {
        variables.push_back(internal::RuleValue(arena, *node.type, value));
      } else if (old == nullptr) {
        variables.push_back(cel::NoneValue());
      } else {
        const cel::Value before = internal::RuleValue(arena, *node.type, *old);
        variables.push_back(optional ? cel::MakeOptional(arena, before) : before);
      }
    }
    return cel::Evaluate(program, variables, arena, {.cost = kRuleCallLimit});
  }

  bool Failed(std::string_view why, const Rule& rule, const Node& node, const FieldPath& at) {
    if (why.starts_with("no such overload")) {
      errors_.push_back(
          api::Invalid(at, node.schema->type,
                       fmt::format("'{}': call arguments did not match a supported operator, "
                                   "function or macro signature for rule: {}",
                                   why, RuleText(rule))));
      return true;
    }
    if (why.starts_with("operation cancelled")) {
      return Stop(at, node,
                  fmt::format("'{}': no further validation rules will be run due to call cost "
                              "exceeds limit for rule: {}",
                              why, RuleText(rule)));
    }
    errors_.push_back(api::Invalid(at, node.schema->type,
                                   fmt::format("{} evaluating rule: {}", why, RuleText(rule))));
    return true;
  }

  bool Refuse(const Node& node, const Rule& rule, const CompiledRule& compiled,
              const DocumentNode& value, const DocumentNode* old, bool same, const FieldPath& at) {
    const FieldPath place = compiled.field_path.empty() ? at : at / compiled.field_path;
    std::string detail;
    if (compiled.message != nullptr) {
      cel::Arena arena;
      const bool optional = rule.optional_old_self.value_or(false);
      const cel::EvaluationResult said = Call(*compiled.message, node, value, old, optional, arena);
      if (static_cast<std::int64_t>(said.cost) > budget_) {
        return Stop(place, node,
                    "messageExpression evaluation failed due to running out of cost budget, no "
                    "further validation rules will be run");
      }
      budget_ -= static_cast<std::int64_t>(said.cost);
      if (said.value.is(cel::Kind::kString)) detail = Message(said.value.as_text());
    }
    if (detail.empty()) {
      detail = rule.message.empty() ? fmt::format("failed rule: {}", RuleText(rule))
                                    : Trimmed(rule.message);
    }
    // What was wrong before may stay so, unless the rule is about the change.
    if (!compiled.uses_old_self && same) return true;
    errors_.push_back(ErrorFor(node, rule, value, place, detail));
    return true;
  }

  // One that cannot be shown in a line is none.
  static std::string Message(std::string_view text) {
    std::string message = Trimmed(text);
    const bool fine = message.size() <= kMaxRuleMessage && message.find('\n') == message.npos;
    return fine ? message : std::string();
  }

  static FieldError ErrorFor(const Node& node, const Rule& rule, const DocumentNode& value,
                             const FieldPath& at, std::string_view detail) {
    const bool whole = node.schema->type == "object" || node.schema->type == "array";
    const std::string shown = whole ? std::string() : internal::Shown(value);
    if (rule.reason == "FieldValueForbidden") return api::Forbidden(at, detail);
    if (rule.reason == "FieldValueRequired") return api::Required(at, detail);
    if (rule.reason == "FieldValueDuplicate") {
      return {api::ErrorType::kDuplicate, at, shown, ""};
    }
    return api::InvalidValue(at, shown, detail);
  }

  std::int64_t budget_;
  ErrorList& errors_;
};

Rules::Rules(std::unique_ptr<const Node> root) : root_(std::move(root)) {}
Rules::~Rules() = default;

std::unique_ptr<const Rules> Rules::Of(const Schema& schema, bool root) {
  auto node = Node::Make(schema, RuleTypeOf(schema, root));
  if (node == nullptr) return nullptr;
  return std::unique_ptr<const Rules>(new Rules(std::move(node)));
}

ErrorList Rules::Check(const DocumentNode& value, const DocumentNode* old, const FieldPath& at,
                       std::int64_t budget) const {
  ErrorList errors;
  Run(budget, errors).Check(*root_, value, old, false, at);
  // As Kubernetes shows a place that has no name.
  for (FieldError& error : errors) {
    if (error.field.empty()) error.field = FieldPath("<nil>");
  }
  return errors;
}

}  // namespace dray::crd
