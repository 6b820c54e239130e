// SPDX-License-Identifier: Apache-2.0
//
// Room that was made for a pod which then cannot be bound: how long it is kept, and what is said of that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/event.h"
#include "fmt/format.h"
#include "scheduler/device_cluster_for_test.h"
#include "scheduler/internal/rooms_in_vain.h"
#include "testing/status_matchers.h"

namespace dray::scheduler {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::string_view kEndsSlowly = "example.com/ends-slowly";
constexpr std::string_view kNotAgain =
    "preemption: not again for now: room was made before, and then it failed: create claim for "
    "extended resources";

SchedulerOptions WithDevices() {
  SchedulerOptions options;
  options.config.profiles.front().preemption.devices = true;
  return options;
}

// Pods have one device each by an extended resource, so that a claim is created for each when it has a node: a quota
// may forbid that. Pods that are sent away stay until the test ends them.
class InVainTest : public ::testing::Test {
 protected:
  InVainTest() : town_(WithDevices()) {
    api::DeviceClass named;
    named.metadata.name = "named";
    named.spec.extended_resource_name = "example.com/gpu";
    town_.Create(std::move(named));
  }

  void AddPod(const std::string& name, std::int32_t priority, std::string cpu = "1") {
    api::Pod made = MakePod({.name = name, .cpu = std::move(cpu), .priority = priority});
    auto& resources = made.spec.containers.front().resources;
    resources.requests["example.com/gpu"] = testing::ToQuantity("1");
    resources.limits["example.com/gpu"] = testing::ToQuantity("1");
    made.metadata.finalizers.emplace_back(kEndsSlowly);
    town_.Create(std::move(made));
  }
  // No claim more for pods whose names begin so.
  void ForbidClaimsOf(std::string_view prefix) {
    town_.cluster().SetWriteHook([prefix](api::Verb verb, const api::Object& object) {
      const bool forbidden = verb == api::Verb::kCreate &&
                             object.As<api::ResourceClaim>() != nullptr &&
                             (object.metadata().name.starts_with(prefix) ||
                              object.metadata().generate_name.starts_with(prefix));
      return forbidden ? base::FailedPrecondition("exceeded quota: claims") : Status();
    });
  }
  void Run() {
    town_.clock().Advance(std::chrono::seconds(11));
    town_.scheduler().Tick();
    town_.scheduler().Run();
  }
  // The pod has stopped, and what it had is given back.
  void End(const std::string& name) {
    api::Pod pod = *town_.Find<api::Pod>(name);
    ASSERT_TRUE(pod.metadata.deletion_timestamp.has_value()) << name << " was not sent away";
    pod.metadata.finalizers.clear();
    ASSERT_THAT(town_.cluster().Update(api::Object::Of(std::move(pod))), testing::IsOk());
    for (const api::Object& object :
         town_.cluster().All(DeviceCluster::KindOf<api::ResourceClaim>())) {
      api::ResourceClaim claim = *object.As<api::ResourceClaim>();
      if (!claim.metadata.name.starts_with(name + "-")) continue;
      claim.status.allocation.reset();
      claim.status.reserved_for.clear();
      ASSERT_THAT(town_.cluster().UpdateStatus(api::Object::Of(std::move(claim))), testing::IsOk());
    }
  }
  std::string NodeOf(const std::string& name) {
    const api::Pod* pod = town_.Find<api::Pod>(name);
    return pod == nullptr ? "gone" : pod->spec.node_name;
  }
  std::string NominatedOf(const std::string& name) {
    return town_.Find<api::Pod>(name)->status.nominated_node_name;
  }
  std::string Told(const std::string& name) {
    for (const api::PodCondition& condition : town_.Find<api::Pod>(name)->status.conditions) {
      if (condition.type == api::kPodScheduledCondition) return condition.message;
    }
    return "";
  }
  std::size_t SentAway() {
    std::size_t count = 0;
    for (const api::Object& object : town_.cluster().All(DeviceCluster::KindOf<api::Event>())) {
      if (object.As<api::Event>()->reason == "Preempted") ++count;
    }
    return count;
  }
  // One node with one device, which "low" had; "high" has sent it away, and may have no claim.
  void MakeRoomInVain() {
    town_.AddNode("n1", 1);
    AddPod("low", 1);
    Run();
    ASSERT_EQ(NodeOf("low"), "n1");
    ForbidClaimsOf("high");
    AddPod("high", 10);
    Run();
    ASSERT_EQ(NominatedOf("high"), "n1");
    End("low");
    ASSERT_EQ(NodeOf("low"), "gone");
  }

