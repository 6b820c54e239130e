// SPDX-License-Identifier: Apache-2.0
#include "api/document.h"

#include <algorithm>
#include <variant>

#include "api/internal/json_text.h"

namespace dray::api {
namespace {

// Whether each string is written as it was read, or in one way whatever that was.
enum class Escapes : std::uint8_t { kAsRead, kOneWay };

void AppendString(const std::string& text, const Box<std::string>& written, Escapes escapes,
                  std::string& out) {
  if (written.has_value() && escapes == Escapes::kAsRead) {
    out += *written;
  } else {
    internal::AppendJsonString(text, out);
  }
}

void AppendJson(const DocumentNode& node, Escapes escapes, std::string& out) {
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
      AppendString(node.text, node.written, escapes, out);
      return;
    case DocumentNode::Kind::kList:
      out += '[';
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        if (i > 0) out += ',';
        AppendJson(node.items[i], escapes, out);
      }
      out += ']';
      return;
    case DocumentNode::Kind::kMap:
      out += '{';
      for (std::size_t i = 0; i < node.members.size(); ++i) {
        if (i > 0) out += ',';
        AppendString(node.members[i].key, node.members[i].written, escapes, out);
        out += ':';
        AppendJson(node.members[i].value, escapes, out);
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
  AppendJson(node, Escapes::kAsRead, out);
  return out;
}

bool SameJson(std::string_view a, std::string_view b) {
  // A whole document has to be a list or a map; these may be any value.
  const auto in_one_way = [](std::string_view text) -> std::string {
    if (text.empty()) return {};
    std::vector<Diagnostic> diagnostics;
    const DocumentNode list = ParseJson(std::string("[").append(text).append("]"), diagnostics);
    std::string out;
    if (diagnostics.empty()) AppendJson(list, Escapes::kOneWay, out);
    return out;
  };
  const std::string first = in_one_way(a);
  return !first.empty() && first == in_one_way(b);
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
