// SPDX-License-Identifier: Apache-2.0
//
// What a value is to field managers: something with one owner, or something whose parts have
// theirs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_table.h"
#include "rest/tree.h"

namespace dray::rest::internal {

enum class Nature : std::uint8_t { kLeaf, kStruct, kMap, kSet, kKeyed };

// A type without the optionals around it, as a field of a struct uses it.
struct Schema {
  const api::TypeInfo* type = nullptr;  // null: unknown to the tables
  Nature nature = Nature::kLeaf;
  std::string_view keys = {};  // kKeyed
};

inline const api::TypeInfo* WithoutOptional(const api::TypeInfo* type) {
  while (type != nullptr && type->shape == api::Shape::kOptional) type = type->element;
  return type;
}

inline Schema SchemaOf(const api::TypeInfo* declared, const api::FieldOptions& options = {}) {
  const api::TypeInfo* type = WithoutOptional(declared);
  if (type == nullptr) return {};
  switch (type->shape) {
    case api::Shape::kStruct:
      return {type, type->fields().atomic ? Nature::kLeaf : Nature::kStruct};
    case api::Shape::kMap:
      return {type, options.atomic ? Nature::kLeaf : Nature::kMap};
    case api::Shape::kList:
      if (options.list == api::ListKind::kSet) return {type, Nature::kSet};
      if (options.list == api::ListKind::kMap) return {type, Nature::kKeyed, options.keys};
      return {type, Nature::kLeaf};
    default:
      return {type, Nature::kLeaf};
  }
}

inline Schema SchemaOf(const api::FieldInfo& field) { return SchemaOf(field.type, field.options); }
// Of a map's values, or a list's items.
inline Schema ElementOf(const Schema& schema) {
  return SchemaOf(schema.type == nullptr ? nullptr : schema.type->element);
}
// Of a field of a struct or the value of a map; a schema without a type when there is none.
Schema Below(const Schema& schema, std::string_view name);

// The names in FieldOptions::keys, sorted.
std::vector<std::string_view> SortedKeys(std::string_view keys);

// The path element of an item of a set or a keyed list, as FieldSet spells it. Empty when the item
// has none of the keys.
std::string ElementOfItem(const Schema& list, const DocumentNode& item);

}  // namespace dray::rest::internal
