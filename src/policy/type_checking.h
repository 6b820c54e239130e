// SPDX-License-Identifier: Apache-2.0
//
// Whether the expressions of a policy fit the kinds that they will see: a field that no kind has is
// told when the policy is made, and not when the first request fails on it. What does not fit is a
// warning; the policy works as it would without.
//
// Spec: Kubernetes, "Validating Admission Policy", type checking.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "policy/policy_spec.h"

namespace dray::policy {

struct ExpressionWarning {
  std::string field;  // spec.validations[0].expression
  std::string text;
};

// The kind of a resource, or of an apiVersion and a kind; null: it is not known, or only as JSON.
struct KnownKinds {
  std::function<const api::KindInfo*(std::string_view group, std::string_view version,
                                     std::string_view resource)>
      of_resource;
  std::function<const api::KindInfo*(std::string_view api_version, std::string_view kind)> find;
};

std::vector<ExpressionWarning> CheckTypes(const PolicySpec& spec, const KnownKinds& kinds);

}  // namespace dray::policy
