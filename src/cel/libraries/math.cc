// SPDX-License-Identifier: Apache-2.0
//
// math.*, which the language's conformance tests use and DRA has not.
#include <array>
#include <cmath>
#include <limits>

#include "cel/functions.h"
#include "cel/library.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

using Args = std::span<const Value>;

// What the macros math.greatest and math.least call: a number, two, or a list of them. The first of
// equals.
Value Best(const List& values, const Error& empty, int sign) {
  if (values.size() == 0) return StaticError(empty);
  Value best = values.At(0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value v = values.At(i);
    if (!IsNumber(v.kind())) return UnmatchedCall();
    if (Compare(best, v) == sign) best = v;
  }
  return best;
}
Value Best(Args args, const Error& empty, int sign) {
  if (args.size() == 1 && args[0].is(Kind::kList)) return Best(args[0].as<List>(), empty, sign);
  return Best(ArrayList(args), empty, sign);
}
Value Greatest(Arena&, Args args) {
  static constexpr Error kEmpty{"math.@max(list) argument must not be empty"};
  return Best(args, kEmpty, -1);
}
Value Least(Arena&, Args args) {
  static constexpr Error kEmpty{"math.@min(list) argument must not be empty"};
  return Best(args, kEmpty, 1);
}

template <typename F>
Value Real(Args args, F f) {
  return args[0].is(Kind::kDouble) ? Value::Double(f(args[0].as_double())) : UnmatchedCall();
}
Value Ceil(Arena&, Args args) {
  return Real(args, [](double d) { return std::ceil(d); });
}
Value Floor(Arena&, Args args) {
  return Real(args, [](double d) { return std::floor(d); });
}
Value Round(Arena&, Args args) {
  return Real(args, [](double d) { return std::round(d); });
}
Value Trunc(Arena&, Args args) {
  return Real(args, [](double d) { return std::trunc(d); });
}
Value IsNan(Arena&, Args args) {
  return args[0].is(Kind::kDouble) ? Value::Bool(std::isnan(args[0].as_double())) : UnmatchedCall();
}
Value IsInf(Arena&, Args args) {
  return args[0].is(Kind::kDouble) ? Value::Bool(std::isinf(args[0].as_double())) : UnmatchedCall();
}
Value IsFinite(Arena&, Args args) {
  return args[0].is(Kind::kDouble) ? Value::Bool(std::isfinite(args[0].as_double()))
                                   : UnmatchedCall();
}
Value Abs(Arena&, Args args) {
  static constexpr Error kOverflow{"integer overflow"};
  if (args[0].is(Kind::kUint)) return args[0];
  if (args[0].is(Kind::kDouble)) return Value::Double(std::fabs(args[0].as_double()));
  if (!args[0].is(Kind::kInt)) return UnmatchedCall();
  if (args[0].as_int() == std::numeric_limits<std::int64_t>::min()) return StaticError(kOverflow);
  return Value::Int(std::abs(args[0].as_int()));
}
Value SignOf(Arena&, Args args) {
  if (args[0].is(Kind::kUint)) return Value::Uint(args[0].as_uint() != 0 ? 1 : 0);
  if (args[0].is(Kind::kInt)) {
    const std::int64_t i = args[0].as_int();
    return Value::Int(i > 0 ? 1 : (i < 0 ? -1 : 0));
  }
  if (!args[0].is(Kind::kDouble)) return UnmatchedCall();
  const double d = args[0].as_double();
  return Value::Double(std::isnan(d) ? d : (d > 0 ? 1 : (d < 0 ? -1 : 0)));
}
Value Sqrt(Arena&, Args args) {
  if (args[0].is(Kind::kInt))
    return Value::Double(std::sqrt(static_cast<double>(args[0].as_int())));
  if (args[0].is(Kind::kUint)) {
    return Value::Double(std::sqrt(static_cast<double>(args[0].as_uint())));
  }
  return Real(args, [](double d) { return std::sqrt(d); });
}

