// SPDX-License-Identifier: Apache-2.0
#include "cel/eval_table.h"

namespace dray::cel {
namespace {

using testing::ExpectOnDevices;

TEST(QuantityLib, Texts) {
  ExpectOnDevices({
      {"quantity('1024Mi')", "quantity(\"1Gi\")"},
      {"quantity('0.1')", "quantity(\"100m\")"},
      {"quantity('1e3')", "quantity(\"1e3\")"},
      {"isQuantity('1.5Gi')", "true"},
      {"isQuantity('')", "false"},
      {"isQuantity('1 Gi')", "false"},
      {"isQuantity('1GI')", "false"},
      {"quantity('x')", "error: "},
  });
}

TEST(QuantityLib, Numbers) {
  ExpectOnDevices({
      {"quantity('50k').asInteger()", "50000"},
      {"quantity('1.5').isInteger()", "false"},
      {"quantity('1.5').asInteger()", "error: cannot convert value to integer"},
      {"quantity('100Ti').isInteger()", "false"},  // as Kubernetes has it
      {"quantity('1.5').asApproximateFloat()", "1.5"},
      {"sign(quantity('-1'))", "-1"},
      {"sign(quantity('0'))", "0"},
  });
}

TEST(QuantityLib, OrderAndSums) {
  ExpectOnDevices({
      {"quantity('1.5Gi').isLessThan(quantity('2Gi'))", "true"},
      {"quantity('1Gi').isGreaterThan(quantity('1G'))", "true"},
      {"quantity('1000m').compareTo(quantity('1'))", "0"},
      {"quantity('1').add(quantity('500m'))", "quantity(\"1500m\")"},
      {"quantity('1').sub(2)", "quantity(\"-1\")"},
      {"quantity('1Ki') == quantity('1024')", "true"},
  });
}

TEST(QuantityLib, AmountsDoNotWrap) {
  ExpectOnDevices({
      {"quantity('1').sub(-9223372036854775808)", "quantity(\"9223372036854775809\")"},
      {"quantity('9223372036854775807').add(1)", "quantity(\"9223372036854775808\")"},
  });
}

// A sum is equal on the left only: Kubernetes compares a pointer with a value.
TEST(QuantityLib, SumsAreEqualOnTheLeftOnly) {
  ExpectOnDevices({
      {"quantity('1').add(1) == quantity('2')", "true"},
      {"quantity('2') == quantity('1').add(1)", "error: no such overload"},
      {"dyn(quantity('1')) == dyn(1)", "error: no such overload"},
      {"dyn(1) == dyn(quantity('1'))", "false"},
  });
}

}  // namespace
}  // namespace dray::cel
