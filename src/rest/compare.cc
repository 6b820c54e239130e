// SPDX-License-Identifier: Apache-2.0
#include "rest/compare.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "api/custom_kind.h"
#include "api/json.h"
#include "api/meta.h"
#include "rest/internal/field_changes.h"
#include "rest/internal/nature.h"

namespace dray::rest {
namespace internal {
namespace {

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
  const void* value = field.Get(object);
  if (value == nullptr) return {};
  // Kubernetes writes a struct that is no pointer whatever is in it, so that it is always there.
  const bool always =
      field.options.presence == api::Presence::kAlways || field.type->shape == api::Shape::kStruct;
  if (!always && IsEmptyValue(*field.type, value)) return {};
  // A list that is always written is written as null when it has no items.
  if (IsItems(*field.type) && field.type->size(value) == 0) return {nullptr, true};
  return Content(field.type, value);
}

// A struct's fields in the order of their names, which is that of a tree's branches.
struct NamedField {
  const api::FieldInfo* field;
  Schema schema;
};
using NamedFields = std::vector<NamedField>;

const NamedFields& InOrder(const api::StructInfo& info) {
  thread_local absl::flat_hash_map<const api::StructInfo*, std::unique_ptr<const NamedFields>>
      known;
  std::unique_ptr<const NamedFields>& found = known[&info];
  if (found == nullptr) {
    NamedFields fields;
    for (const api::FieldInfo& field : info.fields) fields.push_back({&field, SchemaOf(field)});
    std::ranges::sort(fields, {}, [](const NamedField& named) { return named.field->name; });
    found = std::make_unique<const NamedFields>(std::move(fields));
  }
  return *found;
}

// The branches of one place.
class Branching {
 public:
  explicit Branching(Arena& arena) : arena_(arena) {}

  void Add(const Element& element, const FieldChanges& below) {
    if (below.added != nullptr) added_.push_back({element, below.added});
    if (below.modified != nullptr) modified_.push_back({element, below.modified});
    if (below.removed != nullptr) removed_.push_back({element, below.removed});
  }
  // The place itself is new, or gone.
  FieldChanges Take(bool added, bool removed) {
    return {MakeTree(arena_, added, added_), MakeTree(arena_, false, modified_),
            MakeTree(arena_, removed, removed_)};
  }

 private:
  Arena& arena_;
  absl::InlinedVector<Branch, 12> added_;
  absl::InlinedVector<Branch, 4> modified_;
  absl::InlinedVector<Branch, 4> removed_;
};

class Comparer {
 public:
  Comparer(Arena& arena, const api::FieldInfo* passed_over)
      : arena_(arena), passed_over_(passed_over) {}

  FieldChanges Value(const Schema& schema, Slot a, Slot b) {
    return Value(schema, a, b, !a.present, !b.present);
  }
  // The object itself is nobody's.
  FieldChanges Root(const Schema& schema, const void* a, const void* b) {
    return Value(schema, {a, true}, {b, true}, false, false);
  }

 private:
  FieldChanges Value(const Schema& schema, Slot a, Slot b, bool added, bool removed) {
    if (!a.present && !b.present) return {};
    switch (schema.nature) {
      case Nature::kLeaf:
        return Leaf(schema, a, b);
      case Nature::kStruct:
        return Struct(schema, a, b).Take(added, removed);
      case Nature::kMap:
      case Nature::kSet:
      case Nature::kKeyed:
        break;
    }
    if (SizeOf(schema, a) == 0 && SizeOf(schema, b) == 0) return Leaf(schema, a, b);
    return (schema.nature == Nature::kMap ? Map(schema, a, b) : Items(schema, a, b))
        .Take(added, removed);
  }

  static std::size_t SizeOf(const Schema& schema, Slot slot) {
    return slot.null() ? 0 : schema.type->size(slot.value);
  }

  FieldChanges Leaf(const Schema& schema, Slot a, Slot b) {
    const FieldTree* const itself = MakeTree(arena_, true, {});
    if (!a.present) return {.added = itself};
    if (!b.present) return {.removed = itself};
    const bool differs = a.null() || b.null() ? a.null() != b.null()
                                              : !SemanticEqual(*schema.type, a.value, b.value);
    return {.modified = differs ? itself : nullptr};
  }

