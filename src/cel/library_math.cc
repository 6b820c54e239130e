// SPDX-License-Identifier: Apache-2.0
#include "cel/library.h"

namespace dray::cel::library {

// The math extension, version 2. DRA has none of it.
const std::string_view kMath = R"(
math.@max
  math_@max_int (int) -> int
  math_@max_uint (uint) -> uint
  math_@max_double (double) -> double
  math_@max_int_int (int, int) -> int
  math_@max_int_uint (int, uint) -> dyn
  math_@max_int_double (int, double) -> dyn
  math_@max_uint_int (uint, int) -> dyn
  math_@max_uint_uint (uint, uint) -> uint
  math_@max_uint_double (uint, double) -> dyn
  math_@max_double_int (double, int) -> dyn
  math_@max_double_uint (double, uint) -> dyn
  math_@max_double_double (double, double) -> double
  math_@max_list_int (list(int)) -> int
  math_@max_list_uint (list(uint)) -> uint
  math_@max_list_double (list(double)) -> double
math.@min
  math_@min_int (int) -> int
  math_@min_uint (uint) -> uint
  math_@min_double (double) -> double
  math_@min_int_int (int, int) -> int
  math_@min_int_uint (int, uint) -> dyn
  math_@min_int_double (int, double) -> dyn
  math_@min_uint_int (uint, int) -> dyn
  math_@min_uint_uint (uint, uint) -> uint
  math_@min_uint_double (uint, double) -> dyn
  math_@min_double_int (double, int) -> dyn
  math_@min_double_uint (double, uint) -> dyn
  math_@min_double_double (double, double) -> double
  math_@min_list_int (list(int)) -> int
  math_@min_list_uint (list(uint)) -> uint
  math_@min_list_double (list(double)) -> double
math.ceil
  math_ceil_double (double) -> double
math.floor
  math_floor_double (double) -> double
math.round
  math_round_double (double) -> double
math.trunc
  math_trunc_double (double) -> double
math.isInf
  math_isInf_double (double) -> bool
math.isNaN
  math_isNaN_double (double) -> bool
math.isFinite
  math_isFinite_double (double) -> bool
math.abs
  math_abs_int (int) -> int
  math_abs_uint (uint) -> uint
  math_abs_double (double) -> double
math.sign
  math_sign_int (int) -> int
  math_sign_uint (uint) -> uint
  math_sign_double (double) -> double
math.sqrt
  math_sqrt_int (int) -> double
  math_sqrt_uint (uint) -> double
  math_sqrt_double (double) -> double
math.bitAnd
  math_bitAnd_int_int (int, int) -> int
  math_bitAnd_uint_uint (uint, uint) -> uint
math.bitOr
  math_bitOr_int_int (int, int) -> int
  math_bitOr_uint_uint (uint, uint) -> uint
math.bitXor
  math_bitXor_int_int (int, int) -> int
  math_bitXor_uint_uint (uint, uint) -> uint
math.bitNot
  math_bitNot_int_int (int) -> int
  math_bitNot_uint_uint (uint) -> uint
math.bitShiftLeft
  math_bitShiftLeft_int_int (int, int) -> int
  math_bitShiftLeft_uint_int (uint, int) -> uint
math.bitShiftRight
  math_bitShiftRight_int_int (int, int) -> int
  math_bitShiftRight_uint_int (uint, int) -> uint
)";

}  // namespace dray::cel::library
