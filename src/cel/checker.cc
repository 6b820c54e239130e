// SPDX-License-Identifier: Apache-2.0
#include "cel/checker.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "cel/internal/unifier.h"
#include "cel/internal/validators.h"
#include "cel/operators.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

// Types double in a chain of cel.bind(y, {x: x}, cel.bind(z, {y: y}, ...)). No real one comes near.
constexpr std::uint32_t kMaxTypeSize = 1000;

// "a.b.c" of a chain of selections from an identifier, in `out`; false for anything else.
bool QualifiedName(const Ast& ast, ExprId id, std::string& out) {
  if (ast.kind(id) == ExprKind::kIdent) {
    out = ast.text(ast.ident(id));
    return true;
  }
  if (ast.kind(id) != ExprKind::kSelect || ast.select(id).test_only) return false;
  if (!QualifiedName(ast, ast.select(id).operand, out)) return false;
  out.append(".").append(ast.text(ast.select(id).field));
  return true;
}

// Asks `find` for the name in the container, then in what encloses it, and last alone; the first
// answer that is not null. A leading dot means "alone".
template <typename Find>
auto FindInContainer(std::string_view container, std::string_view name, Find find)
    -> decltype(find(name)) {
  if (name.starts_with('.')) return find(name.substr(1));
  while (!container.empty()) {
    if (const auto found = find(fmt::format("{}.{}", container, name))) return found;
    const std::size_t dot = container.rfind('.');
    container = container.substr(0, dot == std::string_view::npos ? 0 : dot);
  }
  return find(name);
}

std::string Signature(std::span<const Type> args, bool member) {
  std::string out;
  if (member) {
    out = args[0].ToMessage() + ".";
    args = args.subspan(1);
  }
  out += '(';
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (i > 0) out += ", ";
    out += args[i].ToMessage();
  }
  return out + ')';
}

}  // namespace

// One run over a tree. Depth is bounded by the parser.
class Checker {
 public:
  Checker(std::shared_ptr<const Ast> ast, std::shared_ptr<const Environment> environment)
      : product_(std::make_shared<CheckedExpr>()),
        ast_(*ast),
        environment_(*environment),
        unifier_(product_->pool_) {
    product_->ast_ = std::move(ast);
    product_->environment_ = std::move(environment);
    product_->types_.resize(ast_.size());
    product_->slots_.resize(ast_.size(), CheckedExpr::kNoSlot);
  }

  CheckResult Run() {
    Visit(ast_.root());
    if (!issues_.empty()) return {.issues = std::move(issues_)};
    for (std::uint32_t id = 0; id < ast_.size(); ++id) {
      SetType({id}, unifier_.ResolveOrDyn(type({id})));
    }
    if (unifier_.gave_up()) ReportTooLarge(ast_.root());
    if (!issues_.empty()) return {.issues = std::move(issues_)};
    auto issues = internal::Validate(*product_);
    if (!issues.empty()) return {.issues = std::move(issues)};
    return {.checked = std::move(product_)};
  }

 private:
  struct Local {
    StringId name;
    Type type;
  };

  TypePool& pool() { return product_->pool_; }
  Type type(ExprId id) const { return product_->types_[id.value]; }
  void SetType(ExprId id, Type type) {
    if (type.size() > kMaxTypeSize) {
      ReportTooLarge(id);
      type = Type::Error();
    }
    product_->types_[id.value] = type;
  }

  void Report(Offset offset, std::string message) {
    issues_.push_back({offset, std::move(message)});
  }
  void ReportTooLarge(ExprId id) {
    Report(ast_.offset(id),
           fmt::format("the expression's type is made of more than {} types", kMaxTypeSize));
  }
  void ReportUndeclared(ExprId id, std::string_view name) {
    Report(ast_.offset(id), fmt::format("undeclared reference to '{}' (in container '{}')", name,
                                        environment_.container()));
    SetType(id, Type::Error());
  }
  void ReportUndefinedField(Offset offset, std::string_view field) {
    Report(offset, fmt::format("undefined field '{}'", field));
  }
  void ReportMismatch(ExprId id, Type expected, Type found) {
    Report(ast_.offset(id), fmt::format("expected type '{}' but found '{}'", expected.ToMessage(),
                                        found.ToMessage()));
  }

