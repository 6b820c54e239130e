// SPDX-License-Identifier: Apache-2.0
#include "crd/random_schemas_for_test.h"

#include <string>
#include <string_view>

namespace dray::crd {
namespace {

using rest::ListNode;
using rest::MapNode;
using rest::NumberNode;
using rest::SetIn;
using rest::StringNode;

int Below(std::mt19937& random, int n) {
  return static_cast<int>(random() % static_cast<unsigned>(n));
}
bool Often(std::mt19937& random, int percent) { return Below(random, 100) < percent; }

constexpr std::string_view kNames[] = {"a", "b", "c", "d", "e"};
std::string_view Name(std::mt19937& random) { return kNames[Below(random, 5)]; }

DocumentNode Scalar(std::mt19937& random) {
  switch (Below(random, 4)) {
    case 0:
      return NumberNode(Below(random, 5));
    case 1:
      return rest::BoolNode(Often(random, 50));
    case 2:
      return DocumentNode{};
    default:
      return StringNode(Name(random));
  }
}

DocumentNode SchemaNode(std::mt19937& random, int depth, bool root) {
  DocumentNode node = MapNode();
  const int kind = root ? 0 : Below(random, depth > 3 ? 3 : 6);
  if (root || kind >= 4) {
    SetIn(node, "type", StringNode("object"));
    if (!root && Often(random, 30)) {
      SetIn(node, "additionalProperties", SchemaNode(random, depth + 1, false));
    } else {
      DocumentNode properties = MapNode();
      for (const std::string_view name : kNames) {
        if (Often(random, 50)) SetIn(properties, name, SchemaNode(random, depth + 1, false));
      }
      if (Often(random, 30)) {
        DocumentNode required = ListNode();
        required.items.push_back(StringNode(Name(random)));
        SetIn(node, "required", std::move(required));
      }
      SetIn(node, "properties", std::move(properties));
    }
    if (Often(random, 15)) {
      SetIn(node, "x-kubernetes-preserve-unknown-fields", rest::BoolNode(true));
    }
  } else if (kind == 3) {
    SetIn(node, "type", StringNode("array"));
    SetIn(node, "items", SchemaNode(random, depth + 1, false));
    if (Often(random, 20)) SetIn(node, "maxItems", NumberNode(Below(random, 3)));
  } else if (kind == 2) {
    SetIn(node, "type", StringNode("string"));
    if (Often(random, 20)) SetIn(node, "maxLength", NumberNode(Below(random, 2)));
    if (Often(random, 30)) SetIn(node, "default", StringNode(Name(random)));
  } else if (kind == 1) {
    SetIn(node, "type", StringNode("integer"));
    if (Often(random, 20)) SetIn(node, "minimum", NumberNode(2));
    if (Often(random, 30)) SetIn(node, "default", NumberNode(Below(random, 5)));
  } else {
    SetIn(node, "x-kubernetes-preserve-unknown-fields", rest::BoolNode(true));
  }
  if (!root && Often(random, 15)) SetIn(node, "nullable", rest::BoolNode(true));
  return node;
}

}  // namespace

DocumentNode RandomSchema(std::mt19937& random) { return SchemaNode(random, 0, true); }

DocumentNode RandomValue(std::mt19937& random, const Schema* schema, int depth) {
  if (depth > 5) return Scalar(random);
  const std::string type = schema != nullptr && Often(random, 85) ? schema->type : "";
  const int any = Below(random, 4);
  if (type == "object" || (type.empty() && any == 0)) {
    DocumentNode map = MapNode();
    for (const std::string_view name : {"a", "b", "c", "d", "e", "z"}) {
      if (Often(random, 45)) continue;
      const Schema* below = schema == nullptr ? nullptr : schema->FindProperty(name);
      if (below == nullptr && schema != nullptr) below = schema->additional.get();
      SetIn(map, name, RandomValue(random, below, depth + 1));
    }
    return map;
  }
  if (type == "array" || (type.empty() && any == 1)) {
    DocumentNode list = ListNode();
    for (int i = Below(random, 4); i > 0; --i) {
      list.items.push_back(
          RandomValue(random, schema == nullptr ? nullptr : schema->items.get(), depth + 1));
    }
    return list;
  }
  if (type == "string") return StringNode(Name(random));
  if (type == "integer") return NumberNode(Below(random, 5));
  return Scalar(random);
}

}  // namespace dray::crd
