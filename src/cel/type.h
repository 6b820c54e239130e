// SPDX-License-Identifier: Apache-2.0
//
// Static types. A Type is a pointer to an immutable node: types without parts are constants of the
// program, all others lie in the TypePool that made them and live as long as it (an Environment has
// one, a CheckedExpr has one).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dray::cel {

enum class TypeKind : std::uint8_t {
  kError,  // of an expression about which an issue was reported: fits everywhere
  kDyn,
  kAny,  // google.protobuf.Any: like dyn, except that no loop runs over it
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kDuration,
  kTimestamp,
  kList,
  kMap,
  kType,       // type(T), or the type of types when it has no parameter
  kTypeParam,  // by index
  kOpaque,     // by name, may have parameters: optional_type(T), net.IP
  kObject,     // by name, may have fields: kubernetes.DRADevice, kubernetes.Quantity
};

inline constexpr std::string_view kOptionalTypeName = "optional_type";

// A value, as cheap as a pointer. Thread-safe: immutable.
class Type {
 public:
  Type();  // dyn

  static Type Error();
  static Type Dyn();
  static Type Any();
  static Type Null();
  static Type Bool();
  static Type Int();
  static Type Uint();
  static Type Double();
  static Type String();
  static Type Bytes();
  static Type Duration();
  static Type Timestamp();
  // google.protobuf.Int64Value and its like: the scalar or null. Equal to the scalar.
  static Type Wrapper(TypeKind scalar);
  // The type of types: what the identifier `type` stands for.
  static Type TypeType();

  TypeKind kind() const { return node_->kind; }
  bool is(TypeKind kind) const { return node_->kind == kind; }
  // "list", "kubernetes.Semver", "google.protobuf.Duration": what type(x) prints.
  std::string_view name() const { return node_->name; }
  std::span<const Type> params() const { return node_->params; }
  Type param(std::size_t i) const { return node_->params[i]; }
  // Of a type parameter.
  std::uint32_t index() const { return node_->index; }

  // dyn and Any.
  bool IsDyn() const { return is(TypeKind::kDyn) || is(TypeKind::kAny); }
  bool IsOptional() const { return is(TypeKind::kOpaque) && name() == kOptionalTypeName; }
  bool IsWrapper() const { return node_->wrapper; }
  // Whether type parameters occur in it.
  bool HasTypeParams() const { return node_->has_type_params; }
  // How many types it is made of, itself included. Shared parts count each time, so a small
  // expression can have a type that is too large to print or compare.
  std::uint32_t size() const { return node_->size; }

  // As messages about result types have it: "map(string, google.protobuf.Any)", "null_type".
  std::string ToString() const;
  // As messages of the checker have it: "map(string, any)", "null", "duration".
  std::string ToMessage() const;

  // The same type, in whichever pools they are.
  friend bool operator==(Type a, Type b) { return a.node_ == b.node_ || Same(a, b); }

 private:
  friend class TypePool;

  struct Node {
    TypeKind kind = TypeKind::kDyn;
    bool has_type_params = false;
    bool wrapper = false;
    std::uint32_t index = 0;
    std::uint32_t size = 1;
    std::string_view name;
    std::span<const Type> params;
  };

  explicit Type(const Node* node) : node_(node) {}
  static bool Same(Type a, Type b);

  const Node* node_;
};

// Makes types with parts. What it made lives as long as the pool. One thread until nobody makes
// types any more, then thread-safe.
class TypePool {
 public:
  TypePool() = default;
  TypePool(const TypePool&) = delete;
  TypePool& operator=(const TypePool&) = delete;

  Type List(Type element);
  Type Map(Type key, Type value);
  Type TypeOf(Type type);
  Type Optional(Type value);
  Type TypeParam(std::uint32_t index);
  Type Opaque(std::string_view name, std::span<const Type> params = {});
  Type Object(std::string_view name);
  // The same type with other parameters, as many as it has.
  Type WithParams(Type type, std::span<const Type> params);

 private:
  Type Add(TypeKind kind, std::string_view name, std::span<const Type> params,
           std::uint32_t index = 0);
  void* Allocate(std::size_t bytes);

  // Nodes, their parameters and names, one after the other: nothing in them needs a destructor.
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::size_t free_ = 0;           // bytes left in the last block
  std::vector<Type> type_params_;  // by index
};

}  // namespace dray::cel
