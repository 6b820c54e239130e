// SPDX-License-Identifier: Apache-2.0
#include "cel/eval_table.h"

namespace dray::cel {
namespace {

using testing::Call;
using testing::ExpectOnDevices;

TEST(ListsLib, SliceNeedsARange) {
  ExpectOnDevices({
      {"[1, 2, 3].slice(1, 3)", "[2, 3]"},
      {"[1, 2, 3].slice(0, 0)", "[]"},
      {"[1, 2, 3].slice(3, 3)", "[]"},
      {"[].slice(0, 0)", "[]"},
      {"[1].slice(0, 2)", "error: cannot slice(0, 2), list is length 1"},
      {"[1].slice(-1, 1)", "error: cannot slice(-1, 1), negative indexes not supported"},
      {"[1, 2].slice(1, 0)",
       "error: cannot slice(1, 0), start index must be less than or equal to end index"},
  });
}

TEST(ListsLib, FlattenGoesAsDeepAsAsked) {
  ExpectOnDevices({
      {"[[1], [2, 3]].flatten()", "[1, 2, 3]"},
      {"[[[1]], [[2], [3]]].flatten()", "[[1], [2], [3]]"},
      {"[[[1]], [[2], [3]]].flatten(2)", "[1, 2, 3]"},
      {"[[1]].flatten(0)", "[[1]]"},
      {"[[1]].flatten(3)", "[1]"},
      {"[[1]].flatten(-1)", "error: level must be non-negative"},
      {"[].flatten()", "[]"},
  });
}

// Kubernetes panics, recovers and reports that.
TEST(ListsLib, FlattenToADepthThatIsNoNumberIsAnOrdinaryError) {
  ExpectOnDevices({{"[].flatten(dyn('1'))", "error: no such overload: flatten(list, string)"}});
}

TEST(ListsLib, SortWantsOneKind) {
  ExpectOnDevices({
      {"[3, 1, 2].sort()", "[1, 2, 3]"},
      {"['b', '', 'a'].sort()", "[\"\", \"a\", \"b\"]"},
      {"[true, false].sort()", "[false, true]"},
      {"[].sort()", "[]"},
      {"[duration('2s'), duration('1s')].sort()", "[duration(\"1s\"), duration(\"2s\")]"},
      {"[dyn(1), dyn('a')].sort()", "error: list elements must have the same type"},
      {"[dyn([1]), dyn([2])].sort()", "error: list elements must be comparable"},
      {"['bb', 'a'].sortBy(x, x.size())", "[\"a\", \"bb\"]"},
      {"['b', 'a', 'c'].sortBy(x, 1)", "[\"b\", \"a\", \"c\"]"},
  });
}

TEST(ListsLib, DistinctAndReverseKeepTheRest) {
  ExpectOnDevices({
      {"[1, 2, 1, 3, 2].distinct()", "[1, 2, 3]"},
      {"[dyn(1), dyn(1.0), dyn(1u)].distinct()", "[1]"},
      {"[[1], [1]].distinct()", "[[1]]"},
      {"[].distinct()", "[]"},
      {"[1, 2].reverse()", "[2, 1]"},
      {"[].reverse()", "[]"},
      {"lists.range(3)", "[0, 1, 2]"},
      {"lists.range(0)", "[]"},
      {"lists.range(-1)", "error: lists.range: size must be non-negative, got -1"},
  });
}

TEST(ListsLib, RangeIsBounded) {
  EXPECT_TRUE(Call("lists.range", {Value::Int(INT64_MAX)}).starts_with("error: lists.range: "));
}

TEST(ListsLib, SumsAndExtremes) {
  ExpectOnDevices({
      {"[1, 2].sum()", "3"},
      {"[9223372036854775807, 1].sum()", "error: integer overflow"},
      {"[1.5, 2.0].sum()", "3.5"},
      {"[1.5].filter(x, x > 2.0).sum() + 1.5", "1.5"},
      {"[duration('1s')].filter(x, false).sum()", "duration(\"0s\")"},
      {"[].sum()", "0"},
      {"[dyn(1.5)].sum()", "1.5"},
      {"[dyn(1), dyn(1.5)].sum()", "error: no such overload"},
      {"[duration('1s'), duration('2s')].sum()", "duration(\"3s\")"},
      {"[1].filter(x, x > 1).sum()", "0"},
      {"[1u].filter(x, x > 1u).sum()", "0u"},
      {"[3, 1, 2].min()", "1"},
      {"[1.0, 0.0 / 0.0].min()", "1"},
      {"[dyn(1), dyn('a')].min()", "1"},
      {"[dyn(1), dyn([1])].min()", "error: no such overload"},
      {"['b', 'a'].max()", "\"b\""},
      {"[1].filter(x, x > 1).min()", "error: min called on empty list"},
      {"[1].filter(x, x > 1).max()", "error: max called on empty list"},
      {"[1, 2, 2].isSorted()", "true"},
      {"[2, 1].isSorted()", "false"},
      {"[1].filter(x, x > 1).isSorted()", "true"},
  });
}

TEST(ListsLib, Positions) {
  ExpectOnDevices({
      {"[1, 2, 1].indexOf(1)", "0"},
      {"[1, 2, 1].lastIndexOf(1)", "2"},
      {"[1, 2].indexOf(3)", "-1"},
      {"[dyn(1.0)].indexOf(1)", "0"},
      {"[[1]].lastIndexOf([1])", "0"},
  });
}

TEST(ListsLib, IncludesTakesAScalarForAListOfOne) {
  ExpectOnDevices({
      {"[1, 2].includes(2.0)", "true"},
      {"[1, 2].include(2)", "true"},
      {"'abc'.includes('abc')", "true"},
      {"'abc'.includes('b')", "false"},
      {"[].includes(1)", "false"},
      {"[[1]].includes([1])", "true"},
  });
}

TEST(ListsLib, TwoVariableLoops) {
  ExpectOnDevices({
      {"{'a': 1}.transformMap(k, v, v + 1)", "{\"a\": 2}"},
      {"{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v)", "{\"b\": 2}"},
      {"['x', 'y'].transformList(i, v, string(i) + v)", "[\"0x\", \"1y\"]"},
      {"{'a': 'x'}.transformMapEntry(k, v, {v: k})", "{\"x\": \"a\"}"},
      {"{'a': 'x', 'b': 'x'}.transformMapEntry(k, v, {v: k})",
       "error: insert failed: key x already exists"},
      {"[1, 2, 3].map(x, x > 1, x * x)", "[4, 9]"},
      {"[5, 6].exists(i, v, i == 1 && v == 6)", "true"},
  });
}

TEST(SetsLib, MultiplicityAndOrderDoNotMatter) {
  ExpectOnDevices({
      {"sets.contains([1, 2], [2, 2])", "true"},
      {"sets.contains([1], [1, 2])", "false"},
      {"sets.contains([], [])", "true"},
      {"sets.contains([1], [])", "true"},
      {"sets.equivalent([1, 2], [2, 1, 1])", "true"},
      {"sets.equivalent([], [1])", "false"},
      {"sets.equivalent([dyn(1)], [dyn(1.0)])", "true"},
      {"sets.intersects([1], [2, 1])", "true"},
      {"sets.intersects([1], [])", "false"},
      {"sets.intersects([[1]], [[2], [1]])", "true"},
  });
}

}  // namespace
}  // namespace dray::cel