template <typename F>
Value Bits(Args args, F f) {
  if (args[0].kind() != args[1].kind()) return UnmatchedCall();
  if (args[0].is(Kind::kInt)) {
    return Value::Int(static_cast<std::int64_t>(f(args[0].as_uint(), args[1].as_uint())));
  }
  if (args[0].is(Kind::kUint)) return Value::Uint(f(args[0].as_uint(), args[1].as_uint()));
  return UnmatchedCall();
}
Value BitAnd(Arena&, Args args) {
  return Bits(args, [](std::uint64_t a, std::uint64_t b) { return a & b; });
}
Value BitOr(Arena&, Args args) {
  return Bits(args, [](std::uint64_t a, std::uint64_t b) { return a | b; });
}
Value BitXor(Arena&, Args args) {
  return Bits(args, [](std::uint64_t a, std::uint64_t b) { return a ^ b; });
}
Value BitNot(Arena&, Args args) {
  if (args[0].is(Kind::kInt)) return Value::Int(~args[0].as_int());
  return args[0].is(Kind::kUint) ? Value::Uint(~args[0].as_uint()) : UnmatchedCall();
}
template <typename F>
Value BitShift(Arena& arena, Args args, std::string_view name, F f) {
  if (!args[1].is(Kind::kInt)) return UnmatchedCall();
  const std::int64_t n = args[1].as_int();
  if (n < 0) return MakeError(arena, fmt::format("math.{}() negative offset: {}", name, n));
  if (args[0].is(Kind::kInt)) {
    return Value::Int(n > 63 ? 0 : static_cast<std::int64_t>(f(args[0].as_uint(), n)));
  }
  return args[0].is(Kind::kUint) ? Value::Uint(n > 63 ? 0 : f(args[0].as_uint(), n))
                                 : UnmatchedCall();
}
Value BitShiftLeft(Arena& arena, Args args) {
  return BitShift(arena, args, "bitShiftLeft",
                  [](std::uint64_t a, std::int64_t n) { return a << n; });
}
Value BitShiftRight(Arena& arena, Args args) {
  return BitShift(arena, args, "bitShiftRight",
                  [](std::uint64_t a, std::int64_t n) { return a >> n; });
}

}  // namespace

