// SPDX-License-Identifier: Apache-2.0
//
// The type checker: gives every node of a tree its type, every name its meaning and every call the
// overloads it may reach.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cel/ast.h"
#include "cel/environment.h"
#include "cel/source.h"
#include "cel/type.h"

namespace dray::cel {

// What an identifier, or a selection `a.b.c` that is a qualified name, stands for.
struct Reference {
  enum class Kind : std::uint8_t {
    kLocal,     // a variable of a loop or of cel.bind: the innermost of that name
    kVariable,  // of the environment
    kType,      // a type as a value; the node has type(T)
  };
  Kind kind = Kind::kLocal;
  const Variable* variable = nullptr;  // kVariable
  Type type;                           // kType: T
};

// A tree that passed. Thread-safe: immutable.
class CheckedExpr {
 public:
  const Ast& ast() const { return *ast_; }
  const Environment& environment() const { return *environment_; }

  // The type of a node below the root; dyn for others. Has no type parameters.
  Type type(ExprId id) const { return types_[id.value]; }
  Type result_type() const { return type(ast_->root()); }

  // Of a call: the function, and all overloads whose parameters take the arguments' types, in the
  // order of declaration, at least one. For `a.?b` the one of "_?._".
  const Function& function(ExprId id) const { return *calls_[slots_[id.value]].function; }
  std::span<const Overload* const> overloads(ExprId id) const {
    const Call& call = calls_[slots_[id.value]];
    return std::span(candidates_).subspan(call.first, call.count);
  }
  // Of a call with a target: false when the target is part of the function's name, as in
  // `sets.contains(a, b)`, and not evaluated.
  bool has_receiver(ExprId id) const { return calls_[slots_[id.value]].receiver; }

  // Of an identifier and a message literal always; of a selection when it is a qualified name,
  // whose operand then has no meaning of its own.
  const Reference* FindReference(ExprId id) const;

 private:
  friend class Checker;

  struct Call {
    const Function* function = nullptr;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    bool receiver = false;
  };
  static constexpr std::uint32_t kNoSlot = 0xffffffff;

  std::shared_ptr<const Ast> ast_;
  std::shared_ptr<const Environment> environment_;
  TypePool pool_;
  std::vector<Type> types_;           // by node
  std::vector<std::uint32_t> slots_;  // by node: into calls_ or references_
  std::vector<Call> calls_;
  std::vector<const Overload*> candidates_;
  std::vector<Reference> references_;
};

// Either a checked tree or at least one issue.
struct CheckResult {
  std::shared_ptr<const CheckedExpr> checked;
  std::vector<Issue> issues;  // in the order found; Render() sorts

  bool ok() const { return checked != nullptr; }
};

// Types and names first; if those are right, what the environment's validators say.
CheckResult Check(std::shared_ptr<const Ast> ast, std::shared_ptr<const Environment> environment);

}  // namespace dray::cel
