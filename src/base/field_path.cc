// SPDX-License-Identifier: Apache-2.0
#include "base/field_path.h"

#include <algorithm>
#include <utility>

namespace dray::base {

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
  std::string text;
  for (const Segment& segment : Segments()) {
    if (const auto* field = std::get_if<Field>(&segment)) {
      if (!text.empty()) text += '.';
      text += field->name;
    } else if (const auto* index = std::get_if<std::size_t>(&segment)) {
      text.append("[").append(std::to_string(*index)).append("]");
    } else {
      text.append("[").append(std::get<MapKey>(segment).key).append("]");
    }
  }
  return text;
}

bool operator==(const FieldPath& a, const FieldPath& b) { return a.Segments() == b.Segments(); }

}  // namespace dray::base
