// SPDX-License-Identifier: Apache-2.0
//
// Field tables: one per API struct. A table lists the struct's fields with their wire names, and
// drives everything that treats objects alike: JSON in and out, YAML in, unknown-field errors,
// semantic equality, and later OpenAPI.
//
//   struct DeviceTaint { std::string key; ...; UnknownFields unknown; };
//   const StructInfo& InfoOf(const DeviceTaint*);            // in the header, after the struct
//
//   const StructInfo& InfoOf(const DeviceTaint*) {           // in the source
//     static const StructInfo info = Struct<DeviceTaint>("DeviceTaint", {
//         Field<&DeviceTaint::key>("key", {.presence = Presence::kAlways}),
//         ...});
//     return info;
//   }
//
// From the C++ types of the members a TypeInfo is derived, a description with small functions that
// reach into a value through void*. Walkers (codec, equality) are therefore ordinary functions,
// compiled once, not once per struct.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/box.h"
#include "api/gates.h"
#include "api/map.h"
#include "api/values.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/time.h"

namespace dray::api {

struct KindInfo;
struct StructInfo;

enum class Shape : std::uint8_t {
  kBool,
  kInt32,
  kInt64,
  kDouble,
  kString,
  kText,
  kQuantity,
  kTime,
  kMicroTime,
  kIntOrString,
  kRaw,
  kBytes,
  kStruct,
  kList,
  kMap,
  kOptional,
};

// The optionals that readers meet most are known by their exact type.
enum class OptionalOf : std::uint8_t { kOther, kStdString, kText, kStdInt64, kStdBool };

// How to reach into a value of one C++ type. Functions that a shape has no use for are null.
struct TypeInfo {
  Shape shape;
  OptionalOf optional_of = OptionalOf::kOther;
  const TypeInfo* element = nullptr;  // kList, kMap: of the items; kOptional: of the content
  const StructInfo& (*fields_of)() = nullptr;  // kStruct
  const StructInfo* described = nullptr;       // kStruct: of a Record, instead of fields_of
  void (*reset)(void*) = nullptr;              // back to the default value
  const void* (*get)(const void*) = nullptr;   // kOptional: the content, or null
  void* (*emplace)(void*) = nullptr;           // kOptional: makes a default content
  std::size_t (*size)(const void*) = nullptr;  // kList, kMap
  const void* (*at)(const void*, std::size_t) = nullptr;           // kList, kMap: the i-th value
  std::string_view (*key_at)(const void*, std::size_t) = nullptr;  // kMap
  void (*reserve)(void*, std::size_t) = nullptr;                   // kList, kMap
  void* (*append)(void*) = nullptr;                                // kList
  void* (*append_key)(void*, base::Text&&) = nullptr;              // kMap, in any order; then seal
  bool (*seal)(void*) = nullptr;  // kMap: false if a key came twice
  // kStruct, of a kind that was defined at run time (custom_kind.h): the row of its hub version.
  const KindInfo* hub_kind = nullptr;

  // kStruct
  const StructInfo& fields() const { return described != nullptr ? *described : fields_of(); }
};

// Whether an empty field is written.
enum class Presence : std::uint8_t {
  kOmitEmpty,  // left out when it has its zero value, is unset, or has no items
  kAlways,     // written always; an unset optional, list or map as null
};

// What the items of a list are to each other when two writers meet (server-side apply, strategic
// merge).
enum class ListKind : std::uint8_t { kAtomic, kSet, kMap };

// FieldOptions::patch_key: the list is taken as a whole.
inline constexpr std::string_view kPatchReplaces = "-";

// The number of a field in protobuf, or those of a message around it and of the field in there; that
// message has no place of its own in JSON.
struct ProtoNumber {
  std::uint32_t number = 0;  // none: 0
  std::uint32_t inner = 0;   // of a field in two such messages: Within

