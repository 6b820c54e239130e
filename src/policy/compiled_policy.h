// SPDX-License-Identifier: Apache-2.0
//
// A policy with its expressions compiled, once for all requests.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/errors.h"
#include "cel/environment.h"
#include "cel/program.h"
#include "policy/policy_spec.h"

namespace dray::policy {

// Thread-safe: immutable.
struct Expression {
  std::string text;  // empty: there is none, as of a message that is not computed
  std::shared_ptr<const cel::Program> program = nullptr;
  std::string error = {};  // why there is no program
  bool internal = false;   // and it is the server's fault

  bool there() const { return !text.empty(); }
};

// As many variables as a policy may have. Each has the types of those before it, so that what all of
// them cost grows with the square of their number.
inline constexpr std::size_t kMaxVariables = 1000;

// What the result may be.
enum class Purpose : unsigned char { kCondition, kText, kTextOrNull, kAnything };

// `keep`, if any, is given the tree: who asks for types looks there.
Expression CompileExpression(std::string_view text, Purpose purpose,
                             const std::shared_ptr<const cel::Environment>& environment,
                             std::shared_ptr<const cel::CheckedExpr>* keep = nullptr);

// Thread-safe: immutable.
class CompiledPolicy {
 public:
  // Expressions that do not compile stay, as failures of those that need them.
  explicit CompiledPolicy(PolicySpec spec);

  const PolicySpec& spec() const { return spec_; }
  // In the order of the spec's.
  const std::vector<Expression>& conditions() const { return conditions_; }
  const std::vector<Expression>& variables() const { return variables_; }
  const std::vector<Expression>& validations() const { return validations_; }
  const std::vector<Expression>& messages() const { return messages_; }
  const std::vector<Expression>& annotations() const { return annotations_; }

  // What is wrong with expressions, each at its field.
  api::ErrorList Errors() const;

 private:
  PolicySpec spec_;
  std::vector<Expression> conditions_;
  std::vector<Expression> variables_;
  std::vector<Expression> validations_;
  std::vector<Expression> messages_;
  std::vector<Expression> annotations_;
};

// The environment with the variables of a policy, as far as they compile in it.
std::shared_ptr<const cel::Environment> EnvironmentOf(
    const std::vector<NamedExpression>& variables,
    const std::shared_ptr<const cel::Environment>& base, std::vector<Expression>* compiled);

}  // namespace dray::policy
