// SPDX-License-Identifier: Apache-2.0
//
// A ValidatingAdmissionPolicy and its bindings as plain values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "api/label_selector.h"
#include "policy/match_rules.h"

namespace dray::policy {

struct ParamKind {
  std::string api_version;
  std::string kind;
  // "example.com/v1, Kind=Limit", as messages have it.
  std::string Shown() const;
  friend bool operator==(const ParamKind&, const ParamKind&) = default;
};

struct Validation {
  std::string expression;
  std::string message;
  std::string reason;              // empty: Invalid
  std::string message_expression;  // empty: none
};

// Something with a name: a variable, a condition, an annotation.
struct NamedExpression {
  std::string name;
  std::string expression;
};

struct PolicySpec {
  std::string name;
  std::optional<ParamKind> params;
  MatchResources match;
  std::vector<NamedExpression> conditions;
  std::vector<NamedExpression> variables;
  std::vector<Validation> validations;
  std::vector<NamedExpression> annotations;
  bool ignore_failures = false;

  static PolicySpec Read(const api::Object& policy);
};

struct ParamRef {
  std::string name;
  std::string namespace_;
  std::optional<api::LabelMatcher> selector;
  bool deny_if_none = false;
  friend bool operator==(const ParamRef&, const ParamRef&) = default;
};

struct BindingSpec {
  std::string name;
  std::string policy;
  std::optional<ParamRef> params;
  std::optional<MatchResources> match;
  std::vector<std::string> actions;  // Deny, Warn, Audit

  static BindingSpec Read(const api::Object& binding);
};

bool IsPolicy(const api::KindInfo& kind);
bool IsBinding(const api::KindInfo& kind);

}  // namespace dray::policy
