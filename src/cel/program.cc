// SPDX-License-Identifier: Apache-2.0
#include "cel/program.h"

#include <algorithm>
#include <optional>

#include "cel/internal/pattern.h"
#include "cel/macros.h"
#include "cel/operators.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

// Calls of these with constants are done when the program is built; a failure is one of building.
bool IsConversion(std::string_view function) {
  for (const std::string_view name : {"bool", "bytes", "double", "duration", "dyn", "int", "string",
                                      "timestamp", "type", "uint"}) {
    if (function == name) return true;
  }
  return false;
}

bool IsPrimitive(Kind kind) {
  return kind == Kind::kBool || kind == Kind::kBytes || kind == Kind::kDouble ||
         kind == Kind::kInt || kind == Kind::kString || kind == Kind::kUint;
}

// The names of types that identifiers can stand for, when there is no checker to say.
bool IsTypeName(std::string_view name) {
  for (const std::string_view type :
       {"bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint",
        "optional_type", "google.protobuf.Timestamp", "google.protobuf.Duration", "net.IP",
        "net.CIDR"}) {
    if (name == type) return true;
  }
  return false;
}

}  // namespace

// One program under construction.
class Compiler {
 public:
  Compiler(const Ast& ast, const CheckedExpr* checked, const UncheckedNames* names, Dialect dialect)
      : ast_(ast), checked_(checked), names_(names), dialect_(dialect) {}

  StatusOr<std::shared_ptr<const Program>> Run() {
    std::shared_ptr<Program> program(new Program);
    program_ = program.get();
    program_->dialect_ = dialect_;
    program_->root_ = Compile(ast_.root());
    if (!failure_.empty()) {
      return base::InvalidArgument("program instantiation failed: " + failure_);
    }
    std::ranges::sort(program_->reads_.attributes);
    std::ranges::sort(program_->reads_.capacities);
    for (auto* names : {&program_->reads_.attributes, &program_->reads_.capacities}) {
      names->erase(std::unique(names->begin(), names->end()), names->end());
    }
    return std::shared_ptr<const Program>(std::move(program));
  }

 private:
  using Op = Program::Op;
  using Node = Program::Node;
  using Chain = Program::Chain;
  using Qualifier = Program::Qualifier;

  struct Local {
    std::string_view name;
    std::uint32_t slot;
  };
  struct Path {
    Chain chain;
    std::vector<Qualifier> qualifiers;
  };

  Arena& arena() { return *program_->arena_; }

  std::uint32_t Add(const Node& node) {
    program_->nodes_.push_back(node);
    return static_cast<std::uint32_t>(program_->nodes_.size() - 1);
  }
  std::uint32_t Constant(const Value& value) {
    program_->constants_.push_back(value);
    return Add(
        {.op = Op::kConstant, .a = static_cast<std::uint32_t>(program_->constants_.size() - 1)});
  }
  bool IsConstant(std::uint32_t node) const { return program_->nodes_[node].op == Op::kConstant; }
  const Value& ConstantOf(std::uint32_t node) const {
    return program_->constants_[program_->nodes_[node].a];
  }
  std::uint32_t Failing(std::string_view message) {
    // An error may be absorbed by && and ||, so it is a value like any other.
    return Constant(MakeError(arena(), message));
  }
  std::uint32_t NewLocal() { return program_->locals_++; }
  std::uint32_t AddArgs(std::span<const std::uint32_t> args) {
    const auto first = static_cast<std::uint32_t>(program_->args_.size());
    program_->args_.insert(program_->args_.end(), args.begin(), args.end());
    return first;
  }

