// SPDX-License-Identifier: Apache-2.0
//
// One program under construction: a checked tree, or one without types, becomes nodes.
// program.cc has the beginning, program_{paths,calls,literals}.cc a kind of expression each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/library.h"
#include "cel/program.h"
#include "cel/values.h"

namespace dray::cel {

// Used once. One thread.
class Compiler {
 public:
  // `checked` or `names`, the other one null; all outlive this.
  Compiler(const Ast& ast, const CheckedExpr* checked, const UncheckedNames* names, Dialect dialect,
           const ProgramOptions& options)
      : ast_(ast), checked_(checked), names_(names), dialect_(dialect), options_(options) {}

  StatusOr<std::shared_ptr<const Program>> Run();

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
  std::uint32_t AddArgs(std::span<const std::uint32_t> args);
  std::uint32_t Compile(ExprId id);
  void Fail(std::string reason) {
    if (failure_.empty()) failure_ = std::move(reason);
  }
  Kind KindIfConstant(std::uint32_t node) const {
    return IsConstant(node) ? ConstantOf(node).kind() : Kind::kNull;
  }

  // --- paths ---
  std::uint32_t CompilePath(ExprId id);
  std::uint32_t Finish(Path& path);
  std::optional<std::uint32_t> BuildPath(ExprId id, Path& path);
  std::uint32_t WithoutStart(std::uint32_t node);
  bool IsPath(ExprId id) const;
  void BuildOperand(ExprId id, Path& path);
  std::uint32_t VariableSlot(std::string_view name);
  std::string QualifiedText(ExprId id) const;
  std::optional<std::uint32_t> BuildName(ExprId id, Path& path);
  std::optional<std::uint32_t> FindLocal(std::string_view name) const;
  bool BuildQualifiedName(ExprId id, Path& path);
  void NoteReads(const Path& path);
  void AssignRead(Path& path);
  std::uint32_t ReadNumber(DeviceRead read);
  std::optional<Program::ReadMode> ModeOfRead(const Path& path) const;

  // --- calls ---
  static std::uint8_t OrdersOf(std::string_view function);
  // What a call runs and pays.
  struct Callee {
    std::string_view name;
    std::string_view overload;  // if it is known
    FunctionImpl impl = nullptr;
    CostRule rule = CostRule::kOne;
    OfConstants of_constants = OfConstants::kEvaluate;
  };
  Callee CalleeOf(const FunctionRow& row, bool known) const;
  Callee FindCallee(ExprId id, std::string_view function, std::size_t args) const;
  std::optional<std::string> NamespacedFunction(const CallExpr& call) const;
  std::uint32_t CompileCall(ExprId id);
  std::optional<std::uint32_t> MakeOnce(const Callee& callee, std::span<const std::uint32_t> args);
  std::uint32_t FoldCall(const Callee& callee, std::uint32_t arg);
  std::optional<std::uint32_t> FoldMembership(std::uint32_t x, std::uint32_t constant);
  std::optional<std::uint32_t> ConstantPattern(std::string_view function,
                                               std::span<const std::uint32_t> args);

  // --- literals ---
  std::uint32_t CompileList(ExprId id);
  std::uint32_t OptionalFlags(const std::vector<bool>& optional);
  std::uint32_t CompileMap(ExprId id);
  std::uint32_t CompileMessage(ExprId id);

  // --- loops ---
  std::uint32_t CompileLoop(ExprId id);
  bool IsAccu(ExprId id, const Comprehension& loop) const;
  std::uint32_t CompileStep(const Comprehension& loop, Program::Loop& out);
  std::optional<std::uint32_t> CompileGrowth(ExprId id, const Comprehension& loop,
                                             const Program::Loop& out);

  const Ast& ast_;
  const CheckedExpr* checked_;
  const UncheckedNames* names_;
  const Dialect dialect_;
  const ProgramOptions options_;
  Program* program_ = nullptr;
  std::vector<Local> locals_;
  std::string failure_;
  std::optional<std::uint32_t> unchecked_constant_;
};

}  // namespace dray::cel
