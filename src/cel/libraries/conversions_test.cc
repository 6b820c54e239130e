// SPDX-License-Identifier: Apache-2.0
//
// A constant is converted when the program is built, also behind dyn(): what fails then never runs.
#include "cel/eval_table.h"

namespace dray::cel {
namespace {

using testing::ExpectOnDevices;

TEST(Conversions, ToInt) {
  ExpectOnDevices({
      {"int(dyn(42u))", "42"},
      {"int(dyn(9223372036854775808u))", "program: integer overflow"},
      {"int(dyn(-1.9))", "-1"},
      {"int(dyn(9223372036854775807.0))", "program: integer overflow"},
      {"int(dyn('-7'))", "-7"},
      {"int(dyn('9223372036854775808'))", "program: type conversion error from 'string' to 'int'"},
      {"int(dyn(''))", "program: type conversion error from 'string' to 'int'"},
      {"int(dyn('1.0'))", "program: type conversion error from 'string' to 'int'"},
      {"int(timestamp('1970-01-01T00:01:00Z'))", "60"},
      {"int('x')", "program: type conversion error from 'string' to 'int'"},
  });
}

TEST(Conversions, ToUint) {
  ExpectOnDevices({
      {"uint(dyn(42))", "42u"},
      {"uint(dyn(-1))", "program: unsigned integer overflow"},
      {"uint(dyn(3.9))", "3u"},
      {"uint(dyn(-0.5))", "program: unsigned integer overflow"},
      {"uint(dyn(18446744073709551616.0))", "program: unsigned integer overflow"},
      {"uint(dyn('18446744073709551615'))", "18446744073709551615u"},
      {"uint(dyn('-1'))", "program: type conversion error from 'string' to 'uint'"},
  });
}

TEST(Conversions, ToDouble) {
  ExpectOnDevices({
      {"double(dyn(7))", "7"},
      {"double(dyn(7u))", "7"},
      {"double(dyn('1e3'))", "1000"},
      {"double(dyn('NaN'))", "NaN"},
      {"double(dyn('-Infinity'))", "-Inf"},
      {"double(dyn('1,5'))", "program: type conversion error from 'string' to 'double'"},
      {"double(dyn(''))", "program: type conversion error from 'string' to 'double'"},
  });
}

TEST(Conversions, ToString) {
  ExpectOnDevices({
      {"string(dyn(1.5))", "\"1.5\""},
      {"string(dyn(1e21))", "\"1e+21\""},
      {"string(dyn(123456789.0))", "\"1.23456789e+08\""},
      {"string(dyn(true))", "\"true\""},
      {"string(dyn(18446744073709551615u))", "\"18446744073709551615\""},
      {"string(dyn(b'gr\\xc3\\xbcn'))", "\"grün\""},
      {"string(dyn(b'\\xff'))", "program: invalid UTF-8 in bytes, cannot convert to string"},
      {"string(duration('1h1.5s'))", "\"3601.5s\""},
      {"string(duration('-1ns'))", "\"-0.000000001s\""},
      {"string(timestamp('2020-02-29T12:00:00.25Z'))", "\"2020-02-29T12:00:00.25Z\""},
      {"string(ip('::0:1'))", "\"::1\""},
  });
}

TEST(Conversions, ToBytesAndBool) {
  ExpectOnDevices({
      {"bytes(dyn('ü'))", "b\"ü\""},
      {"bytes('')", "b\"\""},
      {"bool(dyn('true'))", "true"},
      {"bool(dyn('t'))", "true"},
      {"bool(dyn('FALSE'))", "false"},
      {"bool(dyn('0'))", "false"},
      {"bool(dyn('yes'))", "program: type conversion error from 'string' to 'bool'"},
      {"bool(dyn('tRUE'))", "program: type conversion error from 'string' to 'bool'"},
  });
}

TEST(Conversions, ToTimes) {
  ExpectOnDevices({
      {"duration(dyn('1h30m'))", "duration(\"5400s\")"},
      {"duration(dyn('-1.5s'))", "duration(\"-1.5s\")"},
      {"duration(dyn('1d'))",
       "program: type conversion error from 'string' to 'google.protobuf.Duration'"},
      {"timestamp(dyn(0))", "timestamp(\"1970-01-01T00:00:00Z\")"},
      {"timestamp(dyn('2020-02-30T00:00:00Z'))",
       "program: type conversion error from 'string' to 'google.protobuf.Timestamp'"},
  });
}

TEST(Conversions, OthersAreConvertedWhenEvaluated) {
  ExpectOnDevices({
      {"['7', 'x'].map(s, int(s))", "error: type conversion error from 'string' to 'int'"},
      {"['7', 'x'].exists(s, int(s) == 7)", "true"},
      {"int(0.0 / 0.0)", "error: integer overflow"},
      {"[-1].map(i, uint(i))", "error: unsigned integer overflow"},
      {"[b'\\xff'].map(b, string(b))", "error: invalid UTF-8 in bytes, cannot convert to string"},
      {"[[1]].map(l, string(dyn(l)))", "error: no such overload: string(list)"},
  });
}

TEST(Conversions, TypesAreValues) {
  ExpectOnDevices({
      {"type(1)", "int"},
      {"type(type(1))", "type"},
      {"type([1]) == list", "true"},
      {"type(dyn({})) == map", "true"},
      {"type(null)", "null_type"},
      {"type(duration('1s'))", "google.protobuf.Duration"},
      {"type(quantity('1')) == type(quantity('2'))", "true"},
      {"type(optional.none())", "optional_type"},
  });
}

}  // namespace
}  // namespace dray::cel
