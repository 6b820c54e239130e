// SPDX-License-Identifier: Apache-2.0
//
// Changing JSON trees: what patches are made of. api::Node is the tree; these are its verbs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/document.h"
#include "base/status.h"

namespace dray::rest {

using api::Node;

inline bool IsNull(const Node& node) { return node.kind == Node::Kind::kNull; }
inline bool IsMap(const Node& node) { return node.kind == Node::Kind::kMap; }
inline bool IsList(const Node& node) { return node.kind == Node::Kind::kList; }
inline bool IsString(const Node& node) { return node.kind == Node::Kind::kString; }

Node MapNode();
Node ListNode();
Node StringNode(std::string_view text);
Node NumberNode(std::int64_t number);
Node BoolNode(bool value);

// The member's value, or null when the map has none. Keys are unique in trees of ReadTree.
Node* FindIn(Node& map, std::string_view key);
const Node* FindIn(const Node& map, std::string_view key);
// Overwrites or appends.
Node& SetIn(Node& map, std::string_view key, Node value);
bool EraseIn(Node& map, std::string_view key);

// The value of a string member; empty when it is missing or no string.
std::string_view TextIn(const Node& map, std::string_view key);

// The same JSON value: members in any order, numbers by what they are (1 and 1.0).
bool JsonEqual(const Node& a, const Node& b);

// A patch is merged by looking for its keys one by one: a wider one would take too long.
inline constexpr std::size_t kMaxTreeWidth = 10'000;

// JSON, or YAML when `yaml`: one document. Of keys that come twice the last counts. Refuses what is
// not well-formed, and lists and maps of more than kMaxTreeWidth.
StatusOr<Node> ReadTree(std::string_view text, bool yaml = false);
void KeepLastOfEqualKeys(Node& node);

// Go's words for what kind of JSON value it is: "string", "number", "array", "object", ...
std::string_view JsonKindName(const Node& node);

}  // namespace dray::rest