  void Visit(ExprId id) {
    switch (ast_.kind(id)) {
      case ExprKind::kNull:
        return SetType(id, Type::Null());
      case ExprKind::kBool:
        return SetType(id, Type::Bool());
      case ExprKind::kInt:
        return SetType(id, Type::Int());
      case ExprKind::kUint:
        return SetType(id, Type::Uint());
      case ExprKind::kDouble:
        return SetType(id, Type::Double());
      case ExprKind::kString:
        return SetType(id, Type::String());
      case ExprKind::kBytes:
        return SetType(id, Type::Bytes());
      case ExprKind::kIdent:
        return VisitIdent(id);
      case ExprKind::kSelect:
        return VisitSelect(id);
      case ExprKind::kCall:
        return VisitCall(id);
      case ExprKind::kList:
        return VisitList(id);
      case ExprKind::kMap:
        return VisitMap(id);
      case ExprKind::kStruct:
        return VisitStruct(id);
      case ExprKind::kComprehension:
        return VisitComprehension(id);
    }
  }

  // Names.

  const Local* FindLocal(StringId name) const {
    const auto found = std::ranges::find(locals_.rbegin(), locals_.rend(), name, &Local::name);
    return found == locals_.rend() ? nullptr : &*found;
  }

  void SetReference(ExprId id, Type type, const Reference& reference) {
    SetType(id, type);
    product_->slots_[id.value] = static_cast<std::uint32_t>(product_->references_.size());
    product_->references_.push_back(reference);
  }

  // The type that a name stands for.
  const Type* FindType(std::string_view full_name) const {
    if (const Type* type = environment_.FindTypeName(full_name)) return type;
    const ObjectType* object = environment_.FindObject(full_name);
    return object == nullptr ? nullptr : &object->type;
  }

  // Makes the node a reference to the variable or type of that name, if there is one.
  bool ResolveGlobal(ExprId id, std::string_view name) {
    return FindInContainer(environment_.container(), name, [&](std::string_view full_name) {
      if (const Variable* variable = environment_.FindVariable(full_name)) {
        SetReference(id, variable->type,
                     {.kind = Reference::Kind::kVariable, .variable = variable});
        return true;
      }
      if (const Type* type = FindType(full_name)) {
        SetReference(id, pool().TypeOf(*type), {.kind = Reference::Kind::kType, .type = *type});
        return true;
      }
      return false;
    });
  }

  void VisitIdent(ExprId id) {
    const StringId name = ast_.ident(id);
    if (const Local* local = FindLocal(name)) return SetReference(id, local->type, {});
    if (!ResolveGlobal(id, ast_.text(name))) ReportUndeclared(id, ast_.text(name));
  }

  // Selections.

  bool StartsWithLocal(ExprId id) const {
    while (ast_.kind(id) == ExprKind::kSelect) id = ast_.select(id).operand;
    return FindLocal(ast_.ident(id)) != nullptr;
  }

  void VisitSelect(ExprId id) {
    const SelectExpr select = ast_.select(id);
    std::string name;
    if (!select.test_only && QualifiedName(ast_, id, name) && !StartsWithLocal(id) &&
        ResolveGlobal(id, name)) {
      return;
    }
    const Type field = SelectField(id, select.operand, ast_.text(select.field), false);
    SetType(id, select.test_only ? Type::Bool() : unifier_.Resolve(field));
  }

  void VisitOptionalSelect(ExprId id, const CallExpr& call) {
    const ExprId field = call.args[1];
    const Type type = SelectField(id, call.args[0], ast_.string_value(field), true);
    SetType(field, Type::String());
    SetType(id, unifier_.Resolve(type));
    const Function* function = environment_.FindFunction(op::kOptionalSelect);
    if (function == nullptr) return ReportUndeclared(id, op::kOptionalSelect);
    BeginCall(id, *function, false);
    AddCandidate(id, function->overloads[0]);
  }

  Type SelectField(ExprId id, ExprId operand, std::string_view field, bool optional) {
    Visit(operand);
    Type target = unifier_.Resolve(type(operand));
    if (target.IsOptional()) {
      optional = true;
      target = target.param(0);
    }
    const Type result = FieldType(id, target, field);
    return optional ? pool().Optional(result) : result;
  }

  Type FieldType(ExprId id, Type target, std::string_view field) {
    switch (target.kind()) {
      case TypeKind::kMap:
        return target.param(1);
      case TypeKind::kObject:
        return ObjectFieldType(ast_.offset(id), target, field);
      case TypeKind::kTypeParam:
        unifier_.Assign(Type::Dyn(), target);
        return Type::Dyn();
      case TypeKind::kDyn:
      case TypeKind::kAny:
      case TypeKind::kError:
        return Type::Dyn();
      default:
        Report(ast_.offset(id),
               fmt::format("type '{}' does not support field selection", target.ToMessage()));
        return Type::Dyn();
    }
  }

  Type ObjectFieldType(Offset offset, Type target, std::string_view field) {
    const ObjectType* object = environment_.FindObject(target.name());
    if (object == nullptr) {
      Report(offset, fmt::format("unexpected failed resolution of '{}'", target.name()));
      return Type::Error();
    }
    if (const Variable* found = object->FindField(field)) return found->type;
    ReportUndefinedField(offset, field);
    return Type::Error();
  }

