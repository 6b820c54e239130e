// SPDX-License-Identifier: Apache-2.0
#include "cel/eval_table.h"

namespace dray::cel {
namespace {

using testing::ExpectInLanguage;
using testing::ExpectOnDevices;

TEST(MathLib, IsNotInDra) {
  ExpectOnDevices(
      {{"math.abs(1)", "compile: undeclared reference to 'math' (in container '')"},
       {"base64.encode(b'')", "compile: undeclared reference to 'base64' (in container '')"}});
}

TEST(MathLib, ExtremesCompareAcrossKinds) {
  ExpectInLanguage({
      {"math.greatest(1)", "1"},
      {"math.greatest(1, 2.5)", "2.5"},
      {"math.greatest(1, 2u, -3.0)", "2u"},
      {"math.least([3, 1, 2])", "1"},
      {"math.least(1, 1.0)", "1"},  // the first of equals
      {"math.greatest([])", "error: math.@max(list) argument must not be empty"},
      {"math.least([])", "error: math.@min(list) argument must not be empty"},
      {"math.greatest(dyn('a'), 1)", "error: "},
      {"math.greatest('a')",
       "compile: found no matching overload for 'math.@max' applied to '(string)'"},
  });
}

TEST(MathLib, Rounding) {
  ExpectInLanguage({
      {"math.ceil(1.2)", "2"},
      {"math.floor(-1.2)", "-2"},
      {"math.trunc(-1.9)", "-1"},
      {"math.round(2.5)", "3"},
      {"math.round(-2.5)", "-3"},
      {"math.round(double('NaN'))", "NaN"},
      {"math.ceil(double('-Infinity'))", "-Inf"},
  });
}

TEST(MathLib, SignsAndKinds) {
  ExpectInLanguage({
      {"math.abs(-9223372036854775808)", "error: integer overflow"},
      {"math.abs(-5)", "5"},
      {"math.abs(5u)", "5u"},
      {"math.abs(-0.5)", "0.5"},
      {"math.sign(-7)", "-1"},
      {"math.sign(0u)", "0u"},
      {"math.sign(double('NaN'))", "NaN"},
      {"math.sqrt(9)", "3"},
      {"math.sqrt(-1.0)", "NaN"},
      {"math.isNaN(0.0 / 0.0)", "true"},
      {"math.isInf(-1.0 / 0.0)", "true"},
      {"math.isFinite(1.0)", "true"},
  });
}

TEST(MathLib, Bits) {
  ExpectInLanguage({
      {"math.bitAnd(6, 3)", "2"},
      {"math.bitOr(6u, 3u)", "7u"},
      {"math.bitXor(6, 3)", "5"},
      {"math.bitNot(0)", "-1"},
      {"math.bitNot(0u)", "18446744073709551615u"},
      {"math.bitShiftLeft(1, 63)", "-9223372036854775808"},
      {"math.bitShiftLeft(1, 64)", "0"},
      {"math.bitShiftRight(-1, 63)", "1"},
      {"math.bitShiftRight(8u, 3)", "1u"},
      {"math.bitShiftRight(1, -1)", "error: math.bitShiftRight() negative offset: -1"},
      {"math.bitAnd(1, 1u)",
       "compile: found no matching overload for 'math.bitAnd' applied to '(int, uint)'"},
  });
}

TEST(EncodersLib, Base64) {
  ExpectInLanguage({
      {"base64.encode(b'')", "\"\""},
      {"base64.encode(b'hi')", "\"aGk=\""},
      {"base64.encode(b'\\xff\\xfe')", "\"//4=\""},
      {"base64.decode('aGk=')", "b\"hi\""},
      {"base64.decode('aGk')", "b\"hi\""},  // padding may be left out
      {"base64.decode('')", "b\"\""},
      {"base64.decode('*')", "error: illegal base64 data"},
  });
}

}  // namespace
}  // namespace dray::cel
