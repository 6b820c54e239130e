// SPDX-License-Identifier: Apache-2.0
//
// One evaluation under way. evaluator.cc has the loop over nodes, calls and logic;
// evaluator_paths.cc what walks to a value; evaluator_literals.cc literals and loops.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/semver.h"
#include "cel/bounds.h"
#include "cel/evaluator.h"
#include "cel/values.h"

namespace dray::cel {

inline constexpr Error kCostExceeded{"operation cancelled: actual cost limit exceeded"};
inline constexpr Error kInterrupted{"operation interrupted"};

// On the stack, for one call of Evaluate. One thread.
class Evaluation {
 public:
  Evaluation(const Program& program, std::span<const Value> variables, Arena& arena,
             const EvaluationLimits& limits)
      : program_(program), variables_(variables), arena_(arena), limits_(limits) {
    arena.work() = Work(limits.work);
    if (program.locals_ > 0) locals_ = arena.NewArray<Local>(program.locals_);
  }

  // The program's only variable is `device`.
  Evaluation(const Program& program, const DeviceView& view, Arena& arena,
             const EvaluationLimits& limits)
      : Evaluation(program, std::span<const Value>(), arena, limits) {
    view_ = &view;
  }

  EvaluationResult Run();

 private:
  using Op = Program::Op;
  using Node = Program::Node;
  using Chain = Program::Chain;
  using Qualifier = Program::Qualifier;

  static constexpr std::uint64_t kListCost = 10;

  struct Local {
    Value value;
    const Program::Loop* pending = nullptr;  // its initial value was not asked for yet
  };

  void Charge(std::uint64_t cost) {
    if (cancelled_ != nullptr) return;
    cost_ += cost;
    if (cost_ > limits_.cost) cancelled_ = &kCostExceeded;
  }
  // The same as n times one.
  void ChargeSteps(std::uint64_t n) {
    if (cancelled_ != nullptr) return;
    cost_ += n;
    if (cost_ > limits_.cost) {
      cost_ = limits_.cost + 1;
      cancelled_ = &kCostExceeded;
    }
  }
  // What looking at an argument takes, whatever the call costs. Texts first, which most that cost
  // anything are; nothing is called for what is short, which nearly all are.
  void SpendOn(const Value& value) {
    if (value.is(Kind::kString) || value.is(Kind::kBytes)) {
      arena_.work().SpendText(value.as_text());
    } else if (value.is(Kind::kSemver)) {
      arena_.work().SpendText(value.as<base::SemVer>().prerelease());
    } else if (value.is(Kind::kUrl)) {
      arena_.work().SpendText(value.as<Url>().printed);
    }
  }
  void CancelIfUsedUp() {
    if (arena_.work().used_up() && cancelled_ == nullptr) [[unlikely]]
      cancelled_ = &kWorkExceeded;
  }
  Value Fail(std::string_view message) { return MakeError(arena_, message); }

  Value Eval(std::uint32_t index);
  // The same; most operands are constants or reads, which need no look at the table of operations.
  Value EvalOperand(std::uint32_t index) {
    const Node& node = program_.nodes_[index];
    if (node.op == Op::kConstant) return program_.constants_[node.a];
    if (node.op == Op::kRead && cancelled_ == nullptr) return EvalRead(node);
    return Eval(index);
  }
  Value EvalLogic(const Node& node, bool decisive);
  Value EvalEquality(const Node& node);
  Value EvalCall(const Node& node);
  Value EvalOrder(const Node& node);
  Value Apply(const Node& node, std::span<const Value> args, const Value* error);
  Value Unmatched(const Program::Callee& function, std::span<const Value> args);
  Value EvalInSet(const Node& node);
  Value EvalOr(const Node& node);

  // --- paths ---
  Value EvalRead(const Node& node);
  Value ReadDevice(std::uint32_t read);
  Value Device();
  Value EvalChain(const Chain& chain);
  Value EvalPath(const Chain& chain);
  Value ReadLocal(std::uint32_t slot);
  Value Qualify(Value value, std::span<const Qualifier> qualifiers);
  bool Step(const Value& value, const Value& key, bool presence, Value* next);
  std::optional<std::int64_t> IndexOf(const Value& key, Value* error);

  // --- literals ---
  Value EvalList(const Node& node);
  Value EvalMap(const Node& node);
  Value EvalEntry(const Node& node, std::uint32_t i, GrowingMap& map);
  Value EvalMessage(const Node& node);

  // --- loops ---
  Value EvalLoop(const Program::Loop& loop);
  bool Iterate(const Program::Loop& loop);
  Value EvalAppend(const Node& node);
  Value EvalInsert(const Node& node);

  const Program& program_;
  const std::span<const Value> variables_;
  const DeviceView* view_ = nullptr;  // instead of variables
  Value device_;                      // made of the view when it is asked for
  Arena& arena_;
  const EvaluationLimits& limits_;
  std::span<Local> locals_;
  std::uint64_t cost_ = 0;
  std::uint64_t iterations_ = 0;
  const Error* cancelled_ = nullptr;
};

}  // namespace dray::cel
