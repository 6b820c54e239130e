// SPDX-License-Identifier: Apache-2.0
//
// dyn() around the format keeps the checker from looking at constant formats first.
#include "cel/eval_table.h"

namespace dray::cel {
namespace {

using testing::ExpectInLanguage;
using testing::ExpectOnDevices;

TEST(FormatLib, ClausesThatAreTheSameEverywhere) {
  const std::vector<testing::Row> rows = {
      {"'%d%%'.format([7])", "\"7%\""},
      {"'%d'.format([-9223372036854775808])", "\"-9223372036854775808\""},
      {"'%d'.format([18446744073709551615u])", "\"18446744073709551615\""},
      {"'%x %X %o %b'.format([255, 255u, 8, true])", "\"ff FF 10 1\""},
      {"'%x'.format([-255])", "\"-ff\""},
      {"'%b'.format([-5])", "\"-101\""},
      {"'%x %X'.format(['öl', b'\\xff'])", "\"c3b66c FF\""},
      {"'%s'.format(['ö'])", "\"ö\""},
      {"'%s'.format([null])", "\"null\""},
      {"'%s'.format([type(1)])", "\"int\""},
      {"'%s'.format([duration('1h')])", "\"3600s\""},
      {"''.format([])", "\"\""},
  };
  ExpectOnDevices(rows);
  ExpectInLanguage(rows);
}

TEST(FormatLib, KubernetesWritesMembersLikeLiterals) {
  ExpectOnDevices({
      {"'%s'.format([{'b': 2.5, 'a': ['x']}])", R"("{\"a\":[\"x\"], \"b\":2.500000}")"},
      {"'%s'.format([[duration('1s'), duration('2s')]])",
       R"("[duration(\"1s\"), duration(\"2s\")]")"},
      {"'%s'.format([[0.0 / 0.0]])", R"("[\"NaN\"]")"},
      {"'%s'.format([[b'x']])", R"("[b\"x\"]")"},
      {"'%s'.format([[]])", "\"[]\""},
  });
}

TEST(FormatLib, KubernetesWritesNumbersForPeople) {
  ExpectOnDevices({
      {"'%f'.format([1234567.891])", "\"1,234,567.891000\""},
      {"'%.0f'.format([-1234.5])", "\"-1,234\""},
      {"'%.2e'.format([1234.5])", "\"1.234500×10⁰³\""},
      {"'%e'.format([0.00012])", "\"1.200000×10⁻⁰⁴\""},
      {"'%f'.format([1.0 / 0.0])", "\"∞\""},
      {"'%e'.format([-1.0 / 0.0])", "\"    -∞\""},
      {"'%f'.format(['Infinity'])", "\"∞\""},
      {"'%f'.format([-0.0])", "\"0.000000\""},
      {"'%e'.format([-0.0])", "\"0.000000×10⁰⁰\""},
      {"'%f'.format([dyn(1)])",
       "error: error during formatting: fixed-point clause can only be used on doubles, was given "
       "int"},
  });
}

TEST(FormatLib, TheLanguageWritesMembersLikeThemselves) {
  ExpectInLanguage({
      {"'%s'.format([{'b': 2.5, 'a': ['x'], 1: b'y'}])", "\"{1: y, a: [x], b: 2.5}\""},
      {"'%s'.format([[duration('1s'), null, true]])", "\"[1s, null, true]\""},
      {"'%s'.format([[0.0 / 0.0, -1.0 / 0.0]])", "\"[NaN, -Infinity]\""},
      {"'%s'.format([{}])", "\"{}\""},
      {"'%s'.format([timestamp('2020-01-01T00:00:00+01:00')])", "\"2019-12-31T23:00:00Z\""},
  });
}

TEST(FormatLib, TheLanguageWritesNumbersForMachines) {
  ExpectInLanguage({
      {"'%f'.format([1234567.891])", "\"1234567.891000\""},
      {"'%.2e'.format([1234.5])", "\"1.23e+03\""},
      {"'%.0f'.format([2.5])", "\"2\""},
      {"'%.1f %.1f'.format([2, 3u])", "\"2.0 3.0\""},
      {"'%d'.format([1.0 / 0.0])", "\"Infinity\""},
      {"'%e'.format([-1.0 / 0.0])", "\"-Infinity\""},
      {"'%s'.format([1e23])", "\"100000000000000000000000\""},
      {"'%s'.format([1.5e-7])", "\"0.00000015\""},
      {"'%s'.format([-0.0])", "\"-0\""},
      {"'%d'.format([1.5])", "\"1.5\""},
      {"'%d'.format(['1'])",
       "error: error during formatting: decimal clause can only be used on integers, was given "
       "string"},
      {"'%f'.format(['NaN'])",
       "error: error during formatting: fixed-point clause can only be used on doubles, was given "
       "string"},
  });
}

TEST(FormatLib, BrokenClausesAreErrors) {
  ExpectInLanguage({
      {"'%d %d'.format([1])", "error: index 1 out of range"},
      {"'%'.format([1])", "error: unexpected end of string"},
      {"'%q'.format([1])",
       "error: could not parse formatting clause: unrecognized formatting clause \"q\""},
      {"'%.3'.format([1.0])",
       "error: could not parse formatting clause: error while parsing precision: could not find "
       "end of precision specifier"},
      {"'%.1001f'.format([1.0])",
       "error: could not parse formatting clause: error while parsing precision: precision 1001 "
       "exceeds maximum"},
      {"'%s'.format([optional.none()])",
       "error: error during formatting: string clause can only be used on strings, bools, bytes, "
       "ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type"},
      {"'%s'.format([[b'\\xff']])",
       "error: error during formatting: could not convert argument \"invalid UTF-8 in bytes, "
       "cannot convert to string\" to string"},
  });
}

TEST(FormatLib, ConstantFormatsAreCheckedOnDevices) {
  ExpectOnDevices({
      {"'%d'.format(['a'])",
       "compile: error during formatting: decimal clause can only be used on integers, was given "
       "string"},
      {"'%d'.format([1, 2])",
       "compile: too many arguments supplied to string.format (expected 1, got 2)"},
  });
}

}  // namespace
}  // namespace dray::cel
