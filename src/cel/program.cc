// SPDX-License-Identifier: Apache-2.0
#include "cel/program.h"

#include <algorithm>

#include "cel/internal/pattern.h"
#include "cel/internal/program_compiler.h"

namespace dray::cel {

StatusOr<std::shared_ptr<const Program>> Compiler::Run() {
  std::shared_ptr<Program> program(new Program);
  program_ = program.get();
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

std::uint32_t Compiler::AddArgs(std::span<const std::uint32_t> args) {
  const auto first = static_cast<std::uint32_t>(program_->args_.size());
  program_->args_.insert(program_->args_.end(), args.begin(), args.end());
  return first;
}

std::uint32_t Compiler::Compile(ExprId id) {
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

std::optional<std::uint32_t> Program::MissingRead(const Value& error) const {
  if (!error.is_error()) return std::nullopt;
  for (std::uint32_t read = 0; read < missing_.size(); ++read) {
    if (&error.as<Error>() == &missing_[read]) return read;
  }
  return std::nullopt;
}

StatusOr<std::shared_ptr<const Program>> Program::Compile(const CheckedExpr& checked,
                                                          const ProgramOptions& options) {
  return Compiler(checked.ast(), &checked, nullptr, options).Run();
}

StatusOr<std::shared_ptr<const Program>> Program::CompileUnchecked(const Ast& ast,
                                                                   const UncheckedNames& names) {
  return Compiler(ast, nullptr, &names, {.kubernetes = false}).Run();
}

}  // namespace dray::cel