  std::uint32_t Compile(ExprId id) {
    switch (ast_.kind(id)) {
      case ExprKind::kNull:
        return Constant(Value::Null());
      case ExprKind::kBool:
        return Constant(Value::Bool(ast_.bool_value(id)));
      case ExprKind::kInt:
        return Constant(Value::Int(ast_.int_value(id)));
      case ExprKind::kUint:
        return Constant(Value::Uint(ast_.uint_value(id)));
      case ExprKind::kDouble:
        return Constant(Value::Double(ast_.double_value(id)));
      case ExprKind::kString:
        return Constant(MakeString(arena(), ast_.string_value(id)));
      case ExprKind::kBytes:
        return Constant(MakeBytes(arena(), ast_.string_value(id)));
      case ExprKind::kIdent:
      case ExprKind::kSelect:
        return CompilePath(id);
      case ExprKind::kCall:
        return CompileCall(id);
      case ExprKind::kList:
        return CompileList(id);
      case ExprKind::kMap:
        return CompileMap(id);
      case ExprKind::kStruct:
        return CompileMessage(id);
      case ExprKind::kComprehension:
        return CompileLoop(id);
    }
    return Failing("unknown expression");
  }

  // --- paths ---

  std::uint32_t CompilePath(ExprId id) {
    Path path;
    if (const auto constant = BuildPath(id, path)) return *constant;
    return Finish(path);
  }

  std::uint32_t Finish(Path& path) {
    NoteReads(path);
    if (path.chain.base == Chain::Base::kNode && path.qualifiers.empty()) return path.chain.start;
    path.chain.first = static_cast<std::uint32_t>(program_->qualifiers_.size());
    path.chain.count = static_cast<std::uint32_t>(path.qualifiers.size());
    if (path.chain.base == Chain::Base::kConditional) path.chain.start_cost = 0;
    if (!path.qualifiers.empty() && path.qualifiers.back().test_only) --path.chain.start_cost;
    program_->qualifiers_.insert(program_->qualifiers_.end(), path.qualifiers.begin(),
                                 path.qualifiers.end());
    program_->chains_.push_back(path.chain);
    return Add({.op = Op::kChain, .a = static_cast<std::uint32_t>(program_->chains_.size() - 1)});
  }

  // Fills `path`; or answers with a node when `id` is no path at all but a constant.
  std::optional<std::uint32_t> BuildPath(ExprId id, Path& path) {
    switch (ast_.kind(id)) {
      case ExprKind::kIdent:
        return BuildName(id, path);
      case ExprKind::kSelect: {
        if (checked_ != nullptr) {
          if (checked_->FindReference(id) != nullptr) return BuildName(id, path);
        } else if (BuildQualifiedName(id, path)) {
          return unchecked_constant_;
        }
        const SelectExpr select = ast_.select(id);
        BuildOperand(select.operand, path);
        path.qualifiers.push_back(
            {.key = MakeString(arena(), ast_.text(select.field)), .test_only = select.test_only});
        return std::nullopt;
      }
      case ExprKind::kCall: {
        const CallExpr call = ast_.call(id);
        const std::string_view function = ast_.text(call.function);
        if (function == op::kConditional) {
          path.chain.base = Chain::Base::kConditional;
          path.chain.start = Compile(call.args[0]);
          path.chain.yes = WithoutStart(Compile(call.args[1]));
          path.chain.no = WithoutStart(Compile(call.args[2]));
          return std::nullopt;
        }
        BuildOperand(call.args[0], path);
        Qualifier qualifier{.optional = function != op::kIndex};
        const std::uint32_t key = WithoutStart(Compile(call.args[1]));
        if (IsConstant(key)) {
          qualifier.key = ConstantOf(key);
          if (dialect_ == Dialect::kKubernetes && !IsKeyKind(qualifier.key.kind()) &&
              !qualifier.key.is(Kind::kDouble) && !qualifier.key.is_error()) {
            Fail(fmt::format("invalid qualifier type: {}", GoTypeName(qualifier.key)));
          }
        } else {
          qualifier.node = key;
        }
        path.qualifiers.push_back(qualifier);
        return std::nullopt;
      }
      default:
        path.chain.start = Compile(id);
        return std::nullopt;
    }
  }

  // A path that is part of another one does not pay for its start.
  std::uint32_t WithoutStart(std::uint32_t node) {
    if (program_->nodes_[node].op == Op::kChain) {
      program_->chains_[program_->nodes_[node].a].start_cost = 0;
    }
    return node;
  }

