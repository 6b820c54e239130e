// SPDX-License-Identifier: Apache-2.0
//
// The syntax tree. Nodes lie in one vector and refer to each other by number, strings are kept once
// and referred to by number, so a tree is a handful of allocations and a later stage keeps what it
// learns about nodes in plain vectors indexed by ExprId.
//
// Operators are calls of the functions in operators.h. Macros are expanded; the call that was
// written is kept beside its expansion, for printing.
#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/interner.h"
#include "cel/source.h"

namespace dray::cel {

using StringId = base::Symbol;  // of one tree

// A node of one Ast: 0, 1, 2 ... Children have smaller numbers than their parents.
struct ExprId {
  std::uint32_t value = 0;
  friend auto operator<=>(const ExprId&, const ExprId&) = default;
};

enum class ExprKind : std::uint8_t {
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kIdent,
  kSelect,
  kCall,
  kList,
  kMap,
  kStruct,
  kComprehension,
};

struct SelectExpr {
  ExprId operand;
  StringId field;
  bool test_only = false;  // has(operand.field)
};

struct CallExpr {
  StringId function;
  std::optional<ExprId> target;  // target.function(args)
  std::span<const ExprId> args;
};

struct ListExpr {
  std::span<const ExprId> elements;
  // One bit per element, lowest first; empty when no element is optional.
  std::span<const ExprId> optional_bits;

  bool IsOptional(std::size_t i) const {
    return !optional_bits.empty() && ((optional_bits[i / 32].value >> (i % 32)) & 1) != 0;
  }
};

struct MapEntry {
  ExprId key;
  ExprId value;
  Offset offset = kNowhere;  // the colon
  bool optional = false;
};

struct StructField {
  StringId name;
  ExprId value;
  Offset offset = kNowhere;  // the colon
  bool optional = false;
};

struct StructExpr {
  StringId name;  // "a.b.C", or ".a.b.C" when written with a leading dot
  std::span<const StructField> fields;
};

// accu = init; for (iter_var[, iter_var2]) in range: if !condition break; accu = step.
// Its value is `result`, which sees accu; range and init see neither the loop's variables nor accu.
struct Comprehension {
  StringId iter_var;
  std::optional<StringId> iter_var2;
  ExprId range;
  StringId accu_var;
  ExprId init;
  ExprId condition;
  ExprId step;
  ExprId result;
};

// A macro as it was written. Its target and arguments may have parts that are not in the tree below
// the root (the `a.b` of has(a.b), the name of a loop variable).
struct MacroCall {
  ExprId expansion;
  CallExpr call;
  Offset offset = kNowhere;
};

// An expression. Invariants:
// - what hangs below root() is a tree: no node has two parents;
// - a child's id is smaller than its parent's, so one forward pass sees children first;
// - its depth is bounded (README.md), so functions may recurse over it;
// - an accessor for one kind may be asked only of nodes of that kind.
// Thread-safe: immutable.
class Ast {
 public:
  ExprId root() const { return root_; }
  // Ids are below this; some may not hang below the root.
  std::size_t size() const { return nodes_.size(); }

  ExprKind kind(ExprId id) const { return nodes_[id.value].kind; }
  // Where an error about the node is shown: for a call its operator, opening parenthesis or
  // bracket, for a selection the dot, for an expansion the macro's opening parenthesis.
  Offset offset(ExprId id) const { return nodes_[id.value].offset; }
  std::string_view text(StringId id) const { return strings_.View(id); }
  const base::Interner& strings() const { return strings_; }

  bool bool_value(ExprId id) const { return nodes_[id.value].payload != 0; }
  std::int64_t int_value(ExprId id) const {
    return static_cast<std::int64_t>(nodes_[id.value].payload);
  }
  std::uint64_t uint_value(ExprId id) const { return nodes_[id.value].payload; }
  double double_value(ExprId id) const { return std::bit_cast<double>(nodes_[id.value].payload); }
  // Of a string or bytes constant.
  std::string_view string_value(ExprId id) const { return text(nodes_[id.value].name); }

  StringId ident(ExprId id) const { return nodes_[id.value].name; }
  SelectExpr select(ExprId id) const;
  CallExpr call(ExprId id) const;
  ListExpr list(ExprId id) const;
  std::span<const MapEntry> map(ExprId id) const;
  StructExpr struct_literal(ExprId id) const;
  const Comprehension& comprehension(ExprId id) const {
    return comprehensions_[nodes_[id.value].payload];
  }

