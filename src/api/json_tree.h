// SPDX-License-Identifier: Apache-2.0
//
// JSON documents written down in code: what commands and the console print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/document.h"

namespace dray::api::json {

inline DocumentNode String(std::string_view text) {
  DocumentNode node;
  node.kind = DocumentNode::Kind::kString;
  node.text = text;
  return node;
}

inline DocumentNode Number(std::size_t value) {
  DocumentNode node;
  node.kind = DocumentNode::Kind::kNumber;
  node.text = std::to_string(value);
  return node;
}

inline DocumentNode Bool(bool value) {
  DocumentNode node;
  node.kind = DocumentNode::Kind::kBool;
  node.boolean = value;
  return node;
}

struct Entry {
  std::string_view key;
  DocumentNode value;
};

// In the order given.
inline DocumentNode Map(std::vector<Entry> entries) {
  DocumentNode node;
  node.kind = DocumentNode::Kind::kMap;
  for (Entry& entry : entries) {
    node.members.push_back({std::string(entry.key), {}, std::move(entry.value)});
  }
  return node;
}

inline DocumentNode List(std::vector<DocumentNode> items) {
  DocumentNode node;
  node.kind = DocumentNode::Kind::kList;
  node.items = std::move(items);
  return node;
}

}  // namespace dray::api::json