  bool IsPath(ExprId id) const {
    if (ast_.kind(id) == ExprKind::kIdent) return true;
    if (ast_.kind(id) == ExprKind::kSelect) return !ast_.select(id).test_only;
    if (ast_.kind(id) != ExprKind::kCall) return false;
    const std::string_view function = ast_.text(ast_.call(id).function);
    return function == op::kIndex || function == op::kOptionalIndex ||
           function == op::kOptionalSelect || function == op::kConditional;
  }

  void BuildOperand(ExprId id, Path& path) {
    if (!IsPath(id)) {
      path.chain.start = Compile(id);
      return;
    }
    if (const auto constant = BuildPath(id, path)) path.chain.start = *constant;
  }

  std::uint32_t VariableSlot(std::string_view name) {
    auto& variables = program_->variables_;
    const auto it = std::ranges::find(variables, name);
    if (it != variables.end()) return static_cast<std::uint32_t>(it - variables.begin());
    variables.emplace_back(name);
    return static_cast<std::uint32_t>(variables.size() - 1);
  }

  std::string QualifiedText(ExprId id) const {
    if (ast_.kind(id) == ExprKind::kIdent) return std::string(ast_.text(ast_.ident(id)));
    if (ast_.kind(id) != ExprKind::kSelect || ast_.select(id).test_only) return "";
    const std::string operand = QualifiedText(ast_.select(id).operand);
    if (operand.empty()) return "";
    return operand + "." + std::string(ast_.text(ast_.select(id).field));
  }

  std::optional<std::uint32_t> BuildName(ExprId id, Path& path) {
    if (checked_ == nullptr) {
      BuildQualifiedName(id, path);
      return unchecked_constant_;
    }
    const Reference& reference = *checked_->FindReference(id);
    switch (reference.kind) {
      case Reference::Kind::kLocal:
        path.chain.base = Chain::Base::kLocal;
        path.chain.start = FindLocal(ast_.text(ast_.ident(id))).value_or(0);
        return std::nullopt;
      case Reference::Kind::kVariable:
        path.chain.base = Chain::Base::kVariable;
        path.chain.start = VariableSlot(reference.variable->name);
        return std::nullopt;
      case Reference::Kind::kType:
        break;
    }
    std::string name = QualifiedText(id);
    if (name.starts_with('.')) name.erase(0, 1);
    return Constant(Value::Type(arena().Copy(name)));
  }

  std::optional<std::uint32_t> FindLocal(std::string_view name) const {
    for (auto it = locals_.rbegin(); it != locals_.rend(); ++it) {
      if (it->name == name) return it->slot;
    }
    return std::nullopt;
  }

  // Without a checker: the longest dotted name that is a variable or type in the container. False
  // when `id` as a whole is no name; an identifier always is, if only one that nobody knows.
  bool BuildQualifiedName(ExprId id, Path& path) {
    unchecked_constant_.reset();
    std::string name = QualifiedText(id);
    if (name.empty()) return false;
    const bool absolute = name.starts_with('.');
    if (absolute) name.erase(0, 1);
    const std::string first = name.substr(0, name.find('.'));
    if (!absolute) {
      if (const auto local = FindLocal(first)) {
        if (first != name) return false;
        path.chain.base = Chain::Base::kLocal;
        path.chain.start = *local;
        return true;
      }
    }
    std::string container = absolute ? "" : names_->container;
    for (;;) {
      const std::string candidate = container.empty() ? name : container + "." + name;
      if (std::ranges::find(names_->variables, candidate) != names_->variables.end()) {
        path.chain.base = Chain::Base::kVariable;
        path.chain.start = VariableSlot(candidate);
        return true;
      }
      if (IsTypeName(candidate)) {
        unchecked_constant_ = Constant(Value::Type(arena().Copy(candidate)));
        return true;
      }
      if (container.empty()) break;
      const std::size_t dot = container.rfind('.');
      container = dot == std::string::npos ? "" : container.substr(0, dot);
    }
    if (ast_.kind(id) != ExprKind::kIdent) return false;
    unchecked_constant_ = Failing(fmt::format("no such attribute(s): {}", name));
    return true;
  }

