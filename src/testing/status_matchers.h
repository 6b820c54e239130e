// SPDX-License-Identifier: Apache-2.0
//
// Matchers for Status and StatusOr, which Debian 12's abseil does not bring.
//
//   EXPECT_THAT(store.Put(key), IsOk());
//   EXPECT_THAT(Quantity::Parse("1Xi"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("1Xi")));
//   EXPECT_THAT(Parse("3"), IsOkAndHolds(3));
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "base/status.h"

namespace dray::testing {

inline const Status& StatusOf(const Status& status) { return status; }
template <typename T>
const Status& StatusOf(const StatusOr<T>& value) {
  return value.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

MATCHER_P2(StatusIs, code, message, "has the code and a matching message") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code &&
         ::testing::Matches(message)(std::string(base::Message(StatusOf(arg))));
}

MATCHER_P(IsOkAndHolds, value, "is OK and holds a matching value") {
  if (!arg.ok()) {
    *result_listener << arg.status().ToString();
    return false;
  }
  return ::testing::ExplainMatchResult(value, *arg, result_listener);
}

}  // namespace dray::testing
