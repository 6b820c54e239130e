// SPDX-License-Identifier: Apache-2.0
#include "api/field_table.h"

#include <algorithm>

#include "base/check.h"

namespace dray::api {
namespace {

std::size_t SlotHash(std::string_view name, std::uint64_t head) {
  return static_cast<std::size_t>(((head ^ (head >> 29)) * 0x9e3779b97f4a7c15ULL + name.size()) >>
                                  32);
}

template <typename T>
const T& As(const void* p) {
  return *static_cast<const T*>(p);
}

bool EqualLists(const TypeInfo& type, const void* a, const void* b) {
  const std::size_t n = type.size(a);
  if (n != type.size(b)) return false;
  for (std::size_t i = 0; i < n; ++i) {
    if (type.shape == Shape::kMap && type.key_at(a, i) != type.key_at(b, i)) return false;
    if (!SemanticEqual(*type.element, type.at(a, i), type.at(b, i))) return false;
  }
  return true;
}

// An optional list or map that is set but empty equals an unset one; any other optional counts when
// it is set.
bool EqualOptionals(const TypeInfo& type, const void* a, const void* b) {
  const void* x = type.get(a);
  const void* y = type.get(b);
  const bool items = type.element->shape == Shape::kList || type.element->shape == Shape::kMap;
  if (items) {
    if (x != nullptr && type.element->size(x) == 0) x = nullptr;
    if (y != nullptr && type.element->size(y) == 0) y = nullptr;
  }
  if (x == nullptr || y == nullptr) return x == y;
  return SemanticEqual(*type.element, x, y);
}

bool EqualStructs(const StructInfo& info, const void* a, const void* b) {
  for (const FieldInfo& field : info.fields) {
    const void* x = field.Get(a);
    const void* y = field.Get(b);
    if (x == nullptr || y == nullptr) {
      if (x != y) return false;
      continue;
    }
    if (!SemanticEqual(*field.type, x, y)) return false;
  }
  return info.unknown == nullptr || *info.unknown(a) == *info.unknown(b);
}

}  // namespace

namespace internal {

void BuildSlots(StructInfo& info) {
  // A decoder remembers in one word which fields it has seen. A table that has no way into objects is
  // walked beside them, and as long as its indexes are.
  const bool decoded = std::ranges::any_of(
      info.fields, [](const FieldInfo& field) { return field.get != nullptr || field.slot; });
  DRAY_CHECK(info.fields.size() <= (decoded ? 64 : 32'767), info.name);
  std::size_t size = 8;
  while (size < info.fields.size() * 3) size *= 2;
  info.slots.assign(size, -1);
  const auto insert = [&](std::string_view name, std::int16_t index) {
    std::size_t slot = SlotHash(name, HeadOf(name)) & (size - 1);
    while (info.slots[slot] >= 0) slot = (slot + 1) & (size - 1);
    info.slots[slot] = index;
  };
  for (std::size_t i = 0; i < info.fields.size(); ++i) {
    info.fields[i].head = HeadOf(info.fields[i].name);
    insert(info.fields[i].name, static_cast<std::int16_t>(i));
    if (!info.fields[i].options.alias.empty())
      insert(info.fields[i].options.alias, static_cast<std::int16_t>(i));
  }
}

}  // namespace internal

bool PatchMerges(const FieldInfo& field) {
  if (!field.options.patch_key.empty()) return field.options.patch_key != kPatchReplaces;
  return field.options.list != ListKind::kAtomic;
}

std::string_view PatchKey(const FieldInfo& field) {
  if (!PatchMerges(field)) return {};
  if (!field.options.patch_key.empty()) return field.options.patch_key;
  return field.options.keys.substr(0, field.options.keys.find(','));
}

int StructInfo::FindByHash(std::string_view wire_name, std::uint64_t head) const {
  const std::size_t mask = slots.size() - 1;
  for (std::size_t slot = SlotHash(wire_name, head) & mask; slots[slot] >= 0;
       slot = (slot + 1) & mask) {
    const FieldInfo& field = fields[static_cast<std::size_t>(slots[slot])];
    if (field.Is(wire_name, head)) return slots[slot];
    if (!field.options.alias.empty() && field.options.alias == wire_name) return slots[slot];
  }
  return -1;
}

bool SemanticEqual(const TypeInfo& type, const void* a, const void* b) {
  switch (type.shape) {
    case Shape::kBool:
      return As<bool>(a) == As<bool>(b);
    case Shape::kInt32:
      return As<std::int32_t>(a) == As<std::int32_t>(b);
    case Shape::kInt64:
      return As<std::int64_t>(a) == As<std::int64_t>(b);
    case Shape::kDouble:
      return As<double>(a) == As<double>(b);
    case Shape::kString:
      return As<std::string>(a) == As<std::string>(b);
    case Shape::kText:
      return As<base::Text>(a) == As<base::Text>(b);
    case Shape::kQuantity:
      return As<base::Quantity>(a) == As<base::Quantity>(b);
    case Shape::kTime:
      return As<base::Time>(a) == As<base::Time>(b);
    case Shape::kMicroTime:
      return As<MicroTime>(a) == As<MicroTime>(b);
    case Shape::kIntOrString:
      return As<IntOrString>(a) == As<IntOrString>(b);
    case Shape::kRaw:
      return As<RawJson>(a) == As<RawJson>(b);
    case Shape::kBytes:
      return As<Bytes>(a) == As<Bytes>(b);
    case Shape::kStruct:
      return EqualStructs(type.fields(), a, b);
    case Shape::kList:
    case Shape::kMap:
      return EqualLists(type, a, b);
    case Shape::kOptional:
      return EqualOptionals(type, a, b);
  }
  return false;
}

bool IsEmptyValue(const TypeInfo& type, const void* value) {
  switch (type.shape) {
    case Shape::kBool:
      return !As<bool>(value);
    case Shape::kInt32:
      return As<std::int32_t>(value) == 0;
    case Shape::kInt64:
      return As<std::int64_t>(value) == 0;
    case Shape::kDouble:
      return As<double>(value) == 0;
    case Shape::kString:
      return As<std::string>(value).empty();
    case Shape::kText:
      return As<base::Text>(value).empty();
    case Shape::kRaw:
      return As<RawJson>(value).text.empty();
    case Shape::kBytes:
      return As<Bytes>(value).data.empty();
    case Shape::kQuantity:
    case Shape::kTime:
    case Shape::kMicroTime:
    case Shape::kIntOrString:
      return false;  // written whenever there is a place for it; "unset" is an empty optional
                     // around it
    case Shape::kStruct: {
      const StructInfo& info = type.fields();
      if (info.unknown != nullptr && info.unknown(value)->has_value()) return false;
      return std::ranges::all_of(info.fields, [&](const FieldInfo& field) {
        const void* member = field.Get(value);
        return member == nullptr || IsEmptyValue(*field.type, member);
      });
    }
    case Shape::kList:
    case Shape::kMap:
      return type.size(value) == 0;
    case Shape::kOptional:
      return type.get(value) == nullptr;
  }
  return true;
}

}  // namespace dray::api
