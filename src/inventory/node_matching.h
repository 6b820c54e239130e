// SPDX-License-Identifier: Apache-2.0
//
// Which slices and devices are for a node.
//
// Spec: docs/spec/allocator.md 2.2.
#pragma once

#include <optional>

#include "absl/container/flat_hash_map.h"
#include "api/node.h"
#include "api/node_selector.h"
#include "base/status.h"
#include "inventory/dictionary.h"
#include "inventory/slice_table.h"

namespace dray::inventory {

// Whether any term holds. InvalidArgument when some part of the selector, even of a term that is
// not needed for the answer, is not well-formed.
StatusOr<bool> Matches(const api::NodeSelector& selector, const api::Node& node);

// One node, asked often. Each distinct selector is looked at once. One thread.
class NodeMatcher {
 public:
  // Both outlive this.
  NodeMatcher(const Dictionary& dictionary, const api::Node& node);

  StatusOr<bool> Matches(const NodeChoice& choice);
  // The node's name, if any object has ever mentioned it.
  std::optional<NameId> name() const { return name_; }

 private:
  const Dictionary& dictionary_;
  const api::Node& node_;
  const std::optional<NameId> name_;
  absl::flat_hash_map<SelectionId, StatusOr<bool>> answers_;
};

}  // namespace dray::inventory
