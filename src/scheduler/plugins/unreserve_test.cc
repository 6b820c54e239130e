// SPDX-License-Identifier: Apache-2.0
//
// What is left of an attempt that did not get its pod to a node: a claim that is allocated is reserved for
// somebody, whenever the scheduler ends and whatever answers get lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "scheduler/plugins/dynamic_resources_test_support.h"

namespace dray::scheduler::scenes {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

bool IsClaim(const api::Object& object) { return object.As<api::ResourceClaim>() != nullptr; }

// A pod that is to use the claim a, as far as it was reserved.
class UnreserveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    scene_.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + PodYaml("p", {"a"}) +
                PodYaml("q", {"a"}));
  }
  Cycle Bound(std::string_view pod, std::string_view node = "n2") {
    Cycle cycle = scene_.Start(pod);
    EXPECT_EQ(scene_.PreFilter(cycle), "ok");
    EXPECT_EQ(scene_.Reserve(cycle, node), "ok");
    EXPECT_EQ(scene_.PreBind(cycle, node), "ok");
    return cycle;
  }
  std::vector<std::string> Users() {
    std::vector<std::string> names;
    for (const auto& user : scene_.Find<api::ResourceClaim>("a")->status.reserved_for) {
      names.push_back(user.name);
    }
    return names;
  }
  std::string Devices() { return DevicesOf(scene_.Find<api::ResourceClaim>("a").get()); }

  Scene scene_;
};

TEST_F(UnreserveTest, TheLastReservationTakesTheDevicesAlong) {
  Cycle cycle = Bound("p");
  EXPECT_EQ(Devices(), "n2-gpu-0");
  int writes = 0;
  scene_.cluster_.SetWriteHook([&](api::Verb, const api::Object& object) {
    if (IsClaim(object)) ++writes;
    return Status();
  });
  scene_.Unreserve(cycle);
  // In one write: nobody can come, or end, in between.
  EXPECT_EQ(writes, 1);
  EXPECT_EQ(Devices(), "not allocated");
  EXPECT_THAT(Users(), IsEmpty());
  scene_.Unreserve(cycle);
  EXPECT_EQ(writes, 1);
  scene_.Sync();
  EXPECT_EQ(scene_.Schedule("p"), "bound to n1");
}

// The pod is deleted between its reservation and the end of the attempt.
TEST_F(UnreserveTest, APodThatIsGoneLeavesNothing) {
  for (const bool told : {false, true}) {
    Scene scene;
    scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + PodYaml("p", {"a"}));
    Cycle cycle = scene.Start("p");
    ASSERT_EQ(scene.PreFilter(cycle), "ok");
    ASSERT_EQ(scene.Reserve(cycle, "n1"), "ok");
    ASSERT_EQ(scene.PreBind(cycle, "n1"), "ok");
    ASSERT_TRUE(scene.cluster_.Delete(KindOf<api::Pod>(), "default", "p").ok());
    if (told) scene.Sync();
    scene.Unreserve(cycle);
    EXPECT_EQ(DevicesOf(scene.Find<api::ResourceClaim>("a").get()), "not allocated") << told;
  }
}

TEST_F(UnreserveTest, OthersKeepWhatTheyUse) {
  ASSERT_EQ(scene_.Schedule("q"), "bound to n1");
  Cycle cycle = Bound("p", "n1");
  EXPECT_THAT(Users(), ElementsAre("q", "p"));
  scene_.Unreserve(cycle);
  EXPECT_THAT(Users(), ElementsAre("q"));
  EXPECT_EQ(Devices(), "n1-gpu-0");
}

// Between reading the claim and writing it somebody else reserves it.
TEST_F(UnreserveTest, WhoeverWasFasterKeepsTheDevices) {
  Cycle cycle = Bound("p");
  bool done = false;
  scene_.cluster_.SetWriteHook([&](api::Verb, const api::Object& object) {
    if (!IsClaim(object) || std::exchange(done, true)) return Status();
    api::ResourceClaim claim = *scene_.Find<api::ResourceClaim>("a");
    claim.status.reserved_for.push_back(ConsumerOf(*scene_.Pod("q")->pod));
    EXPECT_TRUE(scene_.cluster_.UpdateStatus(api::Object::Of(std::move(claim))).ok());
    return Status();
  });
  scene_.Unreserve(cycle);
  EXPECT_TRUE(done);
  EXPECT_THAT(Users(), ElementsAre("q"));
  EXPECT_EQ(Devices(), "n2-gpu-0");
}

