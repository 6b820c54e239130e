// SPDX-License-Identifier: Apache-2.0
#include "cel/eval_table.h"

namespace dray::cel {
namespace {

using testing::ExpectInLanguage;
using testing::ExpectOnDevices;

TEST(OptionalLib, SelectionGoesOnInside) {
  ExpectOnDevices({
      {"{'a': {'b': 1}}.?a.b", "optional.of(1)"},
      {"{'a': {'b': 1}}.?x.b.orValue(7)", "7"},
      {"{'a': 1}[?'a']", "optional.of(1)"},
      {"[1][?5]", "optional.none()"},
      {"[1][?-1]", "optional.none()"},
      {"optional.of({'a': 1}).a", "optional.of(1)"},
      {"optional.of([1])[0]", "optional.of(1)"},
      {"has({'a': {}}.?a.b)", "false"},
  });
}

TEST(OptionalLib, AFieldOfANumberDependsOnTheDialect) {
  ExpectOnDevices({{"{'a': dyn(0)}.?a.b", "optional.none()"}});
  ExpectInLanguage({{"{'a': dyn(0)}.?a.b", "error: no such key: b"}});
}

TEST(OptionalLib, Values) {
  ExpectOnDevices({
      {"optional.none().or(optional.of(1)).value()", "1"},
      {"optional.of(1).or(optional.of(1 / 0))", "optional.of(1)"},
      {"optional.of(1).orValue(1 / 0)", "1"},
      {"optional.none().value()", "error: optional.none() dereference"},
      {"optional.of(null).hasValue()", "true"},
      {"optional.ofNonZeroValue('')", "optional.none()"},
      {"optional.ofNonZeroValue(0u)", "optional.none()"},
      {"optional.ofNonZeroValue([])", "optional.none()"},
      {"optional.ofNonZeroValue(false)", "optional.none()"},
      {"optional.ofNonZeroValue(duration('0s'))", "optional.none()"},
      {"optional.ofNonZeroValue('a')", "optional.of(\"a\")"},
      {"optional.of(1) == optional.of(1)", "true"},
      {"optional.none() == optional.of(1)", "false"},
  });
}

TEST(OptionalLib, EntriesOfLiterals) {
  ExpectOnDevices({
      {"[?optional.none(), ?optional.of(2)]", "[2]"},
      {"{?'a': optional.ofNonZeroValue(0), ?'b': optional.of(1)}", "{\"b\": 1}"},
      {"[?dyn(1)]", "error: cannot initialize optional list element from non-optional value 1"},
  });
}

TEST(OptionalLib, Lists) {
  ExpectOnDevices({
      {"[1, 2].first()", "optional.of(1)"},
      {"[1, 2].last()", "optional.of(2)"},
      {"[].first()", "optional.none()"},
      {"[optional.of(1), optional.none()].unwrapOpt()", "[1]"},
      {"optional.unwrap([optional.none()])", "[]"},
      {"optional.of(3).optMap(x, x + 1)", "optional.of(4)"},
      {"optional.of(3).optFlatMap(x, optional.none())", "optional.none()"},
      {"optional.none().optMap(x, 1 / 0)", "optional.none()"},
  });
}

}  // namespace
}  // namespace dray::cel
