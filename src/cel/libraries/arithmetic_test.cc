// SPDX-License-Identifier: Apache-2.0
#include "cel/eval_table.h"

namespace dray::cel {
namespace {

using testing::ExpectOnDevices;

TEST(Arithmetic, IntsStopAtTheirEnds) {
  ExpectOnDevices({
      {"9223372036854775807 + 1", "error: integer overflow"},
      {"-9223372036854775807 - 2", "error: integer overflow"},
      {"4611686018427387904 * 2", "error: integer overflow"},
      {"-9223372036854775808 / -1", "error: integer overflow"},
      {"-9223372036854775808 % -1", "error: integer overflow"},
      {"-(-9223372036854775807 - 1)", "error: integer overflow"},
      {"9223372036854775806 + 1", "9223372036854775807"},
      {"-9223372036854775807 - 1", "-9223372036854775808"},
  });
}

TEST(Arithmetic, UintsStopAtTheirEnds) {
  ExpectOnDevices({
      {"0u - 1u", "error: unsigned integer overflow"},
      {"18446744073709551615u + 1u", "error: unsigned integer overflow"},
      {"9223372036854775808u * 2u", "error: unsigned integer overflow"},
      {"18446744073709551614u + 1u", "18446744073709551615u"},
  });
}

TEST(Arithmetic, DivisionCutsTowardsZeroAndRefusesZero) {
  ExpectOnDevices({
      {"-7 / 2", "-3"},
      {"-7 % 2", "-1"},
      {"7 % -2", "1"},
      {"7 / 0", "error: division by zero"},
      {"7u / 0u", "error: division by zero"},
      {"7 % 0", "error: modulus by zero"},
      {"7u % 0u", "error: modulus by zero"},
  });
}

TEST(Arithmetic, DoublesFollowTheirOwnRules) {
  ExpectOnDevices({
      {"1.0 / 0.0", "+Inf"},
      {"-1.0 / 0.0", "-Inf"},
      {"0.0 / 0.0", "NaN"},
      {"0.1 + 0.2", "0.30000000000000004"},
      {"1e308 * 10.0", "+Inf"},
      {"-(0.0)", "-0"},
  });
}

TEST(Arithmetic, SumsOfTextsListsAndTimes) {
  ExpectOnDevices({
      {"'a' + 'b'", "\"ab\""},
      {"b'a' + b'\\xff'", "b\"a\\xff\""},
      {"[1] + []", "[1]"},
      {"[1] + [2, 3]", "[1, 2, 3]"},
      {"duration('1h') + duration('30m')", "duration(\"5400s\")"},
      {"timestamp('2020-01-01T00:00:00Z') - timestamp('2019-12-31T23:00:00Z')",
       "duration(\"3600s\")"},
      {"duration('1h') + timestamp('2020-01-01T00:00:00Z')", "timestamp(\"2020-01-01T01:00:00Z\")"},
      {"timestamp('9999-12-31T23:59:59Z') + duration('1s')", "error: timestamp overflow"},
      {"timestamp('0001-01-01T00:00:00Z') - duration('1s')", "error: timestamp overflow"},
      {"duration('2562047h') + duration('2562047h')", "error: integer overflow"},
  });
}

TEST(Arithmetic, KindsDoNotMix) {
  ExpectOnDevices({
      {"1 + 1u", "compile: found no matching overload for '_+_' applied to '(int, uint)'"},
      {"dyn(1) + dyn(1u)", "error: no such overload"},
      {"dyn('a') + dyn(1)", "error: no such overload"},
      {"-dyn('a')", "error: no such overload"},
  });
}

TEST(Comparison, NumbersCompareAcrossKinds) {
  ExpectOnDevices({
      {"dyn(1) == dyn(1.0)", "true"},
      {"dyn(1u) == 1", "true"},
      {"1 < 1.5 && 2u > 1", "true"},
      {"-1 < 0u", "true"},
      {"18446744073709551615u > 9223372036854775807", "true"},
      {"1.0 / 0.0 > 9223372036854775807", "true"},
      {"0.0 / 0.0 == 0.0 / 0.0", "false"},
      {"0.0 / 0.0 < 1.0", "error: NaN values cannot be ordered"},
      {"1 >= 0.0 / 0.0", "error: NaN values cannot be ordered"},
      {"0.0 / 0.0 != 1.0", "true"},
      {"0.0 == -0.0", "true"},
      {"{1: 'a'}[dyn(1.0)]", "\"a\""},
  });
}

TEST(Comparison, OtherKindsAreUnequalButHaveNoOrder) {
  ExpectOnDevices({
      {"dyn('1') == 1", "false"},
      {"dyn(null) == 1", "false"},
      {"null == null", "true"},
      {"[1, 2] == [1, 2]", "true"},
      {"[1] == [1, 2]", "false"},
      {"dyn([1]) == [1.0]", "true"},
      {"{'a': 1} == {'a': 1}", "true"},
      {"{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "true"},
      {"{'a': 1} == {'b': 1}", "false"},
      {"dyn('a') < dyn(1)", "error: no such overload"},
      {"false < true", "true"},
      {"'a' < 'b' && 'Z' < 'a' && '' < 'a'", "true"},
      {"b'\\x01' < b'\\xff'", "true"},
      {"duration('1s') < duration('1m')", "true"},
  });
}

TEST(Comparison, MembershipUsesEquality) {
  ExpectOnDevices({
      {"2 in [1, 2]", "true"},
      {"dyn(2.0) in [1, 2]", "true"},
      {"'a' in {'a': null}", "true"},
      {"dyn(1) in {'a': 1}", "false"},
      {"dyn(1u) in {1: 1}", "true"},
      {"1 in []", "false"},
      {"[1] in [[1]]", "true"},
      {"1 in dyn('abc')", "error: no such overload"},
  });
}

}  // namespace
}  // namespace dray::cel
