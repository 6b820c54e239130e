// SPDX-License-Identifier: Apache-2.0
//
// What a policy says of a request with one set of parameters.
//
// Spec: Kubernetes, "Validating Admission Policy"; its limits on cost: each expression, and all of
// a policy's together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/document.h"
#include "policy/compiled_policy.h"
#include "policy/inputs.h"

namespace dray::policy {

inline constexpr std::uint64_t kExpressionBudget = 1'000'000;
inline constexpr std::uint64_t kPolicyBudget = 10'000'000;
inline constexpr std::uint64_t kConditionsBudget = 2'500'000;

// Of one validation, or of the policy as a whole.
struct Decision {
  bool denied = false;
  std::string message = {};
  std::string reason = {};  // empty: Invalid
};

struct Annotation {
  std::string key;
  std::string value;
  std::string error = {};  // not empty: the request is refused with it
};

struct Judgement {
  std::vector<Decision> decisions;  // in the order of the validations
  std::vector<Annotation> annotations;
  std::size_t evaluated = 0;  // expressions
};

struct Budgets {
  std::uint64_t expression = kExpressionBudget;
  std::uint64_t policy = kPolicyBudget;
  std::uint64_t conditions = kConditionsBudget;
};

// `version`: in which the policy sees the objects. `params`: null when it has none.
Judgement Evaluate(const CompiledPolicy& policy, const Version& version, Inputs& inputs,
                   const api::DocumentNode* params, const Budgets& budgets = {});

}  // namespace dray::policy