  DeviceCluster town_;
};

// It comes first, has what was freed for somebody else until its claim is refused, and whoever is next takes it: so somebody
// would be sent away again and again, and nobody would have anything of that.
TEST_F(InVainTest, WhoFailsAgainAndAgainLeavesTheRoomOfLesserOnesAlone) {
  MakeRoomInVain();
  Run();
  Run();
  AddPod("next", 1);
  Run();
  ASSERT_EQ(NodeOf("next"), "n1");
  AddPod("middle", 5);
  Run();
  ASSERT_EQ(NominatedOf("middle"), "n1");
  ASSERT_THAT(Told("high"), HasSubstr("not again for now"));
  End("next");
  Run();
  EXPECT_EQ(NodeOf("middle"), "n1");
  EXPECT_THAT(Told("high"), HasSubstr("devices kept for pod ns/middle"));
  // Once something is different with it, it is as important as it says.
  AddPod("last", 5);
  api::Pod high = *town_.Find<api::Pod>("high");
  high.metadata.labels["changed"] = "yes";
  ASSERT_THAT(town_.cluster().Update(api::Object::Of(std::move(high))), testing::IsOk());
  town_.cluster().SetWriteHook({});
  Run();
  EXPECT_EQ(NominatedOf("high"), "n1");
  EXPECT_EQ(SentAway(), 3u);
}

// What test/system found: the device was kept for ever, for a pod that could not have it.
TEST_F(InVainTest, AfterTheSecondFailureTheDeviceIsForOthers) {
  MakeRoomInVain();
  AddPod("next", 1);
  Run();
  EXPECT_THAT(Told("high"), HasSubstr("exceeded quota"));
  EXPECT_EQ(NominatedOf("high"), "n1");
  EXPECT_EQ(NodeOf("next"), "");
  EXPECT_EQ(town_.scheduler().rooms_kept(), 1u);
  // Whoever waited for what was kept is woken.
  Run();
  EXPECT_EQ(NominatedOf("high"), "");
  EXPECT_EQ(town_.scheduler().rooms_kept(), 0u);
  Run();
  EXPECT_EQ(NodeOf("next"), "n1");
}

TEST_F(InVainTest, OneFailureGivesNoRoomAway) {
  MakeRoomInVain();
  AddPod("next", 1);
  Run();
  ASSERT_THAT(Told("high"), HasSubstr("exceeded quota"));
  town_.cluster().SetWriteHook({});
  Run();
  EXPECT_EQ(NodeOf("high"), "n1");
  EXPECT_EQ(NodeOf("next"), "");
}

TEST_F(InVainTest, WhoIsRefusedForWhatIsKeptIsToldForWhom) {
  town_.AddNode("n2", 0);
  MakeRoomInVain();
  AddPod("next", 1);
  Run();
  const std::string_view kept =
      "node(s) had devices kept for pod ns/high, which preempted others for them";
  EXPECT_THAT(Told("next"),
              AllOf(HasSubstr("0/2 nodes are available: 1 cannot allocate all claims"),
                    HasSubstr(fmt::format(
                        ", 1 {}. Nearest fit: node n1, with devices kept for others, which "
                        "preempted for them.",
                        kept))));
  const PodExplanation* why = town_.scheduler().Explain("ns/next");
  ASSERT_NE(why, nullptr);
  std::size_t nodes = 0;
  std::string code;
  for (const NodeGroup& group : why->groups) {
    nodes += group.nodes;
    ASSERT_THAT(group.reasons, SizeIs(1));
    if (group.reasons[0].text == kept) code = group.reasons[0].code;
  }
  EXPECT_EQ(nodes, why->nodes);
  EXPECT_EQ(code, "devices_kept");
  EXPECT_THAT(ToText(*why), HasSubstr(kept));
  EXPECT_THAT(ToJson(*why), HasSubstr("\"devices_kept\""));
}

TEST_F(InVainTest, NobodyIsSentAwayASecondTimeForNothing) {
  MakeRoomInVain();
  AddPod("next", 1);
  for (int i = 0; i < 3; ++i) Run();
  ASSERT_EQ(NodeOf("next"), "n1");
  for (int i = 0; i < 3; ++i) Run();
  EXPECT_EQ(SentAway(), 1u);
  EXPECT_EQ(NodeOf("next"), "n1");
  EXPECT_EQ(NominatedOf("high"), "");
  EXPECT_THAT(Told("high"), AllOf(HasSubstr("0/1 nodes are available"), HasSubstr(kNotAgain),
                                  HasSubstr("exceeded quota: claims")));
  // Not for ever.
  town_.cluster().SetWriteHook({});
  for (int i = 0; i < 40 && SentAway() == 1; ++i) Run();
  EXPECT_EQ(SentAway(), 2u);
  End("next");
  for (int i = 0; i < 2; ++i) Run();
  EXPECT_EQ(NodeOf("high"), "n1");
}

TEST_F(InVainTest, APodThatIsUpdatedMayPreemptAgain) {
  MakeRoomInVain();
  AddPod("next", 1);
  for (int i = 0; i < 4; ++i) Run();
  ASSERT_EQ(NodeOf("next"), "n1");
  ASSERT_THAT(Told("high"), HasSubstr(kNotAgain));
  api::Pod pod = *town_.Find<api::Pod>("high");
  pod.metadata.labels["app"] = "other";
  ASSERT_THAT(town_.cluster().Update(api::Object::Of(std::move(pod))), testing::IsOk());
  for (int i = 0; i < 2; ++i) Run();
  EXPECT_EQ(SentAway(), 2u);
  EXPECT_THAT(Told("high"), Not(HasSubstr(kNotAgain)));
}

TEST_F(InVainTest, AnotherPodByTheNameMayPreempt) {
  MakeRoomInVain();
  AddPod("next", 1);
  for (int i = 0; i < 4; ++i) Run();
  ASSERT_THAT(Told("high"), HasSubstr(kNotAgain));
  ASSERT_THAT(town_.cluster().Delete(DeviceCluster::KindOf<api::Pod>(), "ns", "high"),
              testing::IsOk());
  End("high");
  AddPod("high", 10);
  for (int i = 0; i < 2; ++i) Run();
  EXPECT_EQ(SentAway(), 2u);
}

// A nomination without devices keeps cpu.
TEST_F(InVainTest, RoomForCpuIsGivenUpLikewise) {
  town_.AddNode("n1", 0, "2");
  const auto add = [&](const std::string& name, std::int32_t priority) {
    api::Pod pod = MakePod({.name = name, .cpu = "2", .priority = priority});
    pod.metadata.finalizers.emplace_back(kEndsSlowly);
    town_.Create(std::move(pod));
  };
  add("low", 1);
  Run();
  ASSERT_EQ(NodeOf("low"), "n1");
  town_.cluster().SetWriteHook([](api::Verb verb, const api::Object& object) {
    return verb == api::Verb::kBind && object.metadata().name == "high"
               ? base::FailedPrecondition("a webhook says no")
               : Status();
  });
  add("high", 10);
  Run();
  ASSERT_EQ(NominatedOf("high"), "n1");
  End("low");
  add("next", 1);
  Run();
  EXPECT_EQ(NominatedOf("high"), "n1");
  EXPECT_EQ(NodeOf("next"), "");
  for (int i = 0; i < 3; ++i) Run();
  EXPECT_EQ(NominatedOf("high"), "");
  EXPECT_EQ(NodeOf("next"), "n1");
  EXPECT_EQ(SentAway(), 1u);
  EXPECT_THAT(Told("high"), HasSubstr("preemption: not again for now: room was made before, and "
                                      "then it failed: binding to n1: a webhook says no"));
}

TEST(RoomsInVain, FailuresCountInARowAndWhatIsSaidIsShort) {
  base::ManualClock clock{base::Time::FromUnix(1'000)};
  internal::RoomsInVain rooms(clock, std::chrono::minutes(5));
  World world{WorldOptions{}};
  api::Pod made = MakePod({.name = "p"});
  made.metadata.uid = "u";
  world.Apply({api::Change::Kind::kAdded, api::Object::Of(made)});
  const PodInfo& pod = *world.FindPod("ns/p");
  EXPECT_FALSE(rooms.Failed(pod, "why"));
  rooms.Refused("ns/p");
  EXPECT_FALSE(rooms.Failed(pod, "why"));
  EXPECT_EQ(rooms.WhyNot(pod), "");
  EXPECT_TRUE(rooms.Failed(pod, std::string(319, 'x') + "\xC3\xA4 and more"));
  EXPECT_THAT(rooms.WhyNot(pod), EndsWith("it failed: " + std::string(319, 'x') + "..."));
  // What is refused afterwards does not make it forget.
  rooms.Refused("ns/p");
  EXPECT_NE(rooms.WhyNot(pod), "");
  EXPECT_TRUE(rooms.Failed(pod, "why"));
  clock.Advance(std::chrono::minutes(5));
  EXPECT_EQ(rooms.WhyNot(pod), "");
  EXPECT_FALSE(rooms.Failed(pod, "why"));
  EXPECT_TRUE(rooms.Failed(pod, "why"));
  rooms.Forget("ns/p");
  EXPECT_EQ(rooms.WhyNot(pod), "");
}

}  // namespace
}  // namespace dray::scheduler
