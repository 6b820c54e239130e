// SPDX-License-Identifier: Apache-2.0
#include "cel/ast.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace dray::cel {
namespace {

std::uint64_t Pack(std::size_t first, std::size_t count) {
  return static_cast<std::uint64_t>(first) | (static_cast<std::uint64_t>(count) << 32);
}

}  // namespace

SelectExpr Ast::select(ExprId id) const {
  const Node& node = nodes_[id.value];
  return {node.operand, node.name, (node.flags & kTestOnly) != 0};
}

CallExpr Ast::call(ExprId id) const {
  const Node& node = nodes_[id.value];
  CallExpr call{.function = node.name, .args = Range(children_, node.payload)};
  if ((node.flags & kHasTarget) != 0) call.target = node.operand;
  return call;
}

ListExpr Ast::list(ExprId id) const {
  const Node& node = nodes_[id.value];
  const auto elements = Range(children_, node.payload);
  if ((node.flags & kOptionals) == 0) return {.elements = elements};
  const std::size_t end = (node.payload & 0xffffffff) + elements.size();
  return {.elements = elements,
          .optional_bits = Range(children_, Pack(end, (elements.size() + 31) / 32))};
}

std::span<const MapEntry> Ast::map(ExprId id) const {
  return Range(entries_, nodes_[id.value].payload);
}

StructExpr Ast::struct_literal(ExprId id) const {
  const Node& node = nodes_[id.value];
  return {node.name, Range(fields_, node.payload)};
}

std::optional<MacroCall> Ast::FindMacroCall(ExprId id) const {
  if ((nodes_[id.value].flags & kExpansion) == 0) return std::nullopt;
  const auto found = std::ranges::lower_bound(macros_, id, {}, &MacroRecord::expansion);
  DRAY_DCHECK(found != macros_.end() && found->expansion == id);
  return MacroCall{.expansion = id,
                   .call = {found->function, found->target, Range(children_, found->args)},
                   .offset = found->offset};
}

std::size_t Ast::MemoryBytes() const {
  const auto bytes = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
  return bytes(nodes_) + bytes(children_) + bytes(entries_) + bytes(fields_) +
         bytes(comprehensions_) + bytes(macros_) + strings_.MemoryBytes();
}

AstBuilder::AstBuilder(std::size_t text_bytes) {
  // A selector has a node for every five to eight characters.
  ast_.nodes_.reserve(text_bytes / 5 + 4);
  ast_.children_.reserve(text_bytes / 8 + 4);
  ast_.strings_.Reserve(text_bytes / 8 + 8, text_bytes + 32);
}

ExprId AstBuilder::Add(const Ast::Node& node) {
  ast_.nodes_.push_back(node);
  return {static_cast<std::uint32_t>(ast_.nodes_.size() - 1)};
}

std::uint64_t AstBuilder::AddChildren(std::span<const ExprId> children) {
  const std::uint64_t range = Pack(ast_.children_.size(), children.size());
  ast_.children_.insert(ast_.children_.end(), children.begin(), children.end());
  return range;
}

ExprId AstBuilder::Select(Offset offset, SelectExpr select) {
  return Add({.kind = ExprKind::kSelect,
              .flags = select.test_only ? Ast::kTestOnly : std::uint8_t{0},
              .offset = offset,
              .name = select.field,
              .operand = select.operand});
}

ExprId AstBuilder::Call(Offset offset, CallExpr call) {
  return Add({.kind = ExprKind::kCall,
              .flags = call.target ? Ast::kHasTarget : std::uint8_t{0},
              .offset = offset,
              .name = call.function,
              .operand = call.target.value_or(ExprId{}),
              .payload = AddChildren(call.args)});
}

ExprId AstBuilder::List(Offset offset, std::span<const ExprId> elements,
                        std::span<const std::uint32_t> optional) {
  Ast::Node node{.kind = ExprKind::kList, .offset = offset, .payload = AddChildren(elements)};
  if (!optional.empty()) {
    node.flags = Ast::kOptionals;
    const std::size_t bits = ast_.children_.size();
    ast_.children_.resize(bits + (elements.size() + 31) / 32);
    for (const std::uint32_t i : optional) {
      ast_.children_[bits + i / 32].value |= std::uint32_t{1} << (i % 32);
    }
  }
  return Add(node);
}

ExprId AstBuilder::Map(Offset offset, std::span<const MapEntry> entries) {
  const std::uint64_t range = Pack(ast_.entries_.size(), entries.size());
  ast_.entries_.insert(ast_.entries_.end(), entries.begin(), entries.end());
  return Add({.kind = ExprKind::kMap, .offset = offset, .payload = range});
}

ExprId AstBuilder::Struct(Offset offset, StructExpr literal) {
  const std::uint64_t range = Pack(ast_.fields_.size(), literal.fields.size());
  ast_.fields_.insert(ast_.fields_.end(), literal.fields.begin(), literal.fields.end());
  return Add({.kind = ExprKind::kStruct, .offset = offset, .name = literal.name, .payload = range});
}

ExprId AstBuilder::Loop(Offset offset, const Comprehension& comprehension) {
  ast_.comprehensions_.push_back(comprehension);
  return Add({.kind = ExprKind::kComprehension,
              .offset = offset,
              .payload = ast_.comprehensions_.size() - 1});
}

