// SPDX-License-Identifier: Apache-2.0
#include "controllers/event_cleanup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "controllers/scene_for_test.h"

namespace dray::controllers {
namespace {

using namespace std::chrono_literals;

class EventCleanupTest : public ::testing::Test {
 protected:
  void Tell(std::string_view name) {
    api::Event event;
    event.metadata.namespace_ = "ns";
    event.metadata.name = name;
    event.involved_object = {.kind = "Pod", .namespace_ = "ns", .name = "p"};
    event.reason = "Scheduled";
    event.type = api::kEventNormal;
    event.last_timestamp = scene_.clock().Now();
    scene_.Add(event);
  }
  void TellAgain(std::string_view name) {
    auto event = scene_.Get<api::Event>(name);
    event.last_timestamp = scene_.clock().Now();
    ++event.count;
    scene_.Put(event);
  }
  void After(std::chrono::seconds time) {
    scene_.clock().Advance(time);
    scene_.Settle(controller_);
  }

  Scene scene_;
  EventCleanup controller_{scene_.cluster(), scene_.clock(), {.kept = 1h}};
};

TEST_F(EventCleanupTest, AnEventGoesAnHourAfterItWasTold) {
  Tell("old");
  After(30min);
  Tell("young");
  After(29min);
  EXPECT_TRUE(scene_.Has<api::Event>("old"));
  EXPECT_TRUE(controller_.NextDue().has_value());
  After(1min);
  EXPECT_FALSE(scene_.Has<api::Event>("old"));
  EXPECT_TRUE(scene_.Has<api::Event>("young"));
  After(30min);
  EXPECT_FALSE(scene_.Has<api::Event>("young"));
}

TEST_F(EventCleanupTest, AnEventThatIsToldAgainStays) {
  Tell("again");
  After(50min);
  TellAgain("again");
  After(50min);
  EXPECT_TRUE(scene_.Has<api::Event>("again"));
  After(10min);
  EXPECT_FALSE(scene_.Has<api::Event>("again"));
}

TEST_F(EventCleanupTest, ANewOneGoesOnWhereTheLastOneStopped) {
  Tell("old");
  scene_.clock().Advance(2h);
  EventCleanup next(scene_.cluster(), scene_.clock());
  scene_.Settle(next);
  EXPECT_FALSE(scene_.Has<api::Event>("old"));
}

TEST_F(EventCleanupTest, ManyRepetitionsAreOneAppointment) {
  Tell("busy");
  scene_.Settle(controller_);
  for (int i = 0; i < 100; ++i) {
    TellAgain("busy");
    After(1s);
  }
  EXPECT_EQ(controller_.reconciled(), 0u);
}

}  // namespace
}  // namespace dray::controllers
