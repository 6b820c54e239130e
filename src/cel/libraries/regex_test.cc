// SPDX-License-Identifier: Apache-2.0
#include "cel/eval_table.h"

namespace dray::cel {
namespace {

using testing::ExpectOnDevices;

TEST(RegexLib, MatchesAnywhere) {
  ExpectOnDevices({
      {"'abc'.matches('b')", "true"},
      {"matches('abc', '^b')", "false"},
      {"''.matches('')", "true"},
      {"'größe'.matches('^gr.ße$')", "true"},
      {"'a\\nb'.matches('a.b')", "false"},
      {"'a\\nb'.matches('(?s)a.b')", "true"},
  });
}

TEST(RegexLib, BrokenPatternsAreFoundAsEarlyAsTheirKindAllows) {
  ExpectOnDevices({
      {"'a'.matches('(')", "compile: invalid matches argument"},
      {"'a'.find('(')", "program: error parsing regexp: missing closing ): `(`"},
      {"'a'.matches(dyn('('))", "program: error parsing regexp: missing closing ): `(`"},
      {"['('].exists(p, 'a'.matches(p))", "error: error parsing regexp: missing closing ): `(`"},
      {"'a'.matches('a{1001}')", "compile: invalid matches argument"},
      {"'a'.matches('(?=a)')", "compile: invalid matches argument"},
  });
}

// What Go's patterns have and the RE2 of a distribution may not, and the other way round.
TEST(RegexLib, PatternsAreGos) {
  ExpectOnDevices({
      {"'a1'.matches('^(?<letter>[a-z])(?P<digit>[0-9])$')", "true"},
      {"'a1'.find('(?<digit>[0-9])')", "\"1\""},
      {"'a1'.findAll(dyn('(?<any>.)'))", "[\"a\", \"1\"]"},
      {"'a'.matches('(?<!b)a')", "compile: invalid matches argument"},
      {"'a'.matches('(?<=b)a')", "compile: invalid matches argument"},
      {"'(?<n>'.matches(r'^\\(\\?<n>$')", "true"},
      {"'(?<n>'.matches(r'^\\Q(?<n>\\E$')", "true"},
      {"'(?<n>'.matches('^[(?<n>]+$')", "true"},
      {"'](?<a'.matches('^[](?<a]+$')", "true"},
      {"'P'.matches('^[[:alpha:](?<n>]$')", "true"},
      {"'P'.matches('[(?<]')", "false"},
      {"'a'.matches(r'\\C')", "compile: invalid matches argument"},
      {"'a'.find(r'\\C')", "program: error parsing regexp: invalid escape sequence: `\\C`"},
      {"r'\\C'.matches(r'^\\\\C$')", "true"},
      {"r'\\C'.matches(r'^\\Q\\C\\E$')", "true"},
  });
}

TEST(RegexLib, FindAndFindAll) {
  ExpectOnDevices({
      {"'a1b22'.find('[0-9]+')", "\"1\""},
      {"'abc'.find('[0-9]+')", "\"\""},
      {"'a1b22'.findAll('[0-9]+')", "[\"1\", \"22\"]"},
      {"'a1b22'.findAll('[0-9]+', 1)", "[\"1\"]"},
      {"'a1b22'.findAll('[0-9]+', 0)", "[]"},
      {"'a1b22'.findAll('[0-9]+', -1)", "[\"1\", \"22\"]"},
      {"'abc'.findAll('x')", "[]"},
      {"'öl'.findAll('')", "[\"\", \"\", \"\"]"},
      {"'öl'.findAll(dyn('.'))", "[\"ö\", \"l\"]"},
  });
}

}  // namespace
}  // namespace dray::cel
