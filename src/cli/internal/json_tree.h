// SPDX-License-Identifier: Apache-2.0
//
// JSON documents written down in code: what `-o json` prints.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/document.h"

namespace dray::cli::internal {

inline api::DocumentNode String(std::string_view text) {
  api::DocumentNode node;
  node.kind = api::DocumentNode::Kind::kString;
  node.text = text;
  return node;
}

inline api::DocumentNode Number(std::size_t value) {
  api::DocumentNode node;
  node.kind = api::DocumentNode::Kind::kNumber;
  node.text = std::to_string(value);
  return node;
}

inline api::DocumentNode Bool(bool value) {
  api::DocumentNode node;
  node.kind = api::DocumentNode::Kind::kBool;
  node.boolean = value;
  return node;
}

struct Entry {
  std::string_view key;
  api::DocumentNode value;
};

// In the order given.
inline api::DocumentNode Map(std::vector<Entry> entries) {
  api::DocumentNode node;
  node.kind = api::DocumentNode::Kind::kMap;
  for (Entry& entry : entries) {
    node.members.push_back({std::string(entry.key), {}, std::move(entry.value)});
  }
  return node;
}

inline api::DocumentNode List(std::vector<api::DocumentNode> items) {
  api::DocumentNode node;
  node.kind = api::DocumentNode::Kind::kList;
  node.items = std::move(items);
  return node;
}

}  // namespace dray::cli::internal
