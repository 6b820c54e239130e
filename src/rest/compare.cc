// SPDX-License-Identifier: Apache-2.0
#include "rest/compare.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/json.h"
#include "rest/internal/nature.h"

namespace dray::rest {
namespace {

using internal::Nature;
using internal::Schema;

// A value of one of the two versions. Absent, null, or there.
struct Slot {
  const void* value = nullptr;
  bool present = false;

  bool null() const { return value == nullptr; }
};

Slot Content(const api::TypeInfo* type, const void* value) {
  while (value != nullptr && type->shape == api::Shape::kOptional) {
    value = type->get(value);
    type = type->element;
  }
  return {value, true};
}

bool IsItems(const api::TypeInfo& type) {
  return type.shape == api::Shape::kList || type.shape == api::Shape::kMap;
}

Slot FieldOf(const api::FieldInfo& field, const void* object) {
  if (object == nullptr) return {};
  const void* value = field.get(object);
  if (value == nullptr) return {};
  // Kubernetes writes a struct that is no pointer whatever is in it, so that it is always there.
  const bool always =
      field.options.presence == api::Presence::kAlways || field.type->shape == api::Shape::kStruct;
  if (!always && IsEmptyValue(*field.type, value)) return {};
  // A list that is always written is written as null when it has no items.
  if (IsItems(*field.type) && field.type->size(value) == 0) return {nullptr, true};
  return Content(field.type, value);
}

// Where the walk is. Texts are made only for what goes into a set.
struct Path {
  const Path* up = nullptr;
  std::string_view name;  // of a field; else
  std::string_view item;  // the element of an item, spelled out

  FieldSet& In(FieldSet& set) const {
    if (up == nullptr) return set;
    FieldSet& above = up->In(set);
    return above.At(item.empty() ? std::string("f:").append(name) : std::string(item));
  }
};

class Comparer {
 public:
  Comparison Take() && { return std::move(result_); }

  void Value(const Schema& schema, Slot a, Slot b, const Path& path) {
    if (!a.present && !b.present) return;
    switch (schema.nature) {
      case Nature::kLeaf:
        return Leaf(schema, a, b, path);
      case Nature::kStruct:
        Struct(schema, a, b, path);
        break;
      case Nature::kMap:
      case Nature::kSet:
      case Nature::kKeyed:
        if (SizeOf(schema, a) == 0 && SizeOf(schema, b) == 0) return Leaf(schema, a, b, path);
        if (schema.nature == Nature::kMap) {
          Map(schema, a, b, path);
        } else {
          Items(schema, a, b, path);
        }
        break;
    }
    if (path.up == nullptr) return;
    if (!a.present) path.In(result_.added).Insert();
    if (!b.present) path.In(result_.removed).Insert();
  }

 private:
  static std::size_t SizeOf(const Schema& schema, Slot slot) {
    return slot.null() ? 0 : schema.type->size(slot.value);
  }

  void Leaf(const Schema& schema, Slot a, Slot b, const Path& path) {
    if (!a.present) {
      path.In(result_.added).Insert();
    } else if (!b.present) {
      path.In(result_.removed).Insert();
    } else if (a.null() || b.null() ? a.null() != b.null()
                                    : !SemanticEqual(*schema.type, a.value, b.value)) {
      path.In(result_.modified).Insert();
    }
  }

  void Struct(const Schema& schema, Slot a, Slot b, const Path& path) {
    for (const api::FieldInfo& field : schema.type->fields().fields) {
      const Slot x = FieldOf(field, a.value);
      const Slot y = FieldOf(field, b.value);
      if (!x.present && !y.present) continue;
      Value(internal::SchemaOf(field), x, y, {&path, field.name, {}});
    }
  }

  void Map(const Schema& schema, Slot a, Slot b, const Path& path) {
    const Schema element = ElementOf(schema);
    const api::TypeInfo& type = *schema.type;
    const std::size_t n = SizeOf(schema, a);
    const std::size_t m = SizeOf(schema, b);
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < n || j < m) {
      const int order = i == n   ? 1
                        : j == m ? -1
                                 : type.key_at(a.value, i).compare(type.key_at(b.value, j));
      const std::string_view key = order <= 0 ? type.key_at(a.value, i) : type.key_at(b.value, j);
      const Slot x = order <= 0 ? Content(type.element, type.at(a.value, i++)) : Slot{};
      const Slot y = order >= 0 ? Content(type.element, type.at(b.value, j++)) : Slot{};
      Value(element, x, y, {&path, key, {}});
    }
  }

  std::string ElementAt(const Schema& list, const void* item) const {
    const api::TypeInfo& type = *list.type->element;
    std::string out;
    if (list.nature == Nature::kSet) {
      out = "v:";
      EncodeJson(type, item, out);
      return out;
    }
    const api::StructInfo& info = type.fields();
    for (const std::string_view key : internal::SortedKeys(list.keys)) {
      const api::FieldInfo& field = info.fields[static_cast<std::size_t>(info.Find(key))];
      const Slot slot = FieldOf(field, item);
      if (slot.null()) continue;
      out += out.empty() ? "k:{\"" : ",\"";
      out += key;
      out += "\":";
      EncodeJson(*internal::WithoutOptional(field.type), slot.value, out);
    }
    return out.empty() ? "k:{}" : out + '}';
  }

  void Items(const Schema& schema, Slot a, Slot b, const Path& path) {
    // By element, the item before and after. A list with an element twice is not valid; the last
    // one counts.
    std::map<std::string, std::pair<Slot, Slot>> items;
    for (std::size_t i = 0; i < SizeOf(schema, a); ++i) {
      const void* item = schema.type->at(a.value, i);
      items[ElementAt(schema, item)].first = {item, true};
    }
    for (std::size_t i = 0; i < SizeOf(schema, b); ++i) {
      const void* item = schema.type->at(b.value, i);
      items[ElementAt(schema, item)].second = {item, true};
    }
    const Schema element = ElementOf(schema);
    for (const auto& [name, both] : items) {
      Value(element, both.first, both.second, {&path, {}, name});
    }
  }

  Comparison result_;
};

}  // namespace

Comparison Compare(const api::TypeInfo& type, const void* before, const void* after) {
  Comparer comparer;
  comparer.Value(internal::SchemaOf(&type), {before, true}, {after, true}, {});
  return std::move(comparer).Take();
}

const api::Object& EmptyObject(const api::KindInfo& kind) {
  static const std::map<const api::TypeInfo*, api::Object> empty = [] {
    std::map<const api::TypeInfo*, api::Object> objects;
    for (const api::KindInfo& row : api::Kinds()) {
      objects.emplace(row.hub, api::Object::New(HubKind(*row.hub)));
    }
    return objects;
  }();
  return empty.at(kind.hub);
}

}  // namespace dray::rest
