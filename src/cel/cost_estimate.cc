// SPDX-License-Identifier: Apache-2.0
#include "cel/cost_estimate.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/utf8.h"
#include "cel/estimates.h"
#include "cel/internal/paths.h"
#include "cel/library.h"
#include "cel/operators.h"

namespace dray::cel {
namespace {

using internal::EntrySizes;
using internal::Paths;

constexpr CostRange kName = CostRange::Exactly(1);     // an identifier or a selection
constexpr CostRange kList = CostRange::Exactly(10);    // to make a list
constexpr CostRange kMap = CostRange::Exactly(30);     // ... a map
constexpr CostRange kStruct = CostRange::Exactly(40);  // ... a message

// Values of these types are one unit large.
bool IsScalar(Type type) {
  switch (type.kind()) {
    case TypeKind::kBool:
    case TypeKind::kInt:
    case TypeKind::kUint:
    case TypeKind::kDouble:
    case TypeKind::kDuration:
    case TypeKind::kTimestamp:
      return true;
    default:
      return type.IsOptional() && IsScalar(type.param(0));
  }
}

// One walk over a tree.
class Estimator {
 public:
  explicit Estimator(const CheckedExpr& expr)
      : expr_(expr),
        ast_(expr.ast()),
        paths_(expr.environment().size_limits()),
        nodes_(ast_.size()) {}

  CostRange Run() { return Visit(ast_.root()); }

 private:
  // What was learnt about a node.
  struct Known {
    std::optional<CostRange> size;
    std::optional<EntrySizes> entries;
    Paths::Id path = Paths::kNone;
  };
  // A variable of a loop or a binding.
  struct Local {
    StringId name;
    Known known;
  };

  Known& At(ExprId id) { return nodes_[id.value]; }

  const Local* FindLocal(ExprId id) const {
    if (ast_.kind(id) != ExprKind::kIdent) return nullptr;
    const auto found =
        std::ranges::find(locals_.rbegin(), locals_.rend(), ast_.ident(id), &Local::name);
    return found == locals_.rend() ? nullptr : &*found;
  }

  Paths::Id PathOf(ExprId id) {
    const Local* local = FindLocal(id);
    return local != nullptr ? local->known.path : At(id).path;
  }

  // Sizes.

  std::optional<CostRange> LiteralSize(ExprId id) const {
    switch (ast_.kind(id)) {
      case ExprKind::kString:
        return CostRange::Exactly(base::CodePoints(ast_.string_value(id)));
      case ExprKind::kBytes:
        return CostRange::Exactly(ast_.string_value(id).size());
      case ExprKind::kNull:
      case ExprKind::kBool:
      case ExprKind::kInt:
      case ExprKind::kUint:
      case ExprKind::kDouble:
        return CostRange::Exactly(1);
      case ExprKind::kList:
        return CostRange::Exactly(ast_.list(id).elements.size());
      case ExprKind::kMap:
        return CostRange::Exactly(ast_.map(id).size());
      default:
        return std::nullopt;
    }
  }

  std::optional<CostRange> FindSize(ExprId id) {
    if (At(id).size) return At(id).size;
    if (const auto size = LiteralSize(id)) return size;
    if (const auto size = paths_.SizeAt(PathOf(id))) return At(id).size = size;
    if (IsScalar(expr_.type(id))) return CostRange::Exactly(1);
    const Local* local = FindLocal(id);
    return local == nullptr ? std::nullopt : local->known.size;
  }
  CostRange Size(ExprId id) { return FindSize(id).value_or(CostRange::Unknown()); }

  std::optional<EntrySizes> FindEntries(ExprId id) {
    if (At(id).entries) return At(id).entries;
    const Local* local = FindLocal(id);
    return local == nullptr ? std::nullopt : local->known.entries;
  }

  void CopySizes(ExprId to, ExprId from) {
    if (const auto size = FindSize(from)) At(to).size = size;
    if (const auto entries = FindEntries(from)) At(to).entries = entries;
  }

  // Costs.

  CostRange Visit(ExprId id) {
    switch (ast_.kind(id)) {
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
        return IsBind(id) ? VisitBind(id) : VisitLoop(id);
      default:
        return {};
    }
  }

  CostRange VisitIdent(ExprId id) {
    const Local* local = FindLocal(id);
    At(id).path = local != nullptr ? local->known.path : RootPath(id);
    return kName;
  }

