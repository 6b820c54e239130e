// SPDX-License-Identifier: Apache-2.0
#include "driver/health_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dray::driver {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Reports final : public rpc::HealthReports {
 public:
  bool Send(std::vector<rpc::DeviceHealth> devices) override {
    if (gone) return false;
    for (const rpc::DeviceHealth& device : devices) {
      heard.push_back(device.device + (device.health == rpc::Health::kHealthy ? " up" : " down"));
    }
    return true;
  }
  bool gone = false;
  std::vector<std::string> heard;
};

class HealthBoardTest : public ::testing::Test {
 protected:
  static std::vector<rpc::DeviceHealth> One(rpc::Health health, std::chrono::seconds timeout = 0s) {
    return {{.pool = "p", .device = "d", .health = health, .timeout = timeout}};
  }
  base::ManualClock clock_{base::Time::FromUnix(1'700'000'000)};
  HealthBoard board_{clock_};
};

TEST_F(HealthBoardTest, WhoeverListensHearsTheLastReportAndEveryFurtherOne) {
  const auto early = std::make_shared<Reports>();
  board_.Listen(early);
  board_.Report(One(rpc::Health::kHealthy));
  const auto late = std::make_shared<Reports>();
  board_.Listen(late);
  board_.Report(One(rpc::Health::kUnhealthy));
  EXPECT_THAT(early->heard, ElementsAre("d up", "d down"));
  EXPECT_THAT(late->heard, ElementsAre("d up", "d down"));
  early->gone = true;
  board_.Report(One(rpc::Health::kHealthy));
  EXPECT_EQ(early.use_count(), 1);  // let go: the stream ends
  board_.Close();
  EXPECT_EQ(late.use_count(), 1);
}

// A monitor that hangs: who connects now must not be told that all is well.
TEST_F(HealthBoardTest, AnOldReportIsNotRepeated) {
  board_.Report(One(rpc::Health::kHealthy, 20s));
  clock_.Advance(19s);
  EXPECT_EQ(board_.Overdue(), std::nullopt);
  clock_.Advance(6s);
  EXPECT_EQ(board_.Overdue(), std::chrono::nanoseconds(5s));
  const auto late = std::make_shared<Reports>();
  board_.Listen(late);
  EXPECT_THAT(late->heard, IsEmpty());
  board_.Report(One(rpc::Health::kHealthy, 20s));
  EXPECT_THAT(late->heard, ElementsAre("d up"));
  EXPECT_EQ(board_.Overdue(), std::nullopt);
}

TEST_F(HealthBoardTest, ReportsWithoutATimeoutAreGoodForTheAgentsOwn) {
  board_.Report(One(rpc::Health::kHealthy));
  clock_.Advance(31s);
  EXPECT_EQ(board_.Overdue(), std::chrono::nanoseconds(1s));
}

}  // namespace
}  // namespace dray::driver
