// SPDX-License-Identifier: Apache-2.0
#include "rpc/liveness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "testing/status_matchers.h"

namespace dray::rpc {
namespace {

using dray::testing::IsOk;
using dray::testing::IsOkAndHolds;
using dray::testing::StatusIs;
using ::testing::HasSubstr;

TEST(Liveness, AnswersProbesByAskingWhoItBelongsTo) {
  std::atomic<bool> well = true;
  const auto server = ServeLiveness({.address = "127.0.0.1", .check = [&]() -> Status {
                                       return well ? Status() : base::Unavailable("ill");
                                     }});
  ASSERT_THAT(server, IsOk());
  const std::string target = "127.0.0.1:" + std::to_string((*server)->port());
  const auto ask = [&](const std::string& service) {
    return AskLiveness(target, service, std::chrono::seconds(10));
  };
  EXPECT_THAT(ask(""), IsOkAndHolds(true));
  EXPECT_THAT(ask("liveness"), IsOkAndHolds(true));
  EXPECT_THAT(ask("readiness"), StatusIs(StatusCode::kNotFound, HasSubstr("unknown service")));
  well = false;
  EXPECT_THAT(ask("liveness"), IsOkAndHolds(false));
  // Another one cannot have the port.
  EXPECT_THAT(ServeLiveness({.address = "127.0.0.1", .port = (*server)->port()}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is the port taken?")));
}

}  // namespace
}  // namespace dray::rpc
