// SPDX-License-Identifier: Apache-2.0
#include "cel/type.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "base/check.h"

namespace dray::cel {
namespace {

constexpr std::size_t kBlockBytes = 2048;
constexpr std::uint64_t kLargestSize = 0xffffffff;

// How messages of the checker call types that have another name as values.
std::string_view MessageName(Type type) {
  switch (type.kind()) {
    case TypeKind::kAny:
      return "any";
    case TypeKind::kDuration:
      return "duration";
    case TypeKind::kTimestamp:
      return "timestamp";
    case TypeKind::kNull:
      return "null";
    case TypeKind::kError:
      return "!error!";
    default:
      return type.name();
  }
}

void Append(std::string& out, Type type, bool message) {
  if (type.IsWrapper()) {
    out.append("wrapper(").append(type.name()).append(")");
    return;
  }
  out += message ? MessageName(type) : type.name();
  if (type.is(TypeKind::kTypeParam)) out += std::to_string(type.index());
  if (type.params().empty()) return;
  out += '(';
  bool first = true;
  for (const Type param : type.params()) {
    if (!first) out += ", ";
    first = false;
    Append(out, param, message);
  }
  out += ')';
}

}  // namespace

// A type without parts, one node for the whole program.
#define DRAY_SIMPLE_TYPE(function, type_kind, type_name)                         \
  Type Type::function() {                                                        \
    static constexpr Node kNode{.kind = TypeKind::type_kind, .name = type_name}; \
    return Type(&kNode);                                                         \
  }
DRAY_SIMPLE_TYPE(Error, kError, "!error!")
DRAY_SIMPLE_TYPE(Dyn, kDyn, "dyn")
DRAY_SIMPLE_TYPE(Any, kAny, "google.protobuf.Any")
DRAY_SIMPLE_TYPE(Null, kNull, "null_type")
DRAY_SIMPLE_TYPE(Bool, kBool, "bool")
DRAY_SIMPLE_TYPE(Int, kInt, "int")
DRAY_SIMPLE_TYPE(Uint, kUint, "uint")
DRAY_SIMPLE_TYPE(Double, kDouble, "double")
DRAY_SIMPLE_TYPE(String, kString, "string")
DRAY_SIMPLE_TYPE(Bytes, kBytes, "bytes")
DRAY_SIMPLE_TYPE(Duration, kDuration, "google.protobuf.Duration")
DRAY_SIMPLE_TYPE(Timestamp, kTimestamp, "google.protobuf.Timestamp")
DRAY_SIMPLE_TYPE(TypeType, kType, "type")
#undef DRAY_SIMPLE_TYPE

Type::Type() : Type(Dyn()) {}

Type Type::Wrapper(TypeKind scalar) {
  static constexpr std::array<Node, 6> kNodes = {
      {{.kind = TypeKind::kBool, .wrapper = true, .name = "bool"},
       {.kind = TypeKind::kInt, .wrapper = true, .name = "int"},
       {.kind = TypeKind::kUint, .wrapper = true, .name = "uint"},
       {.kind = TypeKind::kDouble, .wrapper = true, .name = "double"},
       {.kind = TypeKind::kString, .wrapper = true, .name = "string"},
       {.kind = TypeKind::kBytes, .wrapper = true, .name = "bytes"}}};
  const auto found = std::ranges::find(kNodes, scalar, &Node::kind);
  DRAY_CHECK(found != kNodes.end());
  return Type(&*found);
}

std::string Type::ToString() const {
  std::string out;
  Append(out, *this, false);
  return out;
}

std::string Type::ToMessage() const {
  std::string out;
  Append(out, *this, true);
  return out;
}

bool Type::Same(Type a, Type b) {
  return a.kind() == b.kind() && a.index() == b.index() && a.name() == b.name() &&
         std::ranges::equal(a.params(), b.params());
}

Type TypePool::List(Type element) { return Add(TypeKind::kList, "list", {&element, 1}); }

Type TypePool::Map(Type key, Type value) {
  const std::array<Type, 2> params = {key, value};
  return Add(TypeKind::kMap, "map", params);
}

Type TypePool::TypeOf(Type type) { return Add(TypeKind::kType, "type", {&type, 1}); }

Type TypePool::Optional(Type value) {
  return Add(TypeKind::kOpaque, kOptionalTypeName, {&value, 1});
}

Type TypePool::TypeParam(std::uint32_t index) {
  while (type_params_.size() <= index) {
    const auto next = static_cast<std::uint32_t>(type_params_.size());
    type_params_.push_back(Add(TypeKind::kTypeParam, "_var", {}, next));
  }
  return type_params_[index];
}

Type TypePool::Opaque(std::string_view name, std::span<const Type> params) {
  return Add(TypeKind::kOpaque, name, params);
}

Type TypePool::Object(std::string_view name) { return Add(TypeKind::kObject, name, {}); }

Type TypePool::WithParams(Type type, std::span<const Type> params) {
  if (std::ranges::equal(
          params, type.params(), {}, [](Type t) { return t.node_; },
          [](Type t) { return t.node_; })) {
    return type;
  }
  return Add(type.kind(), type.name(), params);
}

Type TypePool::Add(TypeKind kind, std::string_view name, std::span<const Type> params,
                   std::uint32_t index) {
  bool open = kind == TypeKind::kTypeParam;
  std::uint64_t size = 1;
  Type* kept = nullptr;
  if (!params.empty()) {
    kept = static_cast<Type*>(Allocate(params.size() * sizeof(Type)));
    for (std::size_t i = 0; i < params.size(); ++i) {
      new (kept + i) Type(params[i]);
      open = open || params[i].HasTypeParams();
      size += params[i].size();
    }
  }
  // The names of the language are constants; only those that an application brings are copied.
  if (kind == TypeKind::kObject || (kind == TypeKind::kOpaque && name != kOptionalTypeName)) {
    char* copy = static_cast<char*>(Allocate(name.size()));
    std::memcpy(copy, name.data(), name.size());
    name = {copy, name.size()};
  } else if (kind == TypeKind::kOpaque) {
    name = kOptionalTypeName;
  }
  return Type(new (Allocate(sizeof(Type::Node)))
                  Type::Node{.kind = kind,
                             .has_type_params = open,
                             .index = index,
                             .size = static_cast<std::uint32_t>(std::min(size, kLargestSize)),
                             .name = name,
                             .params = {kept, params.size()}});
}

void* TypePool::Allocate(std::size_t bytes) {
  constexpr std::size_t kAlign = alignof(std::max_align_t);
  bytes = (bytes + kAlign - 1) / kAlign * kAlign;
  if (bytes > kBlockBytes) {
    // Goes below the open block, which stays the last one.
    auto block = std::make_unique<std::byte[]>(bytes);
    void* result = block.get();
    blocks_.insert(blocks_.empty() ? blocks_.end() : blocks_.end() - 1, std::move(block));
    if (blocks_.size() == 1) free_ = 0;
    return result;
  }
  if (bytes > free_) {
    blocks_.push_back(std::make_unique<std::byte[]>(kBlockBytes));
    free_ = kBlockBytes;
  }
  void* result = blocks_.back().get() + (kBlockBytes - free_);
  free_ -= bytes;
  return result;
}

}  // namespace dray::cel
