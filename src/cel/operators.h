// SPDX-License-Identifier: Apache-2.0
//
// The names that operators have as functions. None is an identifier, so no expression can call one
// by its name.
#pragma once

#include <string_view>

namespace dray::cel::op {

inline constexpr std::string_view kConditional = "_?_:_";
inline constexpr std::string_view kAnd = "_&&_";
inline constexpr std::string_view kOr = "_||_";
inline constexpr std::string_view kNot = "!_";
inline constexpr std::string_view kNegate = "-_";
inline constexpr std::string_view kEqual = "_==_";
inline constexpr std::string_view kNotEqual = "_!=_";
inline constexpr std::string_view kLess = "_<_";
inline constexpr std::string_view kLessEqual = "_<=_";
inline constexpr std::string_view kGreater = "_>_";
inline constexpr std::string_view kGreaterEqual = "_>=_";
inline constexpr std::string_view kIn = "@in";
inline constexpr std::string_view kAdd = "_+_";
inline constexpr std::string_view kSubtract = "_-_";
inline constexpr std::string_view kMultiply = "_*_";
inline constexpr std::string_view kDivide = "_/_";
inline constexpr std::string_view kModulo = "_%_";
inline constexpr std::string_view kIndex = "_[_]";
inline constexpr std::string_view kOptionalIndex = "_[?_]";
inline constexpr std::string_view kOptionalSelect = "_?._";  // arguments: operand, field as string

// Made by macros only.
inline constexpr std::string_view kNotStrictlyFalse = "@not_strictly_false";
inline constexpr std::string_view kMapInsert = "cel.@mapInsert";
inline constexpr std::string_view kSortByAssociatedKeys = "@sortByAssociatedKeys";

}  // namespace dray::cel::op
