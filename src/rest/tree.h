// SPDX-License-Identifier: Apache-2.0
//
// Changing JSON trees: what patches are made of. api::DocumentNode is the tree; these are its verbs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/document.h"
#include "base/status.h"

namespace dray::rest {

using api::DocumentNode;

inline bool IsNull(const DocumentNode& node) { return node.kind == DocumentNode::Kind::kNull; }
inline bool IsMap(const DocumentNode& node) { return node.kind == DocumentNode::Kind::kMap; }
inline bool IsList(const DocumentNode& node) { return node.kind == DocumentNode::Kind::kList; }
inline bool IsString(const DocumentNode& node) { return node.kind == DocumentNode::Kind::kString; }

DocumentNode MapNode();
DocumentNode ListNode();
DocumentNode StringNode(std::string_view text);
DocumentNode NumberNode(std::int64_t number);
DocumentNode BoolNode(bool value);

// The member's value, or null when the map has none. Keys are unique in trees of ReadTree.
DocumentNode* FindIn(DocumentNode& map, std::string_view key);
const DocumentNode* FindIn(const DocumentNode& map, std::string_view key);
// Overwrites or appends.
DocumentNode& SetIn(DocumentNode& map, std::string_view key, DocumentNode value);
bool EraseIn(DocumentNode& map, std::string_view key);

// Many changes of one map: where it is wide, members are found by a hash of their keys. Nobody else adds
// or removes members as long as this is there; values may be changed. Thread-compatible.
class MapEditor {
 public:
  // At most `more` members are added.
  MapEditor(DocumentNode& map, std::size_t more);
  // Those that were erased are gone from then on.
  ~MapEditor();
  MapEditor(const MapEditor&) = delete;
  MapEditor& operator=(const MapEditor&) = delete;

  DocumentNode* Find(std::string_view key);
  // Overwrites or appends.
  DocumentNode& Set(std::string_view key, DocumentNode value);
  void Erase(std::string_view key);

 private:
  DocumentNode& map_;
  const bool wide_;
  std::unordered_map<std::string_view, std::size_t> places_;  // if wide
  std::vector<bool> erased_;                                  // if wide and any is
};

// The value of a string member; empty when it is missing or no string.
std::string_view TextIn(const DocumentNode& map, std::string_view key);

// The same JSON value: members in any order, numbers by what they are (1 and 1.0).
bool JsonEqual(const DocumentNode& a, const DocumentNode& b);

// Of lists and maps of a patch: it is held against an object, and each entry costs more than its bytes.
inline constexpr std::size_t kMaxTreeWidth = 10'000;

// JSON, or YAML when `yaml`: one document. Of keys that come twice the last counts, and `repeated`
// gets them as RepeatedKeys does. InvalidArgument for what is not well-formed, ResourceExhausted
// for lists and maps of more than `width`, and for more values than a request may have.
StatusOr<DocumentNode> ReadTree(std::string_view text, bool yaml = false,
                                std::vector<std::string>* repeated = nullptr,
                                std::size_t width = kMaxTreeWidth);
// The JSON of an object that was taken: however wide it is, it can be changed.
StatusOr<DocumentNode> ReadTaken(std::string_view json);
void KeepLastOfEqualKeys(DocumentNode& node);
// Keys that come twice in a map, 100 at most, as strict decoding names them: a.labels.b, spec[0].c
std::vector<std::string> RepeatedKeys(const DocumentNode& node);

// Go's words for what kind of JSON value it is: "string", "number", "array", "object", ...
std::string_view JsonKindName(const DocumentNode& node);

}  // namespace dray::rest