  void NoteReads(const Path& path) {
    if (path.chain.base != Chain::Base::kVariable) return;
    if (program_->variables_[path.chain.start] != "device") return;
    Reads& reads = program_->reads_;
    const auto text = [&](std::size_t i) -> std::optional<std::string> {
      if (i >= path.qualifiers.size()) return std::nullopt;
      const Qualifier& q = path.qualifiers[i];
      if (q.node != Program::kNone || !q.key.is(Kind::kString)) return std::nullopt;
      return std::string(q.key.as_text());
    };
    const auto field = text(0);
    if (!field) {
      reads.whole_device = true;
    } else if (*field == "driver") {
      reads.driver = true;
    } else if (*field == "name") {
      reads.name = true;
    } else if (*field == "allowMultipleAllocations") {
      reads.allow_multiple_allocations = true;
    } else if (*field == "attributes" || *field == "capacity") {
      const bool attributes = *field == "attributes";
      const auto domain = text(1);
      const auto id = text(2);
      if (!domain || !id) {
        (attributes ? reads.all_attributes : reads.all_capacities) = true;
      } else {
        (attributes ? reads.attributes : reads.capacities).push_back({*domain, *id});
      }
    }
  }

  // --- calls ---

  std::string_view OnlyOverload(ExprId id) const {
    if (checked_ == nullptr) return {};
    const auto overloads = checked_->overloads(id);
    return overloads.size() == 1 ? std::string_view(overloads[0]->id) : std::string_view();
  }

  // Without a checker, the full name of a global function whose name begins with the target's.
  std::optional<std::string> NamespacedFunction(const CallExpr& call) const {
    if (!call.target) {
      std::string name(ast_.text(call.function));
      if (name.starts_with('.')) name.erase(0, 1);
      return name;
    }
    std::string prefix = QualifiedText(*call.target);
    if (prefix.empty()) return std::nullopt;
    if (prefix.starts_with('.')) prefix.erase(0, 1);
    std::string name = prefix + "." + std::string(ast_.text(call.function));
    if (FindBuiltin(name, dialect_) == nullptr) return std::nullopt;
    return name;
  }

  std::uint32_t CompileCall(ExprId id) {
    const CallExpr call = ast_.call(id);
    std::string function(ast_.text(call.function));
    if (IsPath(id)) return CompilePath(id);
    bool receiver = call.target.has_value();
    if (checked_ != nullptr) {
      function = checked_->function(id).name;
      receiver = receiver && checked_->has_receiver(id);
    } else if (const auto name = NamespacedFunction(call)) {
      function = *name;
      receiver = false;
    }
    std::vector<std::uint32_t> args;
    if (receiver) args.push_back(Compile(*call.target));
    for (const ExprId arg : call.args) args.push_back(Compile(arg));

    if (function == op::kAnd) return Add({.op = Op::kAnd, .a = args[0], .b = args[1]});
    if (function == op::kOr) return Add({.op = Op::kOr, .a = args[0], .b = args[1]});
    if (function == op::kNotStrictlyFalse || function == "__not_strictly_false__") {
      return Add({.op = Op::kNotStrictlyFalse, .a = args[0]});
    }
    if (function == op::kEqual) return Add({.op = Op::kEqual, .a = args[0], .b = args[1]});
    if (function == op::kNotEqual) return Add({.op = Op::kNotEqual, .a = args[0], .b = args[1]});
    if (function == "or" && args.size() == 2) {
      return Add({.op = Op::kOptionalOr, .a = args[0], .b = args[1]});
    }
    if (function == "orValue" && args.size() == 2) {
      return Add({.op = Op::kOrValue, .a = args[0], .b = args[1]});
    }

    const std::string_view overload = OnlyOverload(id);
    const Builtin* builtin = FindBuiltin(overload, dialect_);
    if (builtin == nullptr) builtin = FindBuiltin(function, dialect_);
    if (builtin == nullptr || args.size() < builtin->min_args || args.size() > builtin->max_args) {
      return Failing(fmt::format("no such overload: {}", function));
    }
    if (overload == "in_list" && IsConstant(args[1])) {
      if (const auto folded = FoldMembership(args[0], args[1])) return *folded;
    }
    if (args.size() == 1 && IsConversion(function) && IsConstant(args[0])) {
      return FoldConversion(*builtin, args[0]);
    }
    Node node{.op = Op::kCall,
              .rule = CostRuleOf(function, overload),
              .a = AddArgs(args),
              .b = static_cast<std::uint32_t>(args.size())};
    if (const auto pattern = ConstantPattern(function, args)) {
      node.op = Op::kRegex;
      node.target = *pattern;
      return Add(node);
    }
    if (const auto made = MakeOnce(*builtin, node, args)) return *made;
    node.target = static_cast<std::uint32_t>(program_->functions_.size());
    program_->functions_.push_back(builtin);
    return Add(node);
  }