  // Calls.

  const Function* FindFunction(std::string_view name) const {
    return FindInContainer(environment_.container(), name, [&](std::string_view full_name) {
      return environment_.FindFunction(full_name);
    });
  }

  void VisitCall(ExprId id) {
    const CallExpr call = ast_.call(id);
    const std::string_view name = ast_.text(call.function);
    if (name == op::kOptionalSelect) return VisitOptionalSelect(id, call);
    for (const ExprId arg : call.args) Visit(arg);

    if (call.target) {
      // a.b.c(): the function a.b.c if there is one, else c of a.b.
      std::string qualified;
      if (QualifiedName(ast_, *call.target, qualified)) {
        qualified.append(".").append(name);
        if (const Function* function = FindFunction(qualified)) {
          return ResolveCall(id, *function, std::nullopt, call.args);
        }
      }
      Visit(*call.target);
    }
    const Function* function = FindFunction(name);
    if (function == nullptr) return ReportUndeclared(id, name);
    ResolveCall(id, *function, call.target, call.args);
  }

  void BeginCall(ExprId id, const Function& function, bool receiver) {
    product_->slots_[id.value] = static_cast<std::uint32_t>(product_->calls_.size());
    product_->calls_.push_back({.function = &function,
                                .first = static_cast<std::uint32_t>(product_->candidates_.size()),
                                .receiver = receiver});
  }
  void AddCandidate(ExprId id, const Overload& overload) {
    product_->candidates_.push_back(&overload);
    ++product_->calls_[product_->slots_[id.value]].count;
  }

  void ResolveCall(ExprId id, const Function& function, std::optional<ExprId> receiver,
                   std::span<const ExprId> args) {
    BeginCall(id, function, receiver.has_value());
    if (function.name == op::kAnd || function.name == op::kOr) {
      return ResolveLogic(id, function, args);
    }
    absl::InlinedVector<Type, 4> arg_types;
    if (receiver) arg_types.push_back(type(*receiver));
    for (const ExprId arg : args) arg_types.push_back(type(arg));

    std::optional<Type> result;
    for (const Overload& overload : function.overloads) {
      if (overload.member != receiver.has_value()) continue;
      const std::uint32_t base = unifier_.Reserve(overload.type_params);
      if (!Accepts(overload, base, arg_types)) continue;
      AddCandidate(id, overload);
      const Type its = unifier_.Resolve(unifier_.Instantiate(overload.result, base));
      if (!result) {
        result = its;
      } else if (!result->IsDyn() && its != *result) {
        result = Type::Dyn();
      }
    }
    if (result) return SetType(id, *result);
    for (Type& arg : arg_types) arg = unifier_.ResolveOrDyn(arg);
    Report(ast_.offset(id), fmt::format("found no matching overload for '{}' applied to '{}'",
                                        function.name, Signature(arg_types, receiver.has_value())));
    SetType(id, Type::Error());
  }

  bool Accepts(const Overload& overload, std::uint32_t base, std::span<const Type> args) {
    if (overload.params.size() != args.size()) return false;
    absl::InlinedVector<Type, 4> params;
    for (const Type param : overload.params) params.push_back(unifier_.Instantiate(param, base));
    return unifier_.AssignAll(args, params);
  }

  // Each side is reported by itself.
  void ResolveLogic(ExprId id, const Function& function, std::span<const ExprId> args) {
    AddCandidate(id, function.overloads[0]);
    SetType(id, Type::Bool());
    for (const ExprId arg : args) {
      if (unifier_.Assign(type(arg), Type::Bool())) continue;
      ReportMismatch(arg, Type::Bool(), type(arg));
      SetType(id, Type::Error());
    }
  }

  // Literals.

  // The type of an entry, without its optional when it is written with a question mark.
  Type EntryType(ExprId value, bool optional) {
    const Type found = type(value);
    if (!optional || found.IsDyn()) return found;
    if (found.IsOptional()) return found.param(0);
    ReportMismatch(value, pool().Optional(found), found);
    return found;
  }

  // What entries of both types have in common. Null beside what takes null changes nothing.
  Type Join(const std::optional<Type>& before, Type next) {
    if (!before) return next;
    if (next.is(TypeKind::kNull) && internal::TakesNull(*before)) return *before;
    if (before->is(TypeKind::kNull) && internal::TakesNull(next)) return next;
    return unifier_.Assign(*before, next) ? internal::MostGeneral(*before, next) : Type::Dyn();
  }

  void VisitList(ExprId id) {
    const ListExpr list = ast_.list(id);
    std::optional<Type> element;
    for (std::size_t i = 0; i < list.elements.size(); ++i) {
      Visit(list.elements[i]);
      element = Join(element, EntryType(list.elements[i], list.IsOptional(i)));
    }
    SetType(id, pool().List(element ? *element : unifier_.NewTypeParam()));
  }

