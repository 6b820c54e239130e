// SPDX-License-Identifier: Apache-2.0
#include "api/document.h"

#include <algorithm>
#include <optional>
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

namespace {

// A character of a JSON string, at the start of `text`, which loses it. Nothing: it is written by its
// number, or there is none.
std::optional<char> NextOfString(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  const char c = text.front();
  if (c != '\\') {
    text.remove_prefix(1);
    return c;
  }
  constexpr std::string_view kShort = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  const std::size_t which = text.size() < 2 ? kShort.npos : kShort.find(text[1]);
  if (which == kShort.npos) return std::nullopt;
  text.remove_prefix(2);
  return kMeant[which];
}

// Whether two JSON texts differ in a way that cannot be one of writing. Most that are compared do, close to
// their beginning, and reading both costs a hundred times as much.
bool Differ(std::string_view a, std::string_view b) {
  bool in_string = false;
  while (true) {
    if (!in_string) {
      for (std::string_view* text : {&a, &b}) {
        text->remove_prefix(std::min(text->find_first_not_of(" \t\n\r"), text->size()));
      }
      if (a.empty() || b.empty()) return a.empty() != b.empty();
      if (a.front() != b.front()) return true;
      in_string = a.front() == '"';
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    if (a.empty() || b.empty()) return true;
    const bool ends = a.front() == '"';
    if (ends != (b.front() == '"')) {
      // What escapes stand for, that of half a character for instance, is for who reads both.
      return (ends ? b : a).front() != '\\';
    }
    const std::optional<char> first = NextOfString(a);
    const std::optional<char> second = NextOfString(b);
    if (!first || !second) return false;
    if (*first != *second) return true;
    if (ends) in_string = false;
  }
}

}  // namespace

bool SameJson(std::string_view a, std::string_view b) {
  if (Differ(a, b)) return false;
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
