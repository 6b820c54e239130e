// SPDX-License-Identifier: Apache-2.0
//
// Macros: calls that the parser replaces by other trees. The trees are those of spec
// docs/spec/cel.md chapter 7, since the cost of an expression is the cost of its expansion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cel/ast.h"

namespace dray::cel {

// The variable that a loop's macro accumulates in. No expression can name it.
inline constexpr std::string_view kAccumulator = "@result";
// The loop variable of a bind form, which never loops.
inline constexpr std::string_view kUnusedVariable = "#unused";

// Which macros an environment has, by library. A value.
class MacroSet {
 public:
  // None: such calls are calls.
  constexpr MacroSet() = default;

  static constexpr MacroSet Standard() {
    return MacroSet(1);
  }  // has all exists exists_one map filter
  static constexpr MacroSet ExistsOne() { return MacroSet(2); }  // existsOne with one variable
  static constexpr MacroSet TwoVariables() {
    return MacroSet(4);
  }  // the three-argument forms, transform...
  static constexpr MacroSet Bindings() { return MacroSet(8); }    // cel.bind
  static constexpr MacroSet Optionals() { return MacroSet(16); }  // optMap optFlatMap
  static constexpr MacroSet Lists() { return MacroSet(32); }      // sortBy

  static constexpr MacroSet Math() { return MacroSet(64); }  // math.greatest math.least

  // Everything that Kubernetes' DRA environment has.
  static constexpr MacroSet Dra() {
    return Standard() | TwoVariables() | Bindings() | Optionals() | Lists();
  }
  static constexpr MacroSet All() { return Dra() | ExistsOne() | Math(); }

  constexpr bool Contains(MacroSet other) const { return (bits_ & other.bits_) == other.bits_; }
  friend constexpr MacroSet operator|(MacroSet a, MacroSet b) {
    return MacroSet(static_cast<std::uint8_t>(a.bits_ | b.bits_));
  }
  friend constexpr bool operator==(MacroSet, MacroSet) = default;

 private:
  explicit constexpr MacroSet(std::uint8_t bits) : bits_(bits) {}
  std::uint8_t bits_ = 0;
};

// What became of a call.
struct Expansion {
  std::optional<ExprId> expr;  // the expansion
  std::optional<Issue> issue;  // it is a macro, but not with these arguments
};

// Expands the call if `macros` has a macro of that name, number of arguments and style. Neither
// part of the result: it is an ordinary call. `offset` is the opening parenthesis. `call.args` must
// not lie in the builder. An expansion that copies part of the tree is refused if it could make
// more than `max_nodes` of it.
Expansion ExpandMacro(MacroSet macros, AstBuilder& builder, Offset offset, const CallExpr& call,
                      std::size_t max_nodes);

}  // namespace dray::cel
