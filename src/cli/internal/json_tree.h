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

inline api::Node String(std::string_view text) {
  api::Node node;
  node.kind = api::Node::Kind::kString;
  node.text = text;
  return node;
}

inline api::Node Number(std::size_t value) {
  api::Node node;
  node.kind = api::Node::Kind::kNumber;
  node.text = std::to_string(value);
  return node;
}

inline api::Node Bool(bool value) {
  api::Node node;
  node.kind = api::Node::Kind::kBool;
  node.boolean = value;
  return node;
}

struct Entry {
  std::string_view key;
  api::Node value;
};

// In the order given.
inline api::Node Map(std::vector<Entry> entries) {
  api::Node node;
  node.kind = api::Node::Kind::kMap;
  for (Entry& entry : entries) {
    node.members.push_back({std::string(entry.key), {}, std::move(entry.value)});
  }
  return node;
}

inline api::Node List(std::vector<api::Node> items) {
  api::Node node;
  node.kind = api::Node::Kind::kList;
  node.items = std::move(items);
  return node;
}

}  // namespace dray::cli::internal
