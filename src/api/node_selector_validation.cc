// SPDX-License-Identifier: Apache-2.0
#include "api/internal/node_selector_validation.h"

#include <string_view>

#include "api/internal/name_validation.h"

namespace dray::api::internal {
namespace {

constexpr std::string_view kNameField = "metadata.name";

bool IsSetOperator(std::string_view op) { return op == "In" || op == "NotIn"; }
bool IsPresenceOperator(std::string_view op) { return op == "Exists" || op == "DoesNotExist"; }
bool IsOrderOperator(std::string_view op) { return op == "Gt" || op == "Lt"; }

void CheckLabelRequirement(Report& report, const Path& at, const NodeSelectorRequirement& r) {
  const Path values = at.Child("values");
  if (IsSetOperator(r.operator_)) {
    if (r.values.empty()) report.Required(values, "operators In and NotIn need values");
  } else if (IsPresenceOperator(r.operator_)) {
    if (!r.values.empty()) {
      report.Forbidden(values, "operators Exists and DoesNotExist take no values");
    }
  } else if (IsOrderOperator(r.operator_)) {
    if (r.values.size() != 1) report.Required(values, "operators Gt and Lt need one value");
  } else {
    report.Invalid(at.Child("operator"), r.operator_,
                   "must be In, NotIn, Exists, DoesNotExist, Gt or Lt");
  }
  CheckForm(report, at.Child("key"), r.key, kLabelKey);
  for (std::size_t i = 0; i < r.values.size(); ++i) {
    CheckForm(report, values.Index(i), r.values[i], kLabelValue);
  }
}

void CheckFieldRequirement(Report& report, const Path& at, const NodeSelectorRequirement& r) {
  const Path values = at.Child("values");
  if (!IsSetOperator(r.operator_)) {
    report.Invalid(at.Child("operator"), r.operator_, "must be In or NotIn for a field");
  } else if (r.values.size() != 1) {
    report.Required(values, "operators In and NotIn need one value for a field");
  }
  if (r.key != kNameField) {
    report.Invalid(at.Child("key"), r.key, "the only field that can be selected is metadata.name");
    return;
  }
  for (std::size_t i = 0; i < r.values.size(); ++i) {
    CheckForm(report, values.Index(i), r.values[i], kDnsSubdomain);
  }
}

}  // namespace

void ValidateNodeSelectorTerm(Report& report, const Path& at, const NodeSelectorTerm& term) {
  const Path expressions = at.Child("matchExpressions");
  for (std::size_t i = 0; i < term.match_expressions.size(); ++i) {
    CheckLabelRequirement(report, expressions.Index(i), term.match_expressions[i]);
  }
  const Path fields = at.Child("matchFields");
  for (std::size_t i = 0; i < term.match_fields.size(); ++i) {
    CheckFieldRequirement(report, fields.Index(i), term.match_fields[i]);
  }
}

void ValidateNodeSelector(Report& report, const Path& at, const NodeSelector& selector) {
  const Path terms = at.Child("nodeSelectorTerms");
  if (selector.node_selector_terms.empty()) {
    report.Required(terms, "must have at least one term");
    return;
  }
  for (std::size_t i = 0; i < selector.node_selector_terms.size(); ++i) {
    ValidateNodeSelectorTerm(report, terms.Index(i), selector.node_selector_terms[i]);
  }
}

}  // namespace dray::api::internal
