// SPDX-License-Identifier: Apache-2.0
#include "rest/tree.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/json.h"
#include "base/valid_utf8.h"
#include "fmt/format.h"
#include "rest/internal/body_size.h"

namespace dray::rest {
namespace {

bool NumbersEqual(std::string_view a, std::string_view b) {
  if (a == b) return true;
  double x = 0;
  double y = 0;
  std::from_chars(a.data(), a.data() + a.size(), x);
  std::from_chars(b.data(), b.data() + b.size(), y);
  // Two integers that doubles cannot tell apart are told apart by their digits.
  const bool integers = a.find_first_of(".eE") == a.npos && b.find_first_of(".eE") == b.npos;
  return !integers && x == y;
}

bool TooWide(const DocumentNode& node, std::size_t width) {
  const auto too_wide = [width](const DocumentNode& below) { return TooWide(below, width); };
  return node.items.size() > width || node.members.size() > width ||
         std::ranges::any_of(node.items, too_wide) ||
         std::ranges::any_of(node.members, too_wide, &api::Member::value);
}

// As Kubernetes does: who repeats more than that is not told of each.
constexpr std::size_t kMaxRepeated = 100;
// A key may be as long as the body; none that is valid is longer than this.
constexpr std::size_t kMaxShownKey = 400;

// `path` leads to the node, and does so again afterwards.
void AddRepeated(const DocumentNode& node, std::string& path, std::vector<std::string>& paths) {
  const std::size_t here = path.size();
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    path += fmt::format("[{}]", i);
    AddRepeated(node.items[i], path, paths);
    path.resize(here);
  }
  std::set<std::string_view> seen;
  for (const api::Member& member : node.members) {
    if (here > 0) path += '.';
    path += base::Beginning(member.key, kMaxShownKey);
    if (!seen.insert(member.key).second && paths.size() < kMaxRepeated) paths.push_back(path);
    AddRepeated(member.value, path, paths);
    path.resize(here);
  }
}

DocumentNode Made(DocumentNode::Kind kind) {
  DocumentNode node;
  node.kind = kind;
  return node;
}

}  // namespace

DocumentNode MapNode() { return Made(DocumentNode::Kind::kMap); }
DocumentNode ListNode() { return Made(DocumentNode::Kind::kList); }
DocumentNode StringNode(std::string_view text) {
  DocumentNode node = Made(DocumentNode::Kind::kString);
  node.text = text;
  return node;
}
DocumentNode NumberNode(std::int64_t number) {
  DocumentNode node = Made(DocumentNode::Kind::kNumber);
  node.text = fmt::format_int(number).str();
  return node;
}
DocumentNode BoolNode(bool value) {
  DocumentNode node = Made(DocumentNode::Kind::kBool);
  node.boolean = value;
  return node;
}

DocumentNode* FindIn(DocumentNode& map, std::string_view key) {
  const auto it = std::ranges::find(map.members, key, &api::Member::key);
  return it == map.members.end() ? nullptr : &it->value;
}
const DocumentNode* FindIn(const DocumentNode& map, std::string_view key) {
  return FindIn(const_cast<DocumentNode&>(map), key);
}

DocumentNode& SetIn(DocumentNode& map, std::string_view key, DocumentNode value) {
  if (DocumentNode* present = FindIn(map, key)) return *present = std::move(value);
  map.members.push_back({.key = std::string(key), .key_position = {}, .value = std::move(value)});
  return map.members.back().value;
}

bool EraseIn(DocumentNode& map, std::string_view key) {
  return std::erase_if(map.members, [&](const api::Member& m) { return m.key == key; }) > 0;
}

namespace {
constexpr std::size_t kWide = 64;
}  // namespace

// Without room for all there would be, keys would move while they are pointed at.
MapEditor::MapEditor(DocumentNode& map, std::size_t more)
    : map_(map), wide_(more > 1 && map.members.size() + more > kWide) {
  if (!wide_) return;
  map_.members.reserve(map_.members.size() + more);
  places_.reserve(map_.members.size() + more);
  for (std::size_t i = 0; i < map_.members.size(); ++i) places_.emplace(map_.members[i].key, i);
}

MapEditor::~MapEditor() {
  if (erased_.empty()) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < map_.members.size(); ++i) {
    if (i < erased_.size() && erased_[i]) continue;
    if (kept != i) map_.members[kept] = std::move(map_.members[i]);
    ++kept;
  }
  map_.members.resize(kept);
}

DocumentNode* MapEditor::Find(std::string_view key) {
  if (!wide_) return FindIn(map_, key);
  const auto found = places_.find(key);
  return found == places_.end() ? nullptr : &map_.members[found->second].value;
}

DocumentNode& MapEditor::Set(std::string_view key, DocumentNode value) {
  if (!wide_) return SetIn(map_, key, std::move(value));
  if (DocumentNode* present = Find(key)) return *present = std::move(value);
  map_.members.push_back({.key = std::string(key), .key_position = {}, .value = std::move(value)});
  places_.emplace(map_.members.back().key, map_.members.size() - 1);
  return map_.members.back().value;
}

