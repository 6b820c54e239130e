// SPDX-License-Identifier: Apache-2.0
//
// core/v1 NodeSelector: which nodes. Slices, allocations and pod affinity use it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/field_table.h"
#include "api/values.h"

namespace dray::api {

struct NodeSelectorRequirement {
  std::string key;
  std::string operator_;  // In, NotIn, Exists, DoesNotExist, Gt, Lt
  std::vector<std::string> values;
  UnknownFields unknown;
  friend bool operator==(const NodeSelectorRequirement&, const NodeSelectorRequirement&) = default;
};
const StructInfo& InfoOf(const NodeSelectorRequirement*);

// All requirements must hold; a term with none matches nothing.
struct NodeSelectorTerm {
  std::vector<NodeSelectorRequirement> match_expressions;
  std::vector<NodeSelectorRequirement> match_fields;
  UnknownFields unknown;
  friend bool operator==(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};
const StructInfo& InfoOf(const NodeSelectorTerm*);

// Any term.
struct NodeSelector {
  std::vector<NodeSelectorTerm> node_selector_terms;
  UnknownFields unknown;
  friend bool operator==(const NodeSelector&, const NodeSelector&) = default;
};
const StructInfo& InfoOf(const NodeSelector*);

}  // namespace dray::api