// Somebody has allocated it for later: what an attempt finds it leaves.
TEST_F(UnreserveTest, AnAllocationThatNobodyUsedYetStays) {
  Cycle first = Bound("p");
  scene_.Change("a", [](api::ResourceClaim& claim) { claim.status.reserved_for.clear(); });
  Cycle cycle = Bound("p");
  EXPECT_THAT(Users(), ElementsAre("p"));
  scene_.Unreserve(cycle);
  EXPECT_THAT(Users(), IsEmpty());
  EXPECT_EQ(Devices(), "n2-gpu-0");
}

// Nor is anything taken that was allocated without the finalizer: somebody else looks after it.
TEST_F(UnreserveTest, AnAllocationWithoutFinalizerStays) {
  Cycle cycle = Bound("p");
  scene_.Change(
      "a", [](api::ResourceClaim& claim) { claim.metadata.finalizers.clear(); }, false);
  scene_.Unreserve(cycle);
  EXPECT_THAT(Users(), IsEmpty());
  EXPECT_EQ(Devices(), "n2-gpu-0");
}

// By another scheduler, or by a request of this one that was taken for lost.
TEST_F(UnreserveTest, APodThatHasGotToANodeAfterAllKeepsItsClaims) {
  Cycle cycle = Bound("p");
  ASSERT_TRUE(scene_.cluster_.Bind("default", "p", scene_.Pod("p")->pod->metadata.uid, "n2").ok());
  scene_.Unreserve(cycle);
  EXPECT_THAT(Users(), ElementsAre("p"));
  EXPECT_EQ(Devices(), "n2-gpu-0");
}

// A pod by the same name is another one.
TEST_F(UnreserveTest, APodThatWasReplacedHasNothing) {
  Cycle cycle = Bound("p");
  ASSERT_TRUE(scene_.cluster_.Delete(KindOf<api::Pod>(), "default", "p").ok());
  scene_.Load(R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, uid: another}
spec: {nodeName: n2, containers: [{name: c, image: i}]}
)");
  scene_.Unreserve(cycle);
  EXPECT_EQ(Devices(), "not allocated");
}

TEST_F(UnreserveTest, AnAnswerThatIsLostIsNoFailure) {
  for (const bool stored : {true, false}) {
    Scene scene;
    scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + PodYaml("p", {"a"}));
    Cycle cycle = scene.Start("p");
    ASSERT_EQ(scene.PreFilter(cycle), "ok");
    ASSERT_EQ(scene.Reserve(cycle, "n1"), "ok");
    ASSERT_EQ(scene.PreBind(cycle, "n1"), "ok");
    int left = 1;
    const auto hook = [&](api::Verb verb, const api::Object& object) {
      const bool lost = verb == api::Verb::kUpdateStatus && IsClaim(object) && left-- > 0;
      return lost ? api::OutcomeUnknown("lost") : Status();
    };
    stored ? scene.cluster_.SetAnswerHook(hook) : scene.cluster_.SetWriteHook(hook);
    scene.Unreserve(cycle);
    EXPECT_EQ(DevicesOf(scene.Find<api::ResourceClaim>("a").get()), "not allocated") << stored;
  }
}

// What cannot be found out now stays as it is: reserved, so that the next attempt has it, or whoever looks
// after reservations when the pod is gone.
TEST_F(UnreserveTest, WhatCannotBeReadOrWrittenStaysReserved) {
  Cycle cycle = Bound("p");
  scene_.cluster_.SetReadHook([](const api::KindInfo&) { return base::Unavailable("away"); });
  scene_.Unreserve(cycle);
  scene_.cluster_.SetReadHook({});
  EXPECT_THAT(Users(), ElementsAre("p"));
  EXPECT_EQ(Devices(), "n2-gpu-0");
  scene_.cluster_.SetWriteHook(
      [](api::Verb, const api::Object&) { return base::Unavailable("away"); });
  scene_.Unreserve(cycle);
  scene_.cluster_.SetWriteHook({});
  EXPECT_THAT(Users(), ElementsAre("p"));
  scene_.Sync();
  EXPECT_EQ(scene_.Schedule("p"), "bound to n2");
}

// The same device as before, or another: nobody is told that it is free before it is.
TEST_F(UnreserveTest, DevicesAreFreeWhenThatIsTold) {
  scene_.Load(ClaimYaml("b", 2) + PodYaml("r", {"b"}));
  Cycle cycle = Bound("p");
  scene_.Unreserve(cycle);
  Cycle other = scene_.Start("r");
  ASSERT_EQ(scene_.PreFilter(other), "ok");
  EXPECT_EQ(scene_.Filter(other, "n2"), "unresolvable: cannot allocate all claims");
  scene_.Sync();
  EXPECT_EQ(scene_.Filter(other, "n2"), "ok");
}

}  // namespace
}  // namespace dray::scheduler::scenes