  static constexpr std::uint32_t kWithin = 256;
  // Of a field inside of another message in there.
  static constexpr std::uint32_t Within(std::uint32_t message, std::uint32_t field) {
    return message * kWithin + field;
  }
};

struct FieldRules;  // described_kinds.h

struct FieldOptions {
  Presence presence = Presence::kOmitEmpty;
  ListKind list = ListKind::kAtomic;
  std::string_view keys = {};     // ListKind::kMap: the items' key fields, comma separated
  std::optional<Gate> gate = {};  // the feature gate that the field belongs to
  std::string_view alias = {};    // a second wire name that is read, never written
  // How a strategic merge patch treats the list where that does not follow from `list`: the key
  // that items are matched by, or kPatchReplaces.
  std::string_view patch_key = {};
  bool retain_keys = false;        // a client's patch names the fields that an item keeps
  bool atomic = false;             // a map that has one writer as a whole
  const TypeInfo* type = nullptr;  // instead of the member's own: another version's field table
  // Of kinds that are told in one place; others have theirs in tables of `rest`.
  std::string_view doc = {};          // what it means, for `kubectl explain`
  ProtoNumber proto = {};             // for protobuf
  const FieldRules* rules = nullptr;  // what holds of its value, where a description says so
};

// Where a Record (record.h) keeps a field.
struct SlotInfo {
  std::size_t index = 0;
  const void* zero = nullptr;  // what it is as long as nobody has set it
  void* (*make)(void* record, std::size_t index) = nullptr;
};

namespace internal {

// The first eight bytes of a name as a number, shorter names padded with zeros: two names that
// differ there need no call to tell them apart.
inline std::uint64_t HeadOf(std::string_view name) {
  std::uint64_t head = 0;
  const std::size_t n = name.size();
  if (n >= 8) {
    std::memcpy(&head, name.data(), 8);
  } else if (n >= 4) {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::memcpy(&low, name.data(), 4);
    std::memcpy(&high, name.data() + n - 4, 4);
    head = low | (static_cast<std::uint64_t>(high) << (8 * (n - 4)));
  } else {
    for (std::size_t i = 0; i < n; ++i) {
      head |= static_cast<std::uint64_t>(static_cast<unsigned char>(name[i])) << (8 * i);
    }
  }
  return head;
}

const void* FindInRecord(const void* record, const SlotInfo& slot);

}  // namespace internal

struct FieldInfo {
  std::string_view name;
  const TypeInfo* type;
  FieldOptions options;
  // Get() and At() are what readers and writers use.
  const void* (*get)(const void* object);  // null when the object has no place for the field
  void* (*mut)(void* object);              // makes the place when needed
  // Set by Struct() for a plain member: where it is in the object, so that a reader needs no call
  // to find it.
  std::ptrdiff_t offset = -1;
  std::uint64_t head = 0;  // set by Struct(): the first eight bytes of the name
  bool plain_member = false;
  const SlotInfo* slot = nullptr;  // of a Record; then get and mut are null

  bool Is(std::string_view wire_name, std::uint64_t wire_head) const {
    return wire_head == head && wire_name.size() == name.size() &&
           (name.size() <= 8 || wire_name.substr(8) == name.substr(8));
  }
  const void* Get(const void* object) const {
    if (offset >= 0) return static_cast<const char*>(object) + offset;
    return slot != nullptr ? internal::FindInRecord(object, *slot) : get(object);
  }
  void* At(void* object) const {
    if (offset >= 0) return static_cast<char*>(object) + offset;
    return slot != nullptr ? slot->make(object, slot->index) : mut(object);
  }
};

// Strategic merge patch: whether a patch's items join those of the list, and the key that they are
// matched by (none: items are the values themselves).
bool PatchMerges(const FieldInfo& field);
std::string_view PatchKey(const FieldInfo& field);

struct StructInfo {
  std::string_view name;
  std::string_view doc = {};  // as FieldOptions::doc
  std::vector<FieldInfo> fields;
  const UnknownFields* (*unknown)(const void* object) = nullptr;
  UnknownFields* (*mutable_unknown)(void* object) = nullptr;
  // Called after the last field was read; tidies what the wire form could not say directly.
  void (*after_decode)(void* object) = nullptr;
  bool atomic = false;  // has one writer as a whole, for server-side apply
  // What members are that the table does not name; null: they are unknown. Of schemas that somebody
  // else has written (room crd), which no decoder reads by.
  const TypeInfo* others = nullptr;