void MapEditor::Erase(std::string_view key) {
  if (!wide_) {
    EraseIn(map_, key);
    return;
  }
  const auto found = places_.find(key);
  if (found == places_.end()) return;
  erased_.resize(map_.members.size());
  erased_[found->second] = true;
  places_.erase(found);
}

std::string_view TextIn(const DocumentNode& map, std::string_view key) {
  const DocumentNode* value = FindIn(map, key);
  return value != nullptr && IsString(*value) ? std::string_view(value->text) : std::string_view();
}

namespace {

// Members are nearly always in the same order; where they are not, and many, each is looked up.
bool MembersEqual(const DocumentNode& a, const DocumentNode& b) {
  constexpr std::size_t kMany = 16;
  if (a.members.size() != b.members.size()) return false;
  std::unordered_map<std::string_view, const DocumentNode*> others;
  for (std::size_t i = 0; i < a.members.size(); ++i) {
    const api::Member& member = a.members[i];
    const DocumentNode* other = nullptr;
    if (b.members[i].key == member.key) {
      other = &b.members[i].value;
    } else if (b.members.size() <= kMany) {
      other = FindIn(b, member.key);
    } else {
      if (others.empty()) {
        for (const api::Member& one : b.members) others.emplace(one.key, &one.value);
      }
      const auto found = others.find(member.key);
      if (found != others.end()) other = found->second;
    }
    if (other == nullptr || !JsonEqual(member.value, *other)) return false;
  }
  return true;
}

}  // namespace

bool JsonEqual(const DocumentNode& a, const DocumentNode& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case DocumentNode::Kind::kNull:
      return true;
    case DocumentNode::Kind::kBool:
      return a.boolean == b.boolean;
    case DocumentNode::Kind::kNumber:
      return NumbersEqual(a.text, b.text);
    case DocumentNode::Kind::kString:
      return a.text == b.text;
    case DocumentNode::Kind::kList:
      return std::ranges::equal(a.items, b.items, JsonEqual);
    case DocumentNode::Kind::kMap:
      return MembersEqual(a, b);
  }
  return false;
}

std::vector<std::string> RepeatedKeys(const DocumentNode& node) {
  std::string path;
  std::vector<std::string> paths;
  AddRepeated(node, path, paths);
  return paths;
}

void KeepLastOfEqualKeys(DocumentNode& node) {
  for (DocumentNode& item : node.items) KeepLastOfEqualKeys(item);
  for (api::Member& member : node.members) KeepLastOfEqualKeys(member.value);
  std::set<std::string_view> seen;
  std::vector<bool> keep(node.members.size());
  std::size_t kept = 0;
  for (std::size_t i = node.members.size(); i-- > 0;) {
    keep[i] = seen.insert(node.members[i].key).second;
    kept += keep[i] ? 1 : 0;
  }
  if (kept == node.members.size()) return;
  std::vector<api::Member> members;
  for (std::size_t i = 0; i < keep.size(); ++i) {
    if (keep[i]) members.push_back(std::move(node.members[i]));
  }
  node.members = std::move(members);
}

namespace {

Status FirstError(const std::vector<api::Diagnostic>& diagnostics) {
  for (const api::Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity == api::Severity::kError) {
      return base::InvalidArgument(ToString(diagnostic));
    }
  }
  return {};
}

}  // namespace

StatusOr<DocumentNode> ReadTree(std::string_view text, bool yaml,
                                std::vector<std::string>* repeated, std::size_t width) {
  if (internal::HasTooManyValues(text, yaml)) {
    return base::MakeStatus(
        StatusCode::kResourceExhausted,
        fmt::format("there are more than {} values in it", internal::kMaxBodyValues));
  }
  std::vector<api::Diagnostic> diagnostics;
  DocumentNode root;
  if (yaml) {
    std::vector<DocumentNode> documents = api::ParseYaml(text, diagnostics);
    if (documents.size() > 1) {
      return base::InvalidArgument(
          fmt::format("one YAML document was expected, {} were sent", documents.size()));
    }
    if (!documents.empty()) root = std::move(documents.front());
  } else {
    root = api::ParseJson(text, diagnostics);
  }
  DRAY_RETURN_IF_ERROR(FirstError(diagnostics));
  if (TooWide(root, width)) {
    return base::MakeStatus(StatusCode::kResourceExhausted,
                            fmt::format("a list or map of a patch has at most {} entries", width));
  }
  if (repeated != nullptr) *repeated = RepeatedKeys(root);
  KeepLastOfEqualKeys(root);
  return root;
}

StatusOr<DocumentNode> ReadTaken(std::string_view json) {
  std::vector<api::Diagnostic> diagnostics;
  DocumentNode root = api::ParseJson(json, diagnostics);
  DRAY_RETURN_IF_ERROR(FirstError(diagnostics));
  KeepLastOfEqualKeys(root);
  return root;
}

std::string_view JsonKindName(const DocumentNode& node) {
  constexpr std::string_view kNames[] = {"null", "bool", "number", "string", "array", "object"};
  return kNames[static_cast<std::size_t>(node.kind)];
}

}  // namespace dray::rest
