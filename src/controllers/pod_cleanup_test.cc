// SPDX-License-Identifier: Apache-2.0
#include "controllers/pod_cleanup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/node.h"
#include "controllers/scene_for_test.h"

namespace dray::controllers {
namespace {

using ::testing::SizeIs;
using namespace std::chrono_literals;

class PodCleanupTest : public ::testing::Test {
 protected:
  void AddNode(std::string_view name) {
    api::Node node;
    node.metadata.name = name;
    scene_.Add(node);
  }
  void AddPod(std::string_view name, std::string_view node) {
    api::Pod pod = PodNamed(name);
    pod.spec.node_name = node;
    pod.status.phase = api::kPodRunning;
    scene_.Add(pod);
  }
  Scene scene_;
  PodCleanup controller_{scene_.cluster(), scene_.clock(), {.ended_pods = 2}};
};

TEST_F(PodCleanupTest, PodsOfALostNodeGoAfterAWhile) {
  AddNode("a");
  AddNode("b");
  AddPod("on-a", "a");
  AddPod("on-b", "b");
  EXPECT_EQ(controller_.Sync(), 0u);
  scene_.Delete<api::Node>("a", "");
  EXPECT_EQ(controller_.Sync(), 0u);
  EXPECT_EQ(*controller_.NextDue() - scene_.clock().Monotonic(), 40s);
  scene_.clock().Advance(40s);
  api::PodStatus last;
  scene_.cluster().SetWriteHook([&](api::Verb verb, const api::Object& object) {
    if (verb == api::Verb::kDelete) last = object.As<api::Pod>()->status;
    return Status();
  });
  controller_.Sync();
  EXPECT_FALSE(scene_.Has<api::Pod>("on-a"));
  EXPECT_TRUE(scene_.Has<api::Pod>("on-b"));
  EXPECT_EQ(last.phase, api::kPodFailed);
  ASSERT_THAT(last.conditions, SizeIs(1));
  EXPECT_EQ(last.conditions[0].reason, "DeletionByPodGC");
}

TEST_F(PodCleanupTest, ANodeThatComesBackKeepsItsPods) {
  AddNode("a");
  AddPod("on-a", "a");
  controller_.Sync();
  scene_.Delete<api::Node>("a", "");
  controller_.Sync();
  scene_.clock().Advance(30s);
  AddNode("a");
  controller_.Sync();
  scene_.clock().Advance(30s);
  controller_.Sync();
  EXPECT_TRUE(scene_.Has<api::Pod>("on-a"));
  // Lost again: the time counts from then.
  scene_.Delete<api::Node>("a", "");
  controller_.Sync();
  scene_.clock().Advance(39s);
  controller_.Sync();
  EXPECT_TRUE(scene_.Has<api::Pod>("on-a"));
}

TEST_F(PodCleanupTest, OfTooManyThatHaveEndedTheOldestGo) {
  AddNode("n");
  for (const std::string_view name : {"d", "c", "b", "a"}) {
    AddPod(name, "n");
    scene_.SetPhase(name, name == "a" ? api::kPodFailed : api::kPodSucceeded);
    scene_.clock().Advance(1s);
  }
  AddPod("running", "n");
  EXPECT_EQ(controller_.Sync(), 2u);
  EXPECT_THAT(scene_.All<api::Pod>(), SizeIs(3));
  EXPECT_FALSE(scene_.Has<api::Pod>("d"));
  EXPECT_FALSE(scene_.Has<api::Pod>("c"));
  EXPECT_EQ(controller_.Sync(), 0u);
}

}  // namespace
}  // namespace dray::controllers
