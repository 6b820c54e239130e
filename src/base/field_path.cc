// SPDX-License-Identifier: Apache-2.0
#include "base/field_path.h"

#include <algorithm>
#include <utility>

#include "base/valid_utf8.h"

namespace dray::base {
namespace {

// More than a name of Kubernetes may have. A key may be as long as a request, and be a part of as many
// paths as the request has room for: their texts together would have no end.
constexpr std::size_t kMaxShownName = 400;

void AppendName(std::string& text, std::string_view name) {
  const std::string_view shown = Beginning(name, kMaxShownName);
  text += shown;
  if (shown.size() < name.size()) text += "...";
}

}  // namespace

FieldPath::FieldPath(std::string_view first_field) : FieldPath(FieldPath().Child(first_field)) {}

FieldPath FieldPath::Append(Segment segment) const {
  return FieldPath(std::make_shared<const Node>(Node{tail_, std::move(segment)}));
}

FieldPath FieldPath::Child(std::string_view name) const { return Append(Field{std::string(name)}); }
FieldPath FieldPath::Index(std::size_t index) const { return Append(index); }
FieldPath FieldPath::Key(std::string_view key) const { return Append(MapKey{std::string(key)}); }

FieldPath FieldPath::Parent() const { return tail_ ? FieldPath(tail_->parent) : FieldPath(); }

std::vector<FieldPath::Segment> FieldPath::Segments() const {
  std::vector<Segment> segments;
  for (const Node* node = tail_.get(); node != nullptr; node = node->parent.get()) {
    segments.push_back(node->segment);
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

std::string FieldPath::ToString() const {
  std::vector<const Node*> nodes;
  for (const Node* node = tail_.get(); node != nullptr; node = node->parent.get()) {
    nodes.push_back(node);
  }
  std::ranges::reverse(nodes);
  std::string text;
  for (const Node* node : nodes) {
    if (const auto* field = std::get_if<Field>(&node->segment)) {
      if (!text.empty()) text += '.';
      AppendName(text, field->name);
    } else if (const auto* index = std::get_if<std::size_t>(&node->segment)) {
      text.append("[").append(std::to_string(*index)).append("]");
    } else {
      text += '[';
      AppendName(text, std::get<MapKey>(node->segment).key);
      text += ']';
    }
  }
  return text;
}

bool operator==(const FieldPath& a, const FieldPath& b) { return a.Segments() == b.Segments(); }

}  // namespace dray::base
