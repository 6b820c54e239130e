// SPDX-License-Identifier: Apache-2.0
#include "cel/eval_table.h"

namespace dray::cel {
namespace {

using testing::ExpectOnDevices;

TEST(SemverLib, PartsAndOrder) {
  ExpectOnDevices({
      {"semver('1.2.3').major()", "1"},
      {"semver('1.2.3').minor()", "2"},
      {"semver('1.2.3-rc.1+b').patch()", "3"},
      {"semver('1.2.3-rc.1').isLessThan(semver('1.2.3'))", "true"},
      {"semver('1.2.3-rc.2').isLessThan(semver('1.2.3-rc.10'))", "true"},
      {"semver('1.2.3-1').isLessThan(semver('1.2.3-a'))", "true"},
      {"semver('1.10.0').isGreaterThan(semver('1.9.9'))", "true"},
      {"semver('1.2.3+a').compareTo(semver('1.2.3+b'))", "0"},
      {"semver('1.2.3') == semver('1.2.3')", "true"},
  });
}

TEST(SemverLib, OnlyTheWholeFormUnlessToldOtherwise) {
  ExpectOnDevices({
      {"isSemver('1.2.3')", "true"},
      {"isSemver('v1.2.3')", "false"},
      {"isSemver('1.2')", "false"},
      {"isSemver('01.2.3')", "false"},
      {"isSemver('1.2.3-')", "false"},
      {"isSemver('')", "false"},
      {"isSemver('v1.2', true)", "true"},
      {"isSemver('01.2.3', true)", "true"},
      {"isSemver('v1.2', false)", "false"},
      {"semver('v1.2', true)", "semver(\"1.2.0\")"},
      {"semver('x')", "error: "},
      {"dyn(semver('1.2.3')) == dyn('1.2.3')", "error: no such overload"},
  });
}

}  // namespace
}  // namespace dray::cel
