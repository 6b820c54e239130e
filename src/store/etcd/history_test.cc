// SPDX-License-Identifier: Apache-2.0
//
// The judge of histories, by histories that are wrong in one way each.
#include "store/etcd/history_for_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dray::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using What = ClientCall::What;
using Result = ClientCall::Result;

Instant At(int ms) { return Instant(std::chrono::milliseconds(ms)); }
ClientCall Put(const char* value, Result result, std::int64_t revision, int from, int to) {
  return {What::kPut, result, "k", value, revision, At(from), At(to)};
}
ClientCall Delete(Result result, std::int64_t revision, int from, int to) {
  return {What::kDelete, result, "k", "", revision, At(from), At(to)};
}
ClientCall Read(const char* value, std::int64_t revision, int from, int to) {
  return {What::kRead, Result::kDone, "k", value, revision, At(from), At(to)};
}

const std::vector<TrueChange> kTruth = {
    {2, "k", "a", false}, {3, "k", "b", false}, {4, "k", "", true}, {5, "k", "c", false}};

TEST(CheckHistory, WhatIsRightIsRight) {
  EXPECT_THAT(CheckHistory({Put("a", Result::kDone, 2, 0, 1),
                            Put("b", Result::kUnknown, 0, 2, 3),
                            Read("a", 2, 2, 3),
                            Read("b", 3, 2, 4),
                            Delete(Result::kDone, 4, 5, 6),
                            Read("", 0, 7, 8),
                            Put("c", Result::kDone, 5, 7, 9),
                            Put("x", Result::kNotDone, 0, 7, 9),
                            Put("y", Result::kUnknown, 0, 0, 9),
                            {What::kPut, Result::kConflict, "k", "z", 5, At(8), At(10)}},
                           kTruth),
              IsEmpty());
}

TEST(CheckHistory, WhatIsWrongIsFound) {
  const auto one = [](std::vector<ClientCall> calls, const char* why) {
    EXPECT_THAT(CheckHistory(calls, kTruth), ElementsAre(HasSubstr(why))) << why;
  };
  one({Put("lost", Result::kDone, 3, 0, 1)}, "is not there at that revision");
  one({Put("a", Result::kDone, 3, 0, 1)}, "is not there at that revision");
  one({Put("a", Result::kNotDone, 0, 0, 1)}, "happened");
  one({Delete(Result::kDone, 3, 0, 1)}, "is not there at that revision");
  // Told of b, then done before it.
  one({Put("b", Result::kDone, 3, 0, 1), Put("a", Result::kDone, 2, 2, 3)}, "is before 3");
  // Old data behind a barrier.
  one({Put("b", Result::kDone, 3, 0, 1), Read("a", 2, 2, 3)}, "at 3 or later");
  one({Put("c", Result::kDone, 5, 0, 1), Read("", 0, 2, 3)}, "at 5 or later");
  one({Read("a", 3, 0, 1)}, "has a value that is not of that version");
  one({Read("a", 2, 0, 1), Put("a", Result::kUnknown, 0, 2, 3)}, "before it was written");
  EXPECT_THAT(CheckHistory({Put("t", Result::kUnknown, 0, 0, 1)},
                           {{2, "k", "t", false}, {3, "k", "t", false}}),
              ElementsAre(HasSubstr("more than once")));
}

}  // namespace
}  // namespace dray::store
