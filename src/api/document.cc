// SPDX-License-Identifier: Apache-2.0
#include "api/document.h"

#include <algorithm>
#include <variant>

#include "api/internal/json_text.h"

namespace dray::api {
namespace {

void AppendJson(const DocumentNode& node, std::string& out) {
  switch (node.kind) {
    case DocumentNode::Kind::kNull:
      out += "null";
      return;
    case DocumentNode::Kind::kBool:
      out += node.boolean ? "true" : "false";
      return;
    case DocumentNode::Kind::kNumber:
      out += node.text;
      return;
    case DocumentNode::Kind::kString:
      internal::AppendJsonString(node.text, out);
      return;
    case DocumentNode::Kind::kList:
      out += '[';
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        if (i > 0) out += ',';
        AppendJson(node.items[i], out);
      }
      out += ']';
      return;
    case DocumentNode::Kind::kMap:
      out += '{';
      for (std::size_t i = 0; i < node.members.size(); ++i) {
        if (i > 0) out += ',';
        internal::AppendJsonString(node.members[i].key, out);
        out += ':';
        AppendJson(node.members[i].value, out);
      }
      out += '}';
      return;
  }
}

// The member for a field name, looking through v1beta1's `basic`.
const Member* FindField(const DocumentNode& node, std::string_view name) {
  if (const Member* member = node.Find(name)) return member;
  const Member* basic = node.Find("basic");
  return basic == nullptr ? nullptr : basic->value.Find(name);
}

}  // namespace

const Member* DocumentNode::Find(std::string_view key) const {
  const auto it =
      std::find_if(members.rbegin(), members.rend(), [&](const Member& m) { return m.key == key; });
  return it == members.rend() ? nullptr : &*it;
}

std::string ToJson(const DocumentNode& node) {
  std::string out;
  AppendJson(node, out);
  return out;
}

namespace {

// How far a path leads into a tree.
struct Walk {
  const DocumentNode* node;
  Position position;
  bool complete = false;
};

Walk Follow(const DocumentNode& root, const base::FieldPath& path) {
  Walk walk{.node = &root, .position = root.position};
  for (const base::FieldPath::Segment& segment : path.Segments()) {
    if (const auto* index = std::get_if<std::size_t>(&segment)) {
      if (*index >= walk.node->items.size()) return walk;
      walk.node = &walk.node->items[*index];
      walk.position = walk.node->position;
      continue;
    }
    const auto* field = std::get_if<base::FieldPath::Field>(&segment);
    const std::string& name =
        field != nullptr ? field->name : std::get<base::FieldPath::MapKey>(segment).key;
    const Member* member = FindField(*walk.node, name);
    if (member == nullptr) {
      if (name == "exactly") continue;  // v1beta1 has its fields in the request itself
      return walk;
    }
    walk.node = &member->value;
    walk.position = member->key_position;
  }
  walk.complete = true;
  return walk;
}

}  // namespace

Position Locate(const DocumentNode& root, const base::FieldPath& path) {
  return Follow(root, path).position;
}

const DocumentNode* FindValue(const DocumentNode& root, const base::FieldPath& path) {
  const Walk walk = Follow(root, path);
  return walk.complete ? walk.node : nullptr;
}

}  // namespace dray::api