  // The call that `id` is the expansion of, if it is one.
  std::optional<MacroCall> FindMacroCall(ExprId id) const;

  // What this tree holds on the heap.
  std::size_t MemoryBytes() const;

 private:
  friend class AstBuilder;

  static constexpr std::uint8_t kTestOnly = 1;   // select
  static constexpr std::uint8_t kHasTarget = 2;  // call: `operand` is the target
  static constexpr std::uint8_t kOptionals = 4;  // list: bits follow the elements
  static constexpr std::uint8_t kExpansion = 8;  // has an entry in macro_calls_

  struct Node {
    ExprKind kind = ExprKind::kNull;
    std::uint8_t flags = 0;
    Offset offset = kNowhere;
    StringId name;   // string, bytes, identifier, field, function, message
    ExprId operand;  // of a selection; target of a call
    std::uint64_t payload =
        0;  // a constant's bits; index of a comprehension; first child and count
  };
  static_assert(sizeof(Node) == 24);

  struct MacroRecord {
    ExprId expansion;
    StringId function;
    std::optional<ExprId> target;
    std::uint64_t args = 0;
    Offset offset = kNowhere;
  };

  template <typename T>
  static std::span<const T> Range(const std::vector<T>& pool, std::uint64_t payload) {
    return std::span<const T>(pool).subspan(payload & 0xffffffff, payload >> 32);
  }

  ExprId root_;
  std::vector<Node> nodes_;
  std::vector<ExprId> children_;
  std::vector<MapEntry> entries_;
  std::vector<StructField> fields_;
  std::vector<Comprehension> comprehensions_;
  std::vector<MacroRecord> macros_;  // by expansion
  base::Interner strings_;
};

// Puts an Ast together, children first. One thread.
class AstBuilder {
 public:
  // `text_bytes`: how long the expression is, to reserve about enough.
  explicit AstBuilder(std::size_t text_bytes = 0);

  StringId Intern(std::string_view text) { return ast_.strings_.Intern(text); }

  ExprId Null(Offset offset) { return Constant(ExprKind::kNull, offset, 0); }
  ExprId Bool(Offset offset, bool value) { return Constant(ExprKind::kBool, offset, value); }
  ExprId Int(Offset offset, std::int64_t value) {
    return Constant(ExprKind::kInt, offset, static_cast<std::uint64_t>(value));
  }
  ExprId Uint(Offset offset, std::uint64_t value) {
    return Constant(ExprKind::kUint, offset, value);
  }
  ExprId Double(Offset offset, double value) {
    return Constant(ExprKind::kDouble, offset, std::bit_cast<std::uint64_t>(value));
  }
  ExprId String(Offset offset, StringId value) { return Named(ExprKind::kString, offset, value); }
  ExprId Bytes(Offset offset, StringId value) { return Named(ExprKind::kBytes, offset, value); }
  ExprId Ident(Offset offset, StringId name) { return Named(ExprKind::kIdent, offset, name); }
  ExprId Select(Offset offset, SelectExpr select);
  ExprId Call(Offset offset, CallExpr call);
  // `optional`: indices of optional elements, rising.
  ExprId List(Offset offset, std::span<const ExprId> elements,
              std::span<const std::uint32_t> optional = {});
  ExprId Map(Offset offset, std::span<const MapEntry> entries);
  ExprId Struct(Offset offset, StructExpr literal);
  ExprId Loop(Offset offset, const Comprehension& comprehension);

  // A copy of the tree at `id`; its nodes are expansions of nothing.
  ExprId Copy(ExprId id);
  // Says that `expansion`, the newest node, stands for this call.
  void RememberMacro(ExprId expansion, Offset offset, CallExpr call);

  // What was built so far. Views and spans in it are valid until the next change.
  const Ast& ast() const { return ast_; }
  Ast Build(ExprId root) &&;

 private:
  ExprId Add(const Ast::Node& node);
  ExprId Constant(ExprKind kind, Offset offset, std::uint64_t payload) {
    return Add({.kind = kind, .offset = offset, .payload = payload});
  }
  ExprId Named(ExprKind kind, Offset offset, StringId name) {
    return Add({.kind = kind, .offset = offset, .name = name});
  }
  std::uint64_t AddChildren(std::span<const ExprId> children);

  Ast ast_;
};

// Whether both are the same tree, macros included, wherever they came from: offsets do not count,
// and a double is the same as another when its bits are.
bool SameTree(const Ast& a, const Ast& b);

}  // namespace dray::cel