  // quantity("1Mi") and its like are made once, but paid for every time: Kubernetes makes them in
  // every evaluation. One that fails stays a call, since its error may be absorbed.
  std::optional<std::uint32_t> MakeOnce(const Builtin& builtin, const Node& node,
                                        std::span<const std::uint32_t> args) {
    bool parses = false;
    for (const std::string_view name : {"quantity", "semver", "ip", "cidr", "url"}) {
      parses = parses || builtin.name == name;
    }
    if (!parses || !std::ranges::all_of(args, [&](auto arg) { return IsConstant(arg); })) {
      return std::nullopt;
    }
    std::vector<Value> values;
    for (const std::uint32_t arg : args) {
      values.push_back(ConstantOf(arg));
      if (values.back().is_error()) return std::nullopt;
    }
    const Value value = builtin.impl(arena(), values);
    if (value.is_error()) return std::nullopt;
    program_->constants_.push_back(value);
    return Add({.op = Op::kPaid,
                .a = static_cast<std::uint32_t>(program_->constants_.size() - 1),
                .b = static_cast<std::uint32_t>(CallCost(node.rule, values, value))});
  }

  std::uint32_t FoldConversion(const Builtin& builtin, std::uint32_t arg) {
    const Value value = ConstantOf(arg);
    if (value.is_error()) return arg;
    const Value result = builtin.impl(arena(), std::span(&value, 1));
    if (result.is_error()) {
      Fail(IsUnmatchedCall(result)
               ? fmt::format("no such overload: {}({})", builtin.name, TypeName(value))
               : std::string(ErrorMessage(result)));
    }
    return Constant(result);
  }

  void Fail(std::string reason) {
    if (failure_.empty()) failure_ = std::move(reason);
  }

