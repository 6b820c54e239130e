// SPDX-License-Identifier: Apache-2.0
#include "inventory/node_matching.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/integer.h"
#include "base/names.h"
#include "fmt/format.h"

namespace dray::inventory {
namespace {

using Requirement = api::NodeSelectorRequirement;

constexpr std::string_view kNameField = "metadata.name";

enum class Operator : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

std::optional<Operator> OperatorOf(std::string_view name) {
  if (name == "In") return Operator::kIn;
  if (name == "NotIn") return Operator::kNotIn;
  if (name == "Exists") return Operator::kExists;
  if (name == "DoesNotExist") return Operator::kDoesNotExist;
  if (name == "Gt") return Operator::kGt;
  if (name == "Lt") return Operator::kLt;
  return std::nullopt;
}

Status UnknownOperator(const Requirement& r, std::string_view expected) {
  return base::InvalidArgument(
      fmt::format("operator \"{}\" of \"{}\": must be {}", r.operator_, r.key, expected));
}

Status CheckValueCount(const Requirement& r, Operator op) {
  switch (op) {
    case Operator::kIn:
    case Operator::kNotIn:
      if (!r.values.empty()) return absl::OkStatus();
      return base::InvalidArgument(
          fmt::format("\"{}\" {}: must have at least one value", r.key, r.operator_));
    case Operator::kExists:
    case Operator::kDoesNotExist:
      if (r.values.empty()) return absl::OkStatus();
      return base::InvalidArgument(fmt::format("\"{}\" {}: takes no values", r.key, r.operator_));
    case Operator::kGt:
    case Operator::kLt:
      if (r.values.size() == 1 && base::ParseInteger(r.values[0]).has_value())
        return absl::OkStatus();
      return base::InvalidArgument(
          fmt::format("\"{}\" {}: must have one value, an integer", r.key, r.operator_));
  }
  return absl::OkStatus();
}

Status CheckLabel(const Requirement& r) {
  const std::optional<Operator> op = OperatorOf(r.operator_);
  if (!op.has_value()) return UnknownOperator(r, "In, NotIn, Exists, DoesNotExist, Gt or Lt");
  DRAY_RETURN_IF_ERROR(CheckValueCount(r, *op));
  if (!base::IsLabelKey(r.key)) {
    return base::InvalidArgument(
        fmt::format("label key \"{}\": {}", r.key, base::CheckLabelKey(r.key)[0]));
  }
  for (const std::string& value : r.values) {
    if (base::IsLabelValue(value)) continue;
    return base::InvalidArgument(fmt::format("value \"{}\" of label \"{}\": {}", value, r.key,
                                             base::CheckLabelValue(value)[0]));
  }
  return absl::OkStatus();
}

Status CheckField(const Requirement& r) {
  if (r.operator_ != "In" && r.operator_ != "NotIn") {
    return UnknownOperator(r, "In or NotIn for a field");
  }
  if (r.values.size() == 1) return absl::OkStatus();
  return base::InvalidArgument(fmt::format("field \"{}\": must have exactly one value", r.key));
}

Status Check(const api::NodeSelector& selector) {
  for (const api::NodeSelectorTerm& term : selector.node_selector_terms) {
    for (const Requirement& r : term.match_expressions) DRAY_RETURN_IF_ERROR(CheckLabel(r));
    for (const Requirement& r : term.match_fields) DRAY_RETURN_IF_ERROR(CheckField(r));
  }
  return absl::OkStatus();
}

// The rest takes requirements that were checked.

bool LabelHolds(const Requirement& r, const api::Map<std::string>& labels) {
  const std::string* value = labels.Find(r.key);
  const bool listed = value != nullptr && std::ranges::find(r.values, *value) != r.values.end();
  const auto number = value == nullptr ? std::nullopt : base::ParseInteger(*value);
  switch (*OperatorOf(r.operator_)) {
    case Operator::kIn:
      return listed;
    case Operator::kNotIn:
      return !listed;
    case Operator::kExists:
      return value != nullptr;
    case Operator::kDoesNotExist:
      return value == nullptr;
    case Operator::kGt:
      return number.has_value() && *number > *base::ParseInteger(r.values[0]);
    case Operator::kLt:
      return number.has_value() && *number < *base::ParseInteger(r.values[0]);
  }
  return false;
}

// A field other than the name is empty, as the selectors of Kubernetes see it.
bool FieldHolds(const Requirement& r, std::string_view node_name) {
  const std::string_view value = r.key == kNameField ? node_name : std::string_view();
  return (value == r.values[0]) == (r.operator_ == "In");
}

bool TermHolds(const api::NodeSelectorTerm& term, const api::Node& node) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  const auto label_holds = [&](const Requirement& r) {
    return LabelHolds(r, node.metadata.labels);
  };
  const auto field_holds = [&](const Requirement& r) { return FieldHolds(r, node.metadata.name); };
  return std::ranges::all_of(term.match_expressions, label_holds) &&
         std::ranges::all_of(term.match_fields, field_holds);
}

}  // namespace

StatusOr<bool> Matches(const api::NodeSelector& selector, const api::Node& node) {
  DRAY_RETURN_IF_ERROR(Check(selector));
  return std::ranges::any_of(selector.node_selector_terms, [&](const api::NodeSelectorTerm& term) {
    return TermHolds(term, node);
  });
}

NodeMatcher::NodeMatcher(const Dictionary& dictionary, const api::Node& node)
    : dictionary_(dictionary), node_(node), name_(dictionary.Find(node.metadata.name)) {}

StatusOr<bool> NodeMatcher::Matches(const NodeChoice& choice) {
  if (choice.has_node) return name_ == choice.node;
  if (choice.all_nodes) return true;
  if (choice.selector == SelectionId::kNone) return false;
  const auto [it, added] = answers_.try_emplace(choice.selector, false);
  if (added) it->second = inventory::Matches(dictionary_.At(choice.selector), node_);
  return it->second;
}

}  // namespace dray::inventory