Library library::Math() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"math.@max", "math_@max_int (int) -> int", Greatest, kOne, estimate::Unit},
      {"math.@max", "math_@max_uint (uint) -> uint", Greatest, kOne, estimate::Unit},
      {"math.@max", "math_@max_double (double) -> double", Greatest, kOne, estimate::Unit},
      {"math.@max", "math_@max_int_int (int, int) -> int", Greatest, kOne, estimate::Unit},
      {"math.@max", "math_@max_int_uint (int, uint) -> dyn", Greatest, kOne, estimate::Unit},
      {"math.@max", "math_@max_int_double (int, double) -> dyn", Greatest, kOne, estimate::Unit},
      {"math.@max", "math_@max_uint_int (uint, int) -> dyn", Greatest, kOne, estimate::Unit},
      {"math.@max", "math_@max_uint_uint (uint, uint) -> uint", Greatest, kOne, estimate::Unit},
      {"math.@max", "math_@max_uint_double (uint, double) -> dyn", Greatest, kOne, estimate::Unit},
      {"math.@max", "math_@max_double_int (double, int) -> dyn", Greatest, kOne, estimate::Unit},
      {"math.@max", "math_@max_double_uint (double, uint) -> dyn", Greatest, kOne, estimate::Unit},
      {"math.@max", "math_@max_double_double (double, double) -> double", Greatest, kOne,
       estimate::Unit},
      {"math.@max", "math_@max_list_int (list(int)) -> int", Greatest, kOne, estimate::Unit},
      {"math.@max", "math_@max_list_uint (list(uint)) -> uint", Greatest, kOne, estimate::Unit},
      {"math.@max", "math_@max_list_double (list(double)) -> double", Greatest, kOne,
       estimate::Unit},
      {"math.@min", "math_@min_int (int) -> int", Least, kOne, estimate::Unit},
      {"math.@min", "math_@min_uint (uint) -> uint", Least, kOne, estimate::Unit},
      {"math.@min", "math_@min_double (double) -> double", Least, kOne, estimate::Unit},
      {"math.@min", "math_@min_int_int (int, int) -> int", Least, kOne, estimate::Unit},
      {"math.@min", "math_@min_int_uint (int, uint) -> dyn", Least, kOne, estimate::Unit},
      {"math.@min", "math_@min_int_double (int, double) -> dyn", Least, kOne, estimate::Unit},
      {"math.@min", "math_@min_uint_int (uint, int) -> dyn", Least, kOne, estimate::Unit},
      {"math.@min", "math_@min_uint_uint (uint, uint) -> uint", Least, kOne, estimate::Unit},
      {"math.@min", "math_@min_uint_double (uint, double) -> dyn", Least, kOne, estimate::Unit},
      {"math.@min", "math_@min_double_int (double, int) -> dyn", Least, kOne, estimate::Unit},
      {"math.@min", "math_@min_double_uint (double, uint) -> dyn", Least, kOne, estimate::Unit},
      {"math.@min", "math_@min_double_double (double, double) -> double", Least, kOne,
       estimate::Unit},
      {"math.@min", "math_@min_list_int (list(int)) -> int", Least, kOne, estimate::Unit},
      {"math.@min", "math_@min_list_uint (list(uint)) -> uint", Least, kOne, estimate::Unit},
      {"math.@min", "math_@min_list_double (list(double)) -> double", Least, kOne, estimate::Unit},
      {"math.ceil", "math_ceil_double (double) -> double", Ceil, kOne, estimate::Unit},
      {"math.floor", "math_floor_double (double) -> double", Floor, kOne, estimate::Unit},
      {"math.round", "math_round_double (double) -> double", Round, kOne, estimate::Unit},
      {"math.trunc", "math_trunc_double (double) -> double", Trunc, kOne, estimate::Unit},
      {"math.isInf", "math_isInf_double (double) -> bool", IsInf, kOne, estimate::Unit},
      {"math.isNaN", "math_isNaN_double (double) -> bool", IsNan, kOne, estimate::Unit},
      {"math.isFinite", "math_isFinite_double (double) -> bool", IsFinite, kOne, estimate::Unit},
      {"math.abs", "math_abs_int (int) -> int", Abs, kOne, estimate::Unit},
      {"math.abs", "math_abs_uint (uint) -> uint", Abs, kOne, estimate::Unit},
      {"math.abs", "math_abs_double (double) -> double", Abs, kOne, estimate::Unit},
      {"math.sign", "math_sign_int (int) -> int", SignOf, kOne, estimate::Unit},
      {"math.sign", "math_sign_uint (uint) -> uint", SignOf, kOne, estimate::Unit},
      {"math.sign", "math_sign_double (double) -> double", SignOf, kOne, estimate::Unit},
      {"math.sqrt", "math_sqrt_int (int) -> double", Sqrt, kOne, estimate::Unit},
      {"math.sqrt", "math_sqrt_uint (uint) -> double", Sqrt, kOne, estimate::Unit},
      {"math.sqrt", "math_sqrt_double (double) -> double", Sqrt, kOne, estimate::Unit},
      {"math.bitAnd", "math_bitAnd_int_int (int, int) -> int", BitAnd, kOne, estimate::Unit},
      {"math.bitAnd", "math_bitAnd_uint_uint (uint, uint) -> uint", BitAnd, kOne, estimate::Unit},
      {"math.bitOr", "math_bitOr_int_int (int, int) -> int", BitOr, kOne, estimate::Unit},
      {"math.bitOr", "math_bitOr_uint_uint (uint, uint) -> uint", BitOr, kOne, estimate::Unit},
      {"math.bitXor", "math_bitXor_int_int (int, int) -> int", BitXor, kOne, estimate::Unit},
      {"math.bitXor", "math_bitXor_uint_uint (uint, uint) -> uint", BitXor, kOne, estimate::Unit},
      {"math.bitNot", "math_bitNot_int_int (int) -> int", BitNot, kOne, estimate::Unit},
      {"math.bitNot", "math_bitNot_uint_uint (uint) -> uint", BitNot, kOne, estimate::Unit},
      {"math.bitShiftLeft", "math_bitShiftLeft_int_int (int, int) -> int", BitShiftLeft, kOne,
       estimate::Unit},
      {"math.bitShiftLeft", "math_bitShiftLeft_uint_int (uint, int) -> uint", BitShiftLeft, kOne,
       estimate::Unit},
      {"math.bitShiftRight", "math_bitShiftRight_int_int (int, int) -> int", BitShiftRight, kOne,
       estimate::Unit},
      {"math.bitShiftRight", "math_bitShiftRight_uint_int (uint, int) -> uint", BitShiftRight, kOne,
       estimate::Unit},
  });
  return kRows;
}

}  // namespace dray::cel
