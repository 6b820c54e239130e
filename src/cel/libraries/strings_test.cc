// SPDX-License-Identifier: Apache-2.0
#include "cel/eval_table.h"

namespace dray::cel {
namespace {

using testing::Call;
using testing::ExpectInLanguage;
using testing::ExpectOnDevices;

TEST(StringsLib, PositionsCountCodePoints) {
  ExpectOnDevices({
      {"'größe'.size()", "5"},
      {"size('日本')", "2"},
      {"'größe'.charAt(2)", "\"ö\""},
      {"'größe'.charAt(5)", "\"\""},
      {"'größe'.charAt(6)", "error: index out of range: 6"},
      {"'größe'.charAt(-1)", "error: index out of range: -1"},
      {"'größe'.indexOf('e')", "4"},
      {"'größe'.substring(1, 3)", "\"rö\""},
      {"'größe'.substring(3)", "\"ße\""},
      {"'日本日本'.lastIndexOf('日')", "2"},
  });
}

TEST(StringsLib, IndexOfStartsAtItsOffset) {
  ExpectOnDevices({
      {"'abcabc'.indexOf('c', 3)", "5"},
      {"'abcabc'.indexOf('c', 6)", "-1"},
      {"'abcabc'.indexOf('c', -1)", "error: index out of range: -1"},
      {"'abcabc'.indexOf('')", "0"},
      {"'abcabc'.indexOf('', 2)", "2"},
      {"''.indexOf('a')", "-1"},
      {"'abcabc'.lastIndexOf('b', 3)", "1"},
      {"'abcabc'.lastIndexOf('b', 0)", "-1"},
      {"'abcabc'.lastIndexOf('')", "6"},
      {"'a'.lastIndexOf('abc')", "-1"},
      {"''.lastIndexOf('')", "0"},
      {"'abc'.lastIndexOf('a', -1)", "error: index out of range: -1"},
  });
}

TEST(StringsLib, LastIndexOfPastTheEndDependsOnTheDialect) {
  ExpectOnDevices({{"'abc'.lastIndexOf('a', 3)", "-1"}, {"'abc'.lastIndexOf('a', 30)", "-1"}});
  ExpectInLanguage({{"'abc'.lastIndexOf('a', 2)", "0"},
                    {"'abc'.lastIndexOf('a', 30)", "error: index out of range: 30"}});
}

TEST(StringsLib, SubstringNeedsARange) {
  ExpectOnDevices({
      {"'abc'.substring(0, 0)", "\"\""},
      {"'abc'.substring(3)", "\"\""},
      {"'abc'.substring(4)", "error: index out of range: 4"},
      {"'abc'.substring(-1)", "error: index out of range: -1"},
      {"'abc'.substring(2, 1)", "error: invalid substring range. start: 2, end: 1"},
      {"'abc'.substring(1, 4)", "error: index out of range: 4"},
      {"''.substring(0)", "\"\""},
  });
}

TEST(StringsLib, SearchAlwaysFindsTheEmptyText) {
  ExpectOnDevices({
      {"'abc'.contains('')", "true"},
      {"''.startsWith('')", "true"},
      {"''.endsWith('a')", "false"},
      {"'größe'.endsWith('ße')", "true"},
      {"dyn('a').contains(dyn(1))", "error: no such overload: contains(string, int)"},
  });
}

TEST(StringsLib, ReplaceAndSplitTakeALimit) {
  ExpectOnDevices({
      {"'aaa'.replace('a', 'b')", "\"bbb\""},
      {"'aaa'.replace('a', 'b', 2)", "\"bba\""},
      {"'aaa'.replace('a', 'b', 0)", "\"aaa\""},
      {"'aaa'.replace('a', 'b', -1)", "\"bbb\""},
      {"'öl'.replace('', '-')", "\"-ö-l-\""},
      {"'öl'.replace('', '-', 2)", "\"-ö-l\""},
      {"''.replace('', 'x')", "\"x\""},
      {"'a,b,c'.split(',')", "[\"a\", \"b\", \"c\"]"},
      {"'a,b,c'.split(',', 2)", "[\"a\", \"b,c\"]"},
      {"'a,b,c'.split(',', 1)", "[\"a,b,c\"]"},
      {"'a,b,c'.split(',', 0)", "[]"},
      {"'a,b,c'.split(',', -1)", "[\"a\", \"b\", \"c\"]"},
      {"''.split(',')", "[\"\"]"},
      {"''.split('')", "[]"},
      {"'öl!'.split('')", "[\"ö\", \"l\", \"!\"]"},
      {"'öl!'.split('', 2)", "[\"ö\", \"l!\"]"},
      {"',a,'.split(',')", "[\"\", \"a\", \"\"]"},
  });
}

TEST(StringsLib, JoinWantsTexts) {
  ExpectOnDevices({
      {"['a', 'b'].join('-')", "\"a-b\""},
      {"['a', 'b'].join()", "\"ab\""},
      {"[].join(',')", "\"\""},
      {"dyn(['a', 1]).join()", "compile: expected type 'string' but found 'int'"},
      {"[dyn('a'), dyn(1)].join()", "error: join: invalid input: 1"},
  });
}

TEST(StringsLib, CaseIsOfAsciiOnly) {
  ExpectOnDevices({
      {"'GRÖSSE'.lowerAscii()", "\"grÖsse\""},
      {"'größe'.upperAscii()", "\"GRößE\""},
  });
}

TEST(StringsLib, TrimKnowsUnicodesSpaces) {
  ExpectOnDevices({
      {"' \\t\\u3000x y\\u00a0\\n'.trim()", "\"x y\""},
      {"' \\u2029 '.trim()", "\"\""},
      {"'\\u200bx'.trim()", "\"\u200bx\""},  // not a space by its property
  });
}

TEST(StringsLib, QuoteEscapesWhatALiteralWould) {
  ExpectOnDevices({
      {"strings.quote('a\"b\\\\c')", R"("\"a\\\"b\\\\c\"")"},
      {"strings.quote('\\n\\t')", R"("\"\\n\\t\"")"},
      {"strings.quote('ö')", "\"\\\"ö\\\"\""},
      {"strings.quote('')", R"("\"\"")"},
  });
}

TEST(StringsLib, ReverseIsNotInDra) {
  ExpectOnDevices({{"'abc'.reverse()",
                    "compile: found no matching overload for 'reverse' applied to 'string.()'"}});
  ExpectInLanguage({{"'größe'.reverse()", "\"eßörg\""}, {"''.reverse()", "\"\""}});
}

// No expression has such a text, but a broken device might.
TEST(StringsLib, BrokenTextsDoNoHarm) {
  const Value broken = Value::String("a\xff\xc3");
  EXPECT_EQ(Call("strings.quote", {broken}), "\"\\\"a\ufffd\ufffd\\\"\"");
  EXPECT_EQ(Call("charAt", {broken, Value::Int(1)}), "\"\\xff\"");
  EXPECT_EQ(Call("size", {broken}), "3");
  EXPECT_EQ(Call("trim", {Value::String("\x80\x80")}), "\"\\x80\\x80\"");
  EXPECT_EQ(Call("reverse", {Value::String("\x80")}), "\"\\x80\"");
  EXPECT_EQ(Call("split", {broken, Value::String("")}), "[\"a\", \"\\xff\", \"\\xc3\"]");
}

}  // namespace
}  // namespace dray::cel