  // Of an identifier, or of a selection that is a qualified name.
  Paths::Id RootPath(ExprId id) {
    const Reference* reference = expr_.FindReference(id);
    const Variable* variable = reference == nullptr ? nullptr : reference->variable;
    if (variable != nullptr) return paths_.Below(Paths::kNone, variable->name);
    return paths_.Below(Paths::kNone, "");  // a type
  }

  CostRange VisitSelect(ExprId id) {
    if (expr_.FindReference(id) != nullptr) {
      At(id).path = RootPath(id);
      return kName;
    }
    const SelectExpr select = ast_.select(id);
    CostRange cost = Visit(select.operand);
    if (select.test_only) return cost;
    const TypeKind kind = expr_.type(select.operand).kind();
    if (kind == TypeKind::kMap || kind == TypeKind::kObject) cost = cost + kName;
    At(id).path = paths_.Below(PathOf(select.operand), ast_.text(select.field));
    return cost;
  }

  CostNode NodeOf(ExprId id) {
    CostNode node{.type = expr_.type(id), .known_size = FindSize(id)};
    if (ast_.kind(id) == ExprKind::kInt) node.constant = ast_.int_value(id);
    return node;
  }

  CostRange VisitCall(ExprId id) {
    const CallExpr call = ast_.call(id);
    if (expr_.function(id).name == "dyn") {
      const CostRange cost = Visit(call.args[0]);
      CopySizes(id, call.args[0]);
      return cost + CostRange::Exactly(1);
    }
    absl::InlinedVector<CostNode, 4> args;
    absl::InlinedVector<CostRange, 4> costs;
    for (const ExprId arg : call.args) {
      costs.push_back(Visit(arg));
      args.push_back(NodeOf(arg));
    }
    CostRange sum;
    std::optional<CostNode> receiver;
    if (call.target && expr_.has_receiver(id)) {
      sum = Visit(*call.target);
      receiver = NodeOf(*call.target);
      const Paths::Id items = paths_.Below(PathOf(*call.target), "@items");
      receiver->element_size = paths_.SizeAt(items).value_or(CostRange::Unknown());
    }
    const CallSite site{
        .receiver = receiver ? &*receiver : nullptr, .args = args, .arg_costs = costs};
    return sum + OverloadsCost(id, call, site);
  }

  // The union over what the call may reach. Also learns the size of its result.
  CostRange OverloadsCost(ExprId id, const CallExpr& call, const CallSite& site) {
    CostRange arguments;
    for (const CostRange& cost : site.arg_costs) arguments = arguments + cost;

    CostRange all{CostRange::kLargest, 0};
    std::optional<CostRange> result_size;
    for (const Overload* overload : expr_.overloads(id)) {
      const CallEstimate own = EstimateOf(*overload, site);
      LearnEntries(id, overload->id, call.args);
      all = all.Union(own.with_arguments ? own.cost : own.cost + arguments);
      if (own.result_size) {
        result_size = result_size ? result_size->Union(*own.result_size) : own.result_size;
      }
      if (const auto step = IndexStep(overload->id)) {
        const auto entries = FindEntries(call.args[0]);
        result_size = entries ? std::optional(entries->value) : std::nullopt;
        At(id).path = paths_.Below(PathOf(call.args[0]), *step);
      }
      if (!result_size) result_size = FindSize(id);
    }
    if (result_size) At(id).size = result_size;
    return all;
  }

  // An overload without a row was declared to be checked, not to be called.
  static CallEstimate EstimateOf(const Overload& overload, const CallSite& site) {
    return overload.row == nullptr ? estimate::Unit(site) : overload.row->estimate(site);
  }

  static std::optional<std::string_view> IndexStep(std::string_view overload) {
    if (overload == "index_list") return "@items";
    if (overload == "index_map") return "@values";
    return std::nullopt;
  }

  // `a ? b : c` and `a + b` have entries like those of both.
  void LearnEntries(ExprId id, std::string_view overload, std::span<const ExprId> args) {
    const bool conditional = overload == "conditional";
    if (!conditional && overload != "add_string" && overload != "add_bytes" &&
        overload != "add_list") {
      return;
    }
    const auto a = FindEntries(args[conditional ? 1 : 0]);
    const auto b = FindEntries(args[conditional ? 2 : 1]);
    if (a && b) At(id).entries = a->Union(*b);
  }