  Branching Struct(const Schema& schema, Slot a, Slot b) {
    Branching branching(arena_);
    for (const NamedField& named : InOrder(schema.type->fields())) {
      if (named.field == passed_over_) continue;
      const Slot x = FieldOf(*named.field, a.value);
      const Slot y = FieldOf(*named.field, b.value);
      if (!x.present && !y.present) continue;
      branching.Add({'f', named.field->name}, Value(named.schema, x, y));
    }
    return branching;
  }

  Branching Map(const Schema& schema, Slot a, Slot b) {
    const Schema element = ElementOf(schema);
    const api::TypeInfo& type = *schema.type;
    const std::size_t n = SizeOf(schema, a);
    const std::size_t m = SizeOf(schema, b);
    std::size_t i = 0;
    std::size_t j = 0;
    Branching branching(arena_);
    while (i < n || j < m) {
      const int order = i == n   ? 1
                        : j == m ? -1
                                 : type.key_at(a.value, i).compare(type.key_at(b.value, j));
      const std::string_view key = order <= 0 ? type.key_at(a.value, i) : type.key_at(b.value, j);
      const Slot x = order <= 0 ? Content(type.element, type.at(a.value, i++)) : Slot{};
      const Slot y = order >= 0 ? Content(type.element, type.at(b.value, j++)) : Slot{};
      branching.Add({'f', key}, Value(element, x, y));
    }
    return branching;
  }

  Element ElementAt(const Schema& list, std::span<const std::string_view> keys, const void* item) {
    const api::TypeInfo& type = *list.type->element;
    text_.clear();
    if (list.nature == Nature::kSet) {
      EncodeJson(type, item, text_);
      return {'v', arena_.Keep(text_)};
    }
    const api::StructInfo& info = type.fields();
    for (const std::string_view key : keys) {
      const api::FieldInfo& field = info.fields[static_cast<std::size_t>(info.Find(key))];
      const Slot slot = FieldOf(field, item);
      if (slot.null()) continue;
      text_ += text_.empty() ? "{\"" : ",\"";
      text_ += key;
      text_ += "\":";
      EncodeJson(*WithoutOptional(field.type), slot.value, text_);
    }
    return {'k', text_.empty() ? "{}" : arena_.Keep(text_ += '}')};
  }

  // By element, the item before and after. A list with an element twice is not valid; the last one
  // counts.
  Branching Items(const Schema& schema, Slot a, Slot b) {
    struct Item {
      Element element;
      Slot a;
      Slot b;
    };
    const std::vector<std::string_view> keys = SortedKeys(schema.keys);
    absl::InlinedVector<Item, 8> items;
    for (std::size_t i = 0; i < SizeOf(schema, a); ++i) {
      const void* item = schema.type->at(a.value, i);
      items.push_back({ElementAt(schema, keys, item), {item, true}, {}});
    }
    for (std::size_t i = 0; i < SizeOf(schema, b); ++i) {
      const void* item = schema.type->at(b.value, i);
      items.push_back({ElementAt(schema, keys, item), {}, {item, true}});
    }
    std::ranges::stable_sort(items, {}, &Item::element);
    const Schema element = ElementOf(schema);
    Branching branching(arena_);
    for (std::size_t i = 0; i < items.size();) {
      Item both = items[i];
      for (++i; i < items.size() && items[i].element == both.element; ++i) {
        if (items[i].a.present) both.a = items[i].a;
        if (items[i].b.present) both.b = items[i].b;
      }
      branching.Add(both.element, Value(element, both.a, both.b));
    }
    return branching;
  }

  Arena& arena_;
  const api::FieldInfo* const passed_over_;
  std::string text_;  // for one element at a time
};

const api::FieldInfo& ManagedFieldsField() {
  const api::StructInfo& info = api::TypeInfoOf<api::ObjectMeta>().fields();
  return info.fields[static_cast<std::size_t>(info.Find("managedFields"))];
}

}  // namespace

FieldChanges Changes(Arena& arena, const api::Object& before, const api::Object& after) {
  return Comparer(arena, &ManagedFieldsField())
      .Root(SchemaOf(after.kind().hub), before.data(), after.data());
}

}  // namespace internal

Comparison Compare(const api::TypeInfo& type, const void* before, const void* after) {
  internal::Arena arena;
  const internal::FieldChanges changes =
      internal::Comparer(arena, nullptr).Root(internal::SchemaOf(&type), before, after);
  return {SetOf(changes.added), SetOf(changes.modified), SetOf(changes.removed)};
}

api::Object EmptyObject(const api::KindInfo& kind) {
  if (api::IsCustom(kind)) return api::Object::New(api::HubKind(*kind.hub));
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
