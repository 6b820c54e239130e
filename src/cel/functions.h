// SPDX-License-Identifier: Apache-2.0
//
// How functions that expressions call are written, and what their files need of one another. A
// function looks at the kinds of its arguments and picks the overload itself; whether a call is
// well typed is the checker's business. library.h says what else belongs to one.
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

// Arguments are no errors, their number is that of an overload; a receiver comes first.
// UnmatchedCall() when no overload takes these kinds.
using FunctionImpl = Value (*)(Arena& arena, std::span<const Value> args);

// What the evaluator and other libraries need of one.
Value Add(Arena& arena, const Value& a, const Value& b);
// `x in list or map`; errors of single comparisons count as unequal.
Value Contains(Arena& arena, const Value& container, const Value& x);
bool ListContains(Arena& arena, const List& list, const Value& x);
// "type(arg)" as a value.
Value TypeOf(Arena& arena, const Value& value);
// string(value); an error if there is no such conversion.
Value ConvertToString(Arena& arena, const Value& value);

// Of texts and lists, quantities and versions, all that has a text: rows in several libraries.
Value IndexOf(Arena& arena, std::span<const Value> args);
template <Dialect dialect>
Value LastIndexOf(Arena& arena, std::span<const Value> args);
Value Reverse(Arena& arena, std::span<const Value> args);
Value IsGreaterThan(Arena& arena, std::span<const Value> args);
Value IsLessThan(Arena& arena, std::span<const Value> args);
Value CompareTo(Arena& arena, std::span<const Value> args);
Value ToString(Arena& arena, std::span<const Value> args);

// With a pattern compiled before: `args` as of the function, the pattern unused.
Value RegexMatches(Arena& arena, const re2::RE2& pattern, std::span<const Value> args);
Value RegexFind(Arena& arena, const re2::RE2& pattern, std::span<const Value> args);
Value RegexFindAll(Arena& arena, const re2::RE2& pattern, std::span<const Value> args);

}  // namespace dray::cel