  // x in [constants]: nothing when the list has more than primitive values.
  std::optional<std::uint32_t> FoldMembership(std::uint32_t x, std::uint32_t constant) {
    const Value list = ConstantOf(constant);
    if (!list.is(Kind::kList)) return std::nullopt;
    const List& values = list.as<List>();
    if (values.size() == 0) return Constant(Value::Bool(false));
    auto* set = arena().New<GrowingMap>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Value value = values.At(i);
      if (!IsPrimitive(value.kind()) || value.is(Kind::kBytes)) return std::nullopt;
      set->Insert(arena(), value, Value::Bool(true));
    }
    program_->constants_.push_back(Value::Pointer(Kind::kMap, static_cast<const Map*>(set)));
    return Add({.op = Op::kInSet,
                .a = x,
                .target = static_cast<std::uint32_t>(program_->constants_.size() - 1)});
  }

  std::optional<std::uint32_t> ConstantPattern(std::string_view function,
                                               std::span<const std::uint32_t> args) {
    RegexImpl impl = nullptr;
    if (function == "matches") impl = RegexMatches;
    if (function == "find") impl = RegexFind;
    if (function == "findAll") impl = RegexFindAll;
    if (impl == nullptr || !IsConstant(args[1]) || !ConstantOf(args[1]).is(Kind::kString)) {
      return std::nullopt;
    }
    auto pattern = std::make_shared<const Program::Pattern>(ConstantOf(args[1]).as_text(), impl);
    if (!pattern->regex.ok()) {
      Fail(RegexError(pattern->regex));
      return std::nullopt;
    }
    program_->patterns_.push_back(std::move(pattern));
    return static_cast<std::uint32_t>(program_->patterns_.size() - 1);
  }

  // --- literals ---

  std::uint32_t CompileList(ExprId id) {
    const ListExpr list = ast_.list(id);
    std::vector<std::uint32_t> elements;
    std::vector<bool> optional;
    bool constant = true;
    for (std::size_t i = 0; i < list.elements.size(); ++i) {
      elements.push_back(Compile(list.elements[i]));
      optional.push_back(list.IsOptional(i));
      constant = constant && IsConstant(elements.back()) && !optional.back() &&
                 !ConstantOf(elements.back()).is_error();
    }
    if (constant) {
      std::vector<Value> values;
      for (const std::uint32_t element : elements) values.push_back(ConstantOf(element));
      return Constant(values.empty() ? EmptyList() : MakeList(arena(), values));
    }
    return Add({.op = Op::kList,
                .a = AddArgs(elements),
                .b = static_cast<std::uint32_t>(elements.size()),
                .target = OptionalFlags(optional)});
  }

  std::uint32_t OptionalFlags(const std::vector<bool>& optional) {
    if (std::ranges::find(optional, true) == optional.end()) return Program::kNone;
    program_->optional_flags_.push_back(optional);
    return static_cast<std::uint32_t>(program_->optional_flags_.size() - 1);
  }

  std::uint32_t CompileMap(ExprId id) {
    std::vector<std::uint32_t> parts;
    std::vector<bool> optional;
    bool constant = true;
    for (const MapEntry& entry : ast_.map(id)) {
      for (const ExprId part : {entry.key, entry.value}) {
        parts.push_back(Compile(part));
        constant = constant && IsConstant(parts.back()) && !ConstantOf(parts.back()).is_error();
      }
      optional.push_back(entry.optional);
      constant = constant && !entry.optional && IsKeyKind(KindIfConstant(parts[parts.size() - 2]));
    }
    if (constant) {
      if (parts.empty()) return Constant(EmptyMap());
      auto* map = arena().New<GrowingMap>();
      bool unique = true;
      for (std::size_t i = 0; i < parts.size(); i += 2) {
        unique =
            map->PutSameKind(arena(), ConstantOf(parts[i]), ConstantOf(parts[i + 1])) && unique;
      }
      if (unique) return Constant(Value::Pointer(Kind::kMap, static_cast<const Map*>(map)));
    }
    return Add({.op = Op::kMap,
                .a = AddArgs(parts),
                .b = static_cast<std::uint32_t>(parts.size()),
                .target = OptionalFlags(optional)});
  }
  Kind KindIfConstant(std::uint32_t node) const {
    return IsConstant(node) ? ConstantOf(node).kind() : Kind::kNull;
  }

  std::uint32_t CompileMessage(ExprId id) {
    constexpr std::string_view kPackage = "google.protobuf.";
    const StructExpr literal = ast_.struct_literal(id);
    std::string_view name = ast_.text(literal.name);
    if (name.starts_with('.')) name.remove_prefix(1);
    if (!name.starts_with(kPackage)) return Failing(fmt::format("unknown type: {}", name));
    Program::Message message{.type = std::string(name.substr(kPackage.size()))};
    std::vector<std::uint32_t> args;
    for (const StructField& field : literal.fields) {
      message.fields.emplace_back(ast_.text(field.name));
      args.push_back(Compile(field.value));
    }
    program_->messages_.push_back(std::move(message));
    return Add({.op = Op::kMessage,
                .a = AddArgs(args),
                .b = static_cast<std::uint32_t>(args.size()),
                .target = static_cast<std::uint32_t>(program_->messages_.size() - 1)});
  }

  // --- loops ---

  std::uint32_t CompileLoop(ExprId id) {
    const Comprehension& loop = ast_.comprehension(id);
    Program::Loop out;
    out.range = Compile(loop.range);
    out.init = Compile(loop.init);
    out.accu = NewLocal();
    out.var1 = NewLocal();
    if (loop.iter_var2) out.var2 = NewLocal();
    out.grows_list = IsConstant(out.init) && ConstantOf(out.init).is(Kind::kList) &&
                     ConstantOf(out.init).as<List>().size() == 0;
    out.grows_map = IsConstant(out.init) && ConstantOf(out.init).is(Kind::kMap) &&
                    ConstantOf(out.init).as<Map>().size() == 0;
    locals_.push_back({ast_.text(loop.accu_var), out.accu});
    locals_.push_back({ast_.text(loop.iter_var), out.var1});
    if (loop.iter_var2) locals_.push_back({ast_.text(*loop.iter_var2), out.var2});
    out.condition = Compile(loop.condition);
    out.step = CompileStep(loop, out);
    locals_.pop_back();
    if (loop.iter_var2) locals_.pop_back();
    out.result = Compile(loop.result);
    locals_.pop_back();
    program_->loops_.push_back(out);
    return Add({.op = Op::kLoop, .a = static_cast<std::uint32_t>(program_->loops_.size() - 1)});
  }

  bool IsAccu(ExprId id, const Comprehension& loop) const {
    return ast_.kind(id) == ExprKind::kIdent && ast_.ident(id) == loop.accu_var &&
           ast_.text(loop.accu_var) == kAccumulator;
  }

  // Appending one element, or inserting one entry, changes the accumulator in place: nobody else
  // sees it before the loop is over.
  std::uint32_t CompileStep(const Comprehension& loop, Program::Loop& out) {
    if (!out.grows_list && !out.grows_map) return Compile(loop.step);
    if (ast_.kind(loop.step) == ExprKind::kCall) {
      const CallExpr call = ast_.call(loop.step);
      if (ast_.text(call.function) == op::kConditional && IsAccu(call.args[2], loop)) {
        if (const auto grow = CompileGrowth(call.args[1], loop, out)) {
          Path path;
          path.chain.base = Chain::Base::kConditional;
          path.chain.start = Compile(call.args[0]);
          path.chain.yes = *grow;
          path.chain.no = WithoutStart(Compile(call.args[2]));
          return Finish(path);
        }
      } else if (const auto grow = CompileGrowth(loop.step, loop, out)) {
        return *grow;
      }
    }
    out.grows_list = out.grows_map = false;
    return Compile(loop.step);
  }

  std::optional<std::uint32_t> CompileGrowth(ExprId id, const Comprehension& loop,
                                             const Program::Loop& out) {
    if (ast_.kind(id) != ExprKind::kCall) return std::nullopt;
    const CallExpr call = ast_.call(id);
    const std::string_view function = ast_.text(call.function);
    if (call.args.size() < 2 || !IsAccu(call.args[0], loop)) return std::nullopt;
    if (out.grows_list && function == op::kAdd && ast_.kind(call.args[1]) == ExprKind::kList) {
      const ListExpr list = ast_.list(call.args[1]);
      if (list.elements.size() != 1 || list.IsOptional(0)) return std::nullopt;
      const std::uint32_t element = Compile(list.elements[0]);
      return Add({.op = Op::kAppend,
                  .flag = IsConstant(element) ? std::uint8_t{1} : std::uint8_t{0},
                  .a = out.accu,
                  .b = element});
    }
    if (out.grows_map && function == op::kMapInsert && call.args.size() == 3) {
      const std::uint32_t key = Compile(call.args[1]);
      return Add({.op = Op::kInsert, .a = out.accu, .b = key, .target = Compile(call.args[2])});
    }
    return std::nullopt;
  }

  const Ast& ast_;
  const CheckedExpr* checked_;
  const UncheckedNames* names_;
  const Dialect dialect_;
  Program* program_ = nullptr;
  std::vector<Local> locals_;
  std::string failure_;
  std::optional<std::uint32_t> unchecked_constant_;
};

StatusOr<std::shared_ptr<const Program>> Program::Compile(const CheckedExpr& checked) {
  return Compiler(checked.ast(), &checked, nullptr, checked.environment().dialect()).Run();
}

StatusOr<std::shared_ptr<const Program>> Program::CompileUnchecked(const Ast& ast,
                                                                   const UncheckedNames& names) {
  return Compiler(ast, nullptr, &names, Dialect::kLanguage).Run();
}

}  // namespace dray::cel
