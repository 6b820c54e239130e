// SPDX-License-Identifier: Apache-2.0
#include "cel/eval_table.h"

namespace dray::cel {
namespace {

using testing::ExpectOnDevices;

TEST(TimeLib, PartsOfTimestamps) {
  ExpectOnDevices({
      {"timestamp('2024-02-29T23:30:15.999Z').getFullYear()", "2024"},
      {"timestamp('2024-02-29T23:30:15Z').getMonth()", "1"},
      {"timestamp('2024-02-29T23:30:15Z').getDate()", "29"},
      {"timestamp('2024-02-29T23:30:15Z').getDayOfMonth()", "28"},
      {"timestamp('2024-02-29T23:30:15Z').getDayOfYear()", "59"},
      {"timestamp('2024-02-29T23:30:15Z').getDayOfWeek()", "4"},
      {"timestamp('2024-02-29T23:30:15Z').getHours()", "23"},
      {"timestamp('2024-02-29T23:30:15Z').getMinutes()", "30"},
      {"timestamp('2024-02-29T23:30:15Z').getSeconds()", "15"},
      {"timestamp('2024-02-29T23:30:15.999Z').getMilliseconds()", "999"},
      {"timestamp('1969-12-31T23:59:59.5Z').getMilliseconds()", "500"},
  });
}

TEST(TimeLib, Zones) {
  ExpectOnDevices({
      {"timestamp('2024-02-29T23:30:00Z').getHours('+05:30')", "5"},
      {"timestamp('2024-02-29T23:30:00Z').getDate('+05:30')", "1"},
      {"timestamp('2024-02-29T23:30:00Z').getHours('-00:30')", "23"},
      {"timestamp('2024-07-01T12:00:00Z').getHours('America/New_York')", "8"},
      {"timestamp('2024-01-01T12:00:00Z').getHours('America/New_York')", "7"},
      {"timestamp('2024-07-01T12:00:00Z').getHours('UTC')", "12"},
      {"timestamp('2024-07-01T12:00:00Z').getHours('Nope/Zone')",
       "error: unknown time zone Nope/Zone"},
      {"timestamp('2024-07-01T12:00:00Z').getHours('../etc')", "error: "},
      {"timestamp('2024-07-01T12:00:00Z').getHours('/dev/stdin')",
       "error: unknown time zone /dev/stdin"},
      {"timestamp('2024-07-01T12:00:00+02:00').getHours()", "10"},
  });
}

TEST(TimeLib, PartsOfDurationsAreTotals) {
  ExpectOnDevices({
      {"duration('90s').getMinutes()", "1"},
      {"duration('25h').getHours()", "25"},
      {"duration('-90s').getSeconds()", "-90"},
      {"duration('1.234s').getMilliseconds()", "1234"},
      {"string(duration('1h30m'))", "\"5400s\""},
  });
}

TEST(TimeLib, ConstantsAreCheckedWhenCompiled) {
  ExpectOnDevices({
      {"duration('1 day')", "compile: invalid duration argument"},
      {"timestamp('yesterday')", "compile: invalid timestamp argument"},
  });
}

}  // namespace
}  // namespace dray::cel
