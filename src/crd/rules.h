// SPDX-License-Identifier: Apache-2.0
//
// x-kubernetes-validations: expressions that hold of values, and of how they change.
//
// Spec: Kubernetes's CRD validation rules: `self`, `oldSelf`, messages, reasons, field paths, limits
// of cost when a rule is written (schema_validation.h) and when it is evaluated.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/errors.h"
#include "cel/program.h"
#include "crd/rule_types.h"
#include "crd/schema.h"

namespace dray::crd {

// What evaluating all rules of one object may cost, and one of them.
inline constexpr std::int64_t kRuleBudget = 10'000'000;
inline constexpr std::uint64_t kRuleCallLimit = 1'000'000;
// What a message may be long.
inline constexpr std::size_t kMaxRuleMessage = 5 * 1024;
// Rules of one schema.
inline constexpr std::size_t kMaxRules = 2'000;

struct CompiledRule {
  std::shared_ptr<const cel::Program> program;  // null: empty, or see `error`
  std::string error;
  bool uses_old_self = false;
  std::uint64_t max_cost = 0;
  std::shared_ptr<const cel::Program> message;  // of messageExpression
  std::string message_error;
  std::uint64_t message_max_cost = 0;
  std::string field_path;  // as errors write it; empty: the value itself
};

// The rules of one place of a schema, in their order. `type` is not null.
std::vector<CompiledRule> CompileRules(const Schema& schema, const RuleTypePtr& type);

// Thread-safe: immutable.
class Rules {
 public:
  // Null when the schema has none. The schema outlives it. `root`: of whole objects.
  static std::unique_ptr<const Rules> Of(const Schema& schema, bool root);
  ~Rules();

  // `old`: the value before, null when there is none. What a rule says of something that an update
  // has left as it was is not held against it.
  api::ErrorList Check(const DocumentNode& value, const DocumentNode* old, const FieldPath& at = {},
                       std::int64_t budget = kRuleBudget) const;

 private:
  struct Node;
  class Run;
  explicit Rules(std::unique_ptr<const Node> root);

  const std::unique_ptr<const Node> root_;
};

}  // namespace dray::crd