  CostRange VisitList(ExprId id) {
    const auto elements = ast_.list(id).elements;
    CostRange cost = kList;
    CostRange size{elements.empty() ? 0 : CostRange::kLargest, 0};
    for (const ExprId element : elements) {
      cost = cost + Visit(element);
      size = size.Union(Size(element));
    }
    At(id).entries = EntrySizes{.is_list = true, .key = CostRange::Exactly(1), .value = size};
    return cost;
  }

  CostRange VisitMap(ExprId id) {
    const auto entries = ast_.map(id);
    CostRange cost = kMap;
    CostRange keys{entries.empty() ? 0 : CostRange::kLargest, 0};
    CostRange values = keys;
    for (const MapEntry& entry : entries) {
      cost = cost + Visit(entry.key) + Visit(entry.value);
      keys = keys.Union(Size(entry.key));
      values = values.Union(Size(entry.value));
    }
    At(id).entries = EntrySizes{.is_list = false, .key = keys, .value = values};
    return cost;
  }

  CostRange VisitStruct(ExprId id) {
    CostRange cost = kStruct;
    for (const StructField& field : ast_.struct_literal(id).fields) {
      cost = cost + Visit(field.value);
    }
    return cost;
  }

  // Loops.

  // A loop over nothing that gives a value a name.
  bool IsBind(ExprId id) const {
    const Comprehension& loop = ast_.comprehension(id);
    return ast_.kind(loop.range) == ExprKind::kList && ast_.list(loop.range).elements.empty() &&
           ast_.kind(loop.condition) == ExprKind::kBool && !ast_.bool_value(loop.condition);
  }

  void PushLocal(StringId name, ExprId value) {
    locals_.push_back({name, {FindSize(value), FindEntries(value), PathOf(value)}});
  }

  CostRange VisitBind(ExprId id) {
    const Comprehension& loop = ast_.comprehension(id);
    CostRange cost = Visit(loop.range) + Visit(loop.init);
    PushLocal(loop.accu_var, loop.init);
    cost = cost + Visit(loop.result);
    locals_.pop_back();
    // Kubernetes forgets the name first: of a result that is the bare name, and no path, it knows
    // no size.
    CopySizes(id, loop.result);
    return cost;
  }

  void PushLoopVariables(const Comprehension& loop) {
    const auto entries = FindEntries(loop.range);
    const bool list = entries ? entries->is_list : expr_.type(loop.range).is(TypeKind::kList);
    const Paths::Id range = PathOf(loop.range);
    const auto push = [&](StringId name, std::optional<CostRange> size, std::string_view step) {
      locals_.push_back({name, {.size = size, .path = paths_.Below(range, step)}});
    };
    const auto key = entries ? std::optional(entries->key) : std::nullopt;
    const auto value = entries ? std::optional(entries->value) : std::nullopt;
    if (loop.iter_var2) {
      push(loop.iter_var, key, list ? "@indices" : "@keys");
      push(*loop.iter_var2, value, list ? "@items" : "@values");
    } else {
      push(loop.iter_var, list ? value : key, list ? "@items" : "@keys");
    }
  }

  CostRange VisitLoop(ExprId id) {
    const Comprehension& loop = ast_.comprehension(id);
    CostRange cost = Visit(loop.range) + Visit(loop.init);
    const std::size_t outer = locals_.size();
    PushLocal(loop.accu_var, loop.init);
    PushLoopVariables(loop);
    const CostRange condition = Visit(loop.condition);
    const CostRange step = Visit(loop.step);
    locals_.resize(outer + 1);
    cost = cost + Visit(loop.result);
    locals_.resize(outer);

    const CostRange rounds = Size(loop.range);
    const ExprKind init = ast_.kind(loop.init);
    if (init == ExprKind::kList || init == ExprKind::kMap) {
      At(id).size = rounds;
      if (const auto entries = FindEntries(loop.step)) At(id).entries = entries;
    } else if (LiteralSize(loop.init)) {
      At(id).size = LiteralSize(loop.init);
    }
    return cost + rounds * (step + condition);
  }

  const CheckedExpr& expr_;
  const Ast& ast_;
  Paths paths_;
  std::vector<Known> nodes_;   // by ExprId
  std::vector<Local> locals_;  // the innermost last
};

}  // namespace

CostRange EstimateCost(const CheckedExpr& expr) { return Estimator(expr).Run(); }

}  // namespace dray::cel