  void VisitMap(ExprId id) {
    std::optional<Type> key, value;
    for (const MapEntry& entry : ast_.map(id)) {
      Visit(entry.key);
      key = Join(key, type(entry.key));
      Visit(entry.value);
      value = Join(value, EntryType(entry.value, entry.optional));
    }
    if (!key) {
      key = unifier_.NewTypeParam();
      value = unifier_.NewTypeParam();
    }
    SetType(id, pool().Map(*key, *value));
  }

  void VisitStruct(ExprId id) {
    const StructExpr literal = ast_.struct_literal(id);
    const std::string_view name = ast_.text(literal.name);
    const auto find = [&](auto look_up) {
      return FindInContainer(environment_.container(), name, look_up);
    };
    const ObjectType* object =
        find([&](std::string_view full_name) { return environment_.FindObject(full_name); });
    if (object != nullptr) {
      SetReference(id, object->type, {.kind = Reference::Kind::kType, .type = object->type});
    } else {
      const Type* type =
          find([&](std::string_view full_name) { return environment_.FindTypeName(full_name); });
      if (type == nullptr) return ReportUndeclared(id, name);
      Report(ast_.offset(id), fmt::format("'{}' is not a message type", type->name()));
      SetType(id, Type::Error());
    }
    for (const StructField& field : literal.fields) VisitField(object, field);
  }

  void VisitField(const ObjectType* object, const StructField& field) {
    Visit(field.value);
    if (object == nullptr) return;
    const std::string_view name = ast_.text(field.name);
    const Type given = EntryType(field.value, field.optional);
    const Variable* found = object->FindField(name);
    if (found == nullptr) return ReportUndefinedField(field.offset, name);
    if (unifier_.Assign(found->type, given)) return;
    Report(field.offset,
           fmt::format("expected type of field '{}' is '{}' but provided type is '{}'", name,
                       found->type.ToMessage(), given.ToMessage()));
  }

  // Loops.

  // The types of the loop's variables; the second is that of values.
  std::pair<Type, Type> LoopTypes(const Comprehension& loop) {
    const Type range = unifier_.Resolve(type(loop.range));
    switch (range.kind()) {
      case TypeKind::kList:
        if (loop.iter_var2) return {Type::Int(), range.param(0)};
        return {range.param(0), range.param(0)};
      case TypeKind::kMap:
        return {range.param(0), range.param(1)};
      case TypeKind::kTypeParam:
      case TypeKind::kDyn:
      case TypeKind::kError:
        unifier_.Assign(Type::Dyn(), range);
        return {Type::Dyn(), Type::Dyn()};
      default:
        Report(ast_.offset(loop.range),
               fmt::format("expression of type '{}' cannot be range of a comprehension (must be "
                           "list, map, or dynamic)",
                           range.ToMessage()));
        return {Type::Error(), Type::Error()};
    }
  }

  void VisitComprehension(ExprId id) {
    const Comprehension& loop = ast_.comprehension(id);
    Visit(loop.range);
    Visit(loop.init);
    const Type accumulated = type(loop.init);
    const std::size_t outer = locals_.size();
    locals_.push_back({loop.accu_var, accumulated});
    const auto [first, second] = LoopTypes(loop);
    locals_.push_back({loop.iter_var, first});
    if (loop.iter_var2) locals_.push_back({*loop.iter_var2, second});
    Visit(loop.condition);
    Expect(loop.condition, Type::Bool());
    Visit(loop.step);
    Expect(loop.step, accumulated);
    locals_.resize(outer + 1);
    Visit(loop.result);
    locals_.resize(outer);
    SetType(id, unifier_.Resolve(type(loop.result)));
  }

  void Expect(ExprId id, Type wanted) {
    if (!unifier_.Assign(wanted, type(id))) ReportMismatch(id, wanted, type(id));
  }

  std::shared_ptr<CheckedExpr> product_;
  const Ast& ast_;
  const Environment& environment_;
  internal::Unifier unifier_;
  std::vector<Local> locals_;  // the innermost last
  std::vector<Issue> issues_;
};

const Reference* CheckedExpr::FindReference(ExprId id) const {
  const ExprKind kind = ast_->kind(id);
  if (kind != ExprKind::kIdent && kind != ExprKind::kSelect && kind != ExprKind::kStruct) {
    return nullptr;
  }
  const std::uint32_t slot = slots_[id.value];
  return slot == kNoSlot ? nullptr : &references_[slot];
}

CheckResult Check(std::shared_ptr<const Ast> ast, std::shared_ptr<const Environment> environment) {
  return Checker(std::move(ast), std::move(environment)).Run();
}

}  // namespace dray::cel
