// SPDX-License-Identifier: Apache-2.0
//
// The functions that expressions call. A function looks at the kinds of its arguments and picks the
// overload itself; whether a call is well typed is the checker's business.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cel/arena.h"
#include "cel/dialect.h"
#include "cel/value.h"

namespace re2 {
class RE2;
}

namespace dray::cel {

// Arguments are no errors, their number is within the function's bounds; a receiver comes first.
// UnmatchedCall() when no overload takes these kinds.
using BuiltinImpl = Value (*)(Arena& arena, std::span<const Value> args);

struct Builtin {
  // "size", "sets.contains", "_+_"; or the id of an overload that the kinds of the arguments do not
  // tell apart from its function's others: the sum of an empty list.
  std::string_view name;
  std::uint8_t min_args = 0;
  std::uint8_t max_args = 0;
  BuiltinImpl impl = nullptr;
};

// Null when there is none of that name.
const Builtin* FindBuiltin(std::string_view name, Dialect dialect);

// One per file of libraries/; by dialect where it matters.
std::span<const Builtin> ArithmeticFunctions();
std::span<const Builtin> ComparisonFunctions();
std::span<const Builtin> ConversionFunctions();
std::span<const Builtin> StringFunctions(Dialect dialect);
std::span<const Builtin> FormatFunctions(Dialect dialect);
std::span<const Builtin> ListFunctions();
std::span<const Builtin> SetFunctions();
std::span<const Builtin> TimeFunctions();
std::span<const Builtin> RegexFunctions();
std::span<const Builtin> OptionalFunctions();
std::span<const Builtin> QuantityFunctions();
std::span<const Builtin> SemverFunctions();
std::span<const Builtin> NetworkFunctions(Dialect dialect);
std::span<const Builtin> UrlFunctions();
std::span<const Builtin> NamedFormatFunctions();
std::span<const Builtin> MathFunctions();
std::span<const Builtin> EncoderFunctions();

// What the evaluator and other libraries need of one.
Value Add(Arena& arena, const Value& a, const Value& b);
// `x in list or map`; errors of single comparisons count as unequal.
Value Contains(const Value& container, const Value& x);
bool ListContains(const List& list, const Value& x);
// "type(arg)" as a value.
Value TypeOf(Arena& arena, const Value& value);
// string(value); an error if there is no such conversion.
Value ConvertToString(Arena& arena, const Value& value);

// With a pattern compiled before: `args` as of the function, the pattern unused.
Value RegexMatches(Arena& arena, const re2::RE2& pattern, std::span<const Value> args);
Value RegexFind(Arena& arena, const re2::RE2& pattern, std::span<const Value> args);
Value RegexFindAll(Arena& arena, const re2::RE2& pattern, std::span<const Value> args);

}  // namespace dray::cel
