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
