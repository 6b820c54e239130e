// SPDX-License-Identifier: Apache-2.0
#include "api/node_selector.h"

namespace dray::api {

const StructInfo& InfoOf(const NodeSelectorRequirement*) {
  using T = NodeSelectorRequirement;
  static const StructInfo info =
      Struct<T>("NodeSelectorRequirement",
                {
                    Field<&T::key>("key", {.presence = Presence::kAlways}),
                    Field<&T::operator_>("operator", {.presence = Presence::kAlways}),
                    Field<&T::values>("values"),
                });
  return info;
}

const StructInfo& InfoOf(const NodeSelectorTerm*) {
  using T = NodeSelectorTerm;
  static const StructInfo info = Struct<T>("NodeSelectorTerm",
                                           {
                                               Field<&T::match_expressions>("matchExpressions"),
                                               Field<&T::match_fields>("matchFields"),
                                           },
                                           {.atomic = true});
  return info;
}

const StructInfo& InfoOf(const NodeSelector*) {
  using T = NodeSelector;
  static const StructInfo info = Struct<T>(
      "NodeSelector",
      {Field<&T::node_selector_terms>("nodeSelectorTerms", {.presence = Presence::kAlways})},
      {.atomic = true});
  return info;
}

}  // namespace dray::api