// Copies what it reads of the old node before it adds: adding moves the vectors.
ExprId AstBuilder::Copy(ExprId id) {
  const auto copies = [this](std::span<const ExprId> ids) {
    std::vector<ExprId> out(ids.begin(), ids.end());
    for (ExprId& child : out) child = Copy(child);
    return out;
  };
  const Ast::Node node = ast_.nodes_[id.value];
  switch (node.kind) {
    case ExprKind::kSelect: {
      SelectExpr select = ast_.select(id);
      select.operand = Copy(select.operand);
      return Select(node.offset, select);
    }
    case ExprKind::kCall: {
      CallExpr call = ast_.call(id);
      const std::vector<ExprId> args = copies(call.args);
      if (call.target) call.target = Copy(*call.target);
      return Call(node.offset, {call.function, call.target, args});
    }
    case ExprKind::kList: {
      const ListExpr list = ast_.list(id);
      std::vector<std::uint32_t> optional;
      for (std::uint32_t i = 0; i < list.elements.size(); ++i) {
        if (list.IsOptional(i)) optional.push_back(i);
      }
      return List(node.offset, copies(list.elements), optional);
    }
    case ExprKind::kMap: {
      const auto entries = ast_.map(id);
      std::vector<MapEntry> out(entries.begin(), entries.end());
      for (MapEntry& entry : out) {
        entry.key = Copy(entry.key);
        entry.value = Copy(entry.value);
      }
      return Map(node.offset, out);
    }
    case ExprKind::kStruct: {
      const StructExpr literal = ast_.struct_literal(id);
      std::vector<StructField> out(literal.fields.begin(), literal.fields.end());
      for (StructField& field : out) field.value = Copy(field.value);
      return Struct(node.offset, {literal.name, out});
    }
    case ExprKind::kComprehension: {
      Comprehension loop = ast_.comprehension(id);
      for (ExprId* part : {&loop.range, &loop.init, &loop.condition, &loop.step, &loop.result}) {
        *part = Copy(*part);
      }
      return Loop(node.offset, loop);
    }
    default:
      return Add(node);
  }
}

void AstBuilder::RememberMacro(ExprId expansion, Offset offset, CallExpr call) {
  DRAY_DCHECK(expansion.value + 1 == ast_.nodes_.size(), "an expansion's root is its newest node");
  ast_.nodes_[expansion.value].flags |= Ast::kExpansion;
  const std::uint64_t args = AddChildren(call.args);
  ast_.macros_.push_back({expansion, call.function, call.target, args, offset});
}

Ast AstBuilder::Build(ExprId root) && {
  ast_.root_ = root;
  return std::move(ast_);
}

namespace {

class Comparison {
 public:
  Comparison(const Ast& a, const Ast& b) : a_(a), b_(b) {}

  bool Same(ExprId x, ExprId y) const {
    if (a_.kind(x) != b_.kind(y) || !SameMacro(x, y)) return false;
    switch (a_.kind(x)) {
      case ExprKind::kNull:
      case ExprKind::kBool:
      case ExprKind::kInt:
      case ExprKind::kUint:
      case ExprKind::kDouble:
        return a_.uint_value(x) == b_.uint_value(y);
      case ExprKind::kString:
      case ExprKind::kBytes:
      case ExprKind::kIdent:
        return Same(a_.ident(x), b_.ident(y));
      case ExprKind::kSelect: {
        const SelectExpr s = a_.select(x), t = b_.select(y);
        return s.test_only == t.test_only && Same(s.field, t.field) && Same(s.operand, t.operand);
      }
      case ExprKind::kCall:
        return Same(a_.call(x), b_.call(y));
      case ExprKind::kList:
        return SameList(a_.list(x), b_.list(y));
      case ExprKind::kMap:
        return std::ranges::equal(a_.map(x), b_.map(y), [this](const auto& e, const auto& f) {
          return e.optional == f.optional && Same(e.key, f.key) && Same(e.value, f.value);
        });
      case ExprKind::kStruct: {
        const StructExpr s = a_.struct_literal(x), t = b_.struct_literal(y);
        return Same(s.name, t.name) &&
               std::ranges::equal(s.fields, t.fields, [this](const auto& e, const auto& f) {
                 return e.optional == f.optional && Same(e.name, f.name) && Same(e.value, f.value);
               });
      }
      case ExprKind::kComprehension:
        return SameLoop(a_.comprehension(x), b_.comprehension(y));
    }
    return false;
  }

 private:
  bool Same(StringId s, StringId t) const { return a_.text(s) == b_.text(t); }
  bool Same(std::span<const ExprId> x, std::span<const ExprId> y) const {
    return std::ranges::equal(x, y, [this](ExprId i, ExprId j) { return Same(i, j); });
  }
  bool Same(const CallExpr& c, const CallExpr& d) const {
    return Same(c.function, d.function) && c.target.has_value() == d.target.has_value() &&
           (!c.target || Same(*c.target, *d.target)) && Same(c.args, d.args);
  }
  bool SameList(const ListExpr& l, const ListExpr& m) const {
    return Same(l.elements, m.elements) && std::ranges::equal(l.optional_bits, m.optional_bits);
  }
  bool SameLoop(const Comprehension& c, const Comprehension& d) const {
    return Same(c.iter_var, d.iter_var) && c.iter_var2.has_value() == d.iter_var2.has_value() &&
           (!c.iter_var2 || Same(*c.iter_var2, *d.iter_var2)) && Same(c.accu_var, d.accu_var) &&
           Same(c.range, d.range) && Same(c.init, d.init) && Same(c.condition, d.condition) &&
           Same(c.step, d.step) && Same(c.result, d.result);
  }
  // The arguments are in the expansion, so the name is enough.
  bool SameMacro(ExprId x, ExprId y) const {
    const auto m = a_.FindMacroCall(x), n = b_.FindMacroCall(y);
    return m.has_value() == n.has_value() && (!m || Same(m->call.function, n->call.function));
  }

  const Ast& a_;
  const Ast& b_;
};

}  // namespace

bool SameTree(const Ast& a, const Ast& b) { return Comparison(a, b).Same(a.root(), b.root()); }

}  // namespace dray::cel