  // The index of the field with that wire name (or alias), or -1. Tries `hint` first: fields
  // usually come in order.
  int Find(std::string_view wire_name, std::size_t hint = 0) const {
    const std::uint64_t head = internal::HeadOf(wire_name);
    if (hint < fields.size() && fields[hint].Is(wire_name, head)) return static_cast<int>(hint);
    return FindByHash(wire_name, head);
  }
  int FindByHash(std::string_view wire_name, std::uint64_t head) const;

  // Built by Struct(): open addressing over the names.
  std::vector<std::int16_t> slots;
};

namespace internal {

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <typename T>
struct IsOptional<Box<T>> : std::true_type {};
template <>
struct IsOptional<base::OptionalText> : std::true_type {};

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

template <typename T>
struct IsMap : std::false_type {};
template <typename T>
struct IsMap<Map<T>> : std::true_type {};

template <typename T>
constexpr Shape ScalarShape() {
  if constexpr (std::same_as<T, bool> || std::same_as<T, BoolItem>)
    return Shape::kBool;
  else if constexpr (std::same_as<T, std::int32_t>)
    return Shape::kInt32;
  else if constexpr (std::same_as<T, std::int64_t>)
    return Shape::kInt64;
  else if constexpr (std::same_as<T, double>)
    return Shape::kDouble;
  else if constexpr (std::same_as<T, std::string>)
    return Shape::kString;
  else if constexpr (std::same_as<T, base::Text>)
    return Shape::kText;
  else if constexpr (std::same_as<T, base::Quantity>)
    return Shape::kQuantity;
  else if constexpr (std::same_as<T, base::Time>)
    return Shape::kTime;
  else if constexpr (std::same_as<T, MicroTime>)
    return Shape::kMicroTime;
  else if constexpr (std::same_as<T, IntOrString>)
    return Shape::kIntOrString;
  else if constexpr (std::same_as<T, RawJson>)
    return Shape::kRaw;
  else if constexpr (std::same_as<T, Bytes>)
    return Shape::kBytes;
  else
    return Shape::kStruct;
}

template <typename T>
const StructInfo& FieldsOf() {
  return InfoOf(static_cast<const T*>(nullptr));
}

template <typename T>
constexpr TypeInfo MakeTypeInfo();

template <typename T>
inline constexpr TypeInfo kTypeInfo = MakeTypeInfo<T>();

template <typename T>
constexpr TypeInfo MakeTypeInfo() {
  TypeInfo info{};
  info.reset = [](void* p) { *static_cast<T*>(p) = T{}; };
  if constexpr (IsOptional<T>::value) {
    using Content = std::remove_cvref_t<decltype(*std::declval<T&>())>;
    info.shape = Shape::kOptional;
    if (std::same_as<T, std::optional<std::string>>) info.optional_of = OptionalOf::kStdString;
    if (std::same_as<T, base::OptionalText>) info.optional_of = OptionalOf::kText;
    if (std::same_as<T, std::optional<std::int64_t>>) info.optional_of = OptionalOf::kStdInt64;
    if (std::same_as<T, std::optional<bool>>) info.optional_of = OptionalOf::kStdBool;
    info.element = &kTypeInfo<Content>;
    info.get = [](const void* p) -> const void* {
      const T& value = *static_cast<const T*>(p);
      return value.has_value() ? static_cast<const void*>(&*value) : nullptr;
    };
    info.emplace = [](void* p) -> void* {
      static_cast<T*>(p)->emplace();
      return const_cast<Content*>(&**static_cast<T*>(p));
    };
  } else if constexpr (IsVector<T>::value) {
    info.shape = Shape::kList;
    info.element = &kTypeInfo<typename T::value_type>;
    info.size = [](const void* p) { return static_cast<const T*>(p)->size(); };
    info.at = [](const void* p, std::size_t i) -> const void* {
      return &(*static_cast<const T*>(p))[i];
    };
    info.reserve = [](void* p, std::size_t n) { static_cast<T*>(p)->reserve(n); };
    info.append = [](void* p) -> void* { return &static_cast<T*>(p)->emplace_back(); };
  } else if constexpr (IsMap<T>::value) {
    using Value = decltype(T::value_type::second);
    info.shape = Shape::kMap;
    info.element = &kTypeInfo<Value>;
    info.size = [](const void* p) { return static_cast<const T*>(p)->size(); };
    info.at = [](const void* p, std::size_t i) -> const void* {
      return &static_cast<const T*>(p)->entry(i).second;
    };
    info.key_at = [](const void* p, std::size_t i) -> std::string_view {
      return static_cast<const T*>(p)->entry(i).first;
    };
    info.reserve = [](void* p, std::size_t n) { static_cast<T*>(p)->reserve(n); };
    info.append_key = [](void* p, base::Text&& key) -> void* {
      return &static_cast<T*>(p)->AppendUnsorted(std::move(key));
    };
    info.seal = [](void* p) { return static_cast<T*>(p)->Seal(); };
  } else {
    info.shape = ScalarShape<T>();
    if constexpr (ScalarShape<T>() == Shape::kStruct) info.fields_of = &FieldsOf<T>;
  }
  return info;
}

template <typename M>
struct MemberPointer;
template <typename C, typename T>
struct MemberPointer<T C::*> {
  using Class = C;
  using Type = T;
};

void BuildSlots(StructInfo& info);

}  // namespace internal

template <typename T>
constexpr const TypeInfo& TypeInfoOf() {
  return internal::kTypeInfo<T>;
}

// A row of a table.
template <auto Member>
FieldInfo Field(std::string_view name, FieldOptions options = {}) {
  using Class = typename internal::MemberPointer<decltype(Member)>::Class;
  using Type = typename internal::MemberPointer<decltype(Member)>::Type;
  return FieldInfo{
      .name = name,
      .type = options.type != nullptr ? options.type : &internal::kTypeInfo<Type>,
      .options = options,
      .get = [](const void* object) -> const void* {
        return &(static_cast<const Class*>(object)->*Member);
      },
      .mut = [](void* object) -> void* { return &(static_cast<Class*>(object)->*Member); },
      .plain_member = true,
  };
}

struct StructOptions {
  bool atomic = false;        // StructInfo::atomic
  std::string_view doc = {};  // StructInfo::doc
};

// A table. At most 64 fields, so that a decoder can remember in one word which it has seen.
template <typename T>
StructInfo Struct(std::string_view name, std::vector<FieldInfo> fields,
                  StructOptions options = {}) {
  StructInfo info{
      .name = name, .doc = options.doc, .fields = std::move(fields), .atomic = options.atomic};
  if constexpr (requires(T t) { t.unknown; }) {
    info.unknown = [](const void* object) { return &static_cast<const T*>(object)->unknown; };
    info.mutable_unknown = [](void* object) { return &static_cast<T*>(object)->unknown; };
  }
  T probe;
  for (FieldInfo& field : info.fields) {
    if (!field.plain_member) continue;
    field.offset = static_cast<char*>(field.mut(&probe)) - reinterpret_cast<char*>(&probe);
  }
  internal::BuildSlots(info);
  return info;
}

// Equality as Kubernetes's servers mean it: by value for quantities and times, an empty list or map
// equals an unset one, unknown fields count.
bool SemanticEqual(const TypeInfo& type, const void* a, const void* b);
template <typename T>
bool SemanticEqual(const T& a, const T& b) {
  return SemanticEqual(TypeInfoOf<T>(), &a, &b);
}

// Whether the value is what `omitempty` leaves out: zero, unset, no items, for a struct: every
// field empty.
bool IsEmptyValue(const TypeInfo& type, const void* value);

}  // namespace dray::api
