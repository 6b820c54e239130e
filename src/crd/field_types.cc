// SPDX-License-Identifier: Apache-2.0
#include "crd/field_types.h"

#include <utility>

#include "api/meta.h"
#include "fmt/format.h"

namespace dray::crd {

using api::ListKind;
using api::Shape;

namespace {
constexpr std::size_t kMostProperties = 32'000;
}  // namespace

FieldTypes::FieldTypes(const Schema& schema) {
  api::TypeInfo& any = New(Shape::kMap);
  any.element = &any;
  any_ = &any;
  root_ = Make(schema, true);
}

api::TypeInfo& FieldTypes::New(Shape shape) {
  api::TypeInfo info{};
  info.shape = shape;
  return types_.emplace_back(info);
}

std::string_view FieldTypes::Keep(std::string text) { return texts_.emplace_back(std::move(text)); }

api::FieldOptions FieldTypes::OptionsOf(const Schema& schema) {
  api::FieldOptions options;
  if (schema.list_type == "set") options.list = ListKind::kSet;
  if (schema.list_type == "map") {
    options.list = ListKind::kMap;
    options.keys = Keep(fmt::format("{}", fmt::join(schema.list_map_keys, ",")));
  }
  options.atomic = schema.map_type == "atomic";
  return options;
}

void FieldTypes::AddField(api::StructInfo& info, std::string_view name, const api::TypeInfo* type,
                          const api::FieldOptions& options) {
  info.fields.push_back(
      {.name = name, .type = type, .options = options, .get = nullptr, .mut = nullptr});
}

const api::TypeInfo* FieldTypes::Make(const Schema& schema, bool root) {
  if (schema.type == "array" && schema.items != nullptr) {
    api::TypeInfo& list = New(Shape::kList);
    list.element = Make(*schema.items, false);
    return &list;
  }
  const bool whole = root || schema.embedded_resource;
  if (schema.type == "object" && schema.additional != nullptr && schema.properties.empty()) {
    api::TypeInfo& map = New(Shape::kMap);
    map.element = Make(*schema.additional, false);
    return &map;
  }
  // More names than a table has room for are like those of a map.
  const bool table = whole || !schema.properties.empty();
  if (schema.type == "object" && table && schema.properties.size() < kMostProperties) {
    api::StructInfo& info = structs_.emplace_back();
    info.name = "";
    info.atomic = schema.map_type == "atomic";
    if (whole) {
      const api::TypeInfo* text = &New(Shape::kString);
      AddField(info, "apiVersion", text, {});
      AddField(info, "kind", text, {});
      if (root) AddField(info, "metadata", &api::TypeInfoOf<api::ObjectMeta>(), {});
    }
    for (const Property& property : schema.properties) {
      const bool meta = property.name == "apiVersion" || property.name == "kind" ||
                        (root && property.name == "metadata");
      if (whole && meta) continue;
      AddField(info, property.name, Make(*property.schema, false), OptionsOf(*property.schema));
    }
    if (schema.Preserves() || (schema.has_additional && schema.allows_additional)) {
      info.others = schema.additional != nullptr ? Make(*schema.additional, false) : any_;
    }
    if (schema.embedded_resource) info.others = any_;
    api::internal::BuildSlots(info);
    api::TypeInfo& type = New(Shape::kStruct);
    type.described = &info;
    return &type;
  }
  if (schema.type == "object" || (schema.type.empty() && schema.Preserves())) return any_;
  return &New(Shape::kString);
}

}  // namespace dray::crd
