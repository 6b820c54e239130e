// SPDX-License-Identifier: Apache-2.0
#include "cel/document_values.h"

#include <charconv>
#include <cstdint>
#include <span>

#include "cel/values.h"

namespace dray::cel {
namespace {

Value NumberOf(std::string_view text) {
  std::int64_t whole = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, whole);
  if (read.ec == std::errc() && read.ptr == end) return Value::Int(whole);
  double number = 0;
  std::from_chars(text.data(), end, number);
  return Value::Double(number);
}

}  // namespace

Value ValueOf(Arena& arena, const api::DocumentNode& node) {
  using Kind = api::DocumentNode::Kind;
  switch (node.kind) {
    case Kind::kNull:
      return Value::Null();
    case Kind::kBool:
      return Value::Bool(node.boolean);
    case Kind::kNumber:
      return NumberOf(node.text);
    case Kind::kString:
      return Value::String(node.text);
    case Kind::kList: {
      const std::span<Value> values = arena.NewArray<Value>(node.items.size());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = ValueOf(arena, node.items[i]);
      return WrapList(arena, values);
    }
    case Kind::kMap: {
      auto* map = arena.New<GrowingMap>();
      for (const api::Member& member : node.members) {
        map->PutSameKind(arena, Value::String(member.key), ValueOf(arena, member.value));
      }
      return Value::Pointer(cel::Kind::kMap, static_cast<const Map*>(map));
    }
  }
  return Value::Null();
}

}  // namespace dray::cel
