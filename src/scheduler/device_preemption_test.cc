// SPDX-License-Identifier: Apache-2.0
//
// Preemption by device, through the whole scheduler: who is sent away, what is held meanwhile, and what
// is said. The choice itself is held against brute force in test/preemption.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/event.h"
#include "api/pod_claims.h"
#include "fmt/format.h"
#include "scheduler/device_cluster_for_test.h"
#include "scheduler/world.h"
#include "testing/status_matchers.h"

namespace dray::scheduler {
namespace {

using ::testing::Contains;
using testing::Device;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Slice;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kHoldsVictims = "example.com/ends-slowly";

SchedulerOptions WithDevices(bool on) {
  SchedulerOptions options;
  options.config.profiles.front().preemption.devices = on;
  return options;
}

// Pods end only when the test says so, and claims are given back only when it says so, too: the moments
// that a kubelet and a controller take.
class DevicePreemptionTest : public ::testing::Test {
 protected:
  explicit DevicePreemptionTest(bool on = true) : town_(WithDevices(on)) {}

  void AddPod(api::Pod pod) {
    pod.metadata.finalizers.emplace_back(kHoldsVictims);
    town_.Create(std::move(pod));
  }
  // With a claim of its own for so many devices, called like the pod.
  void AddPod(const std::string& name, int gpus, std::int32_t priority, std::string cpu = "1") {
    town_.Create(DeviceCluster::GpuClaim(name, gpus));
    AddPodWith(name, {name}, priority, std::move(cpu));
  }
  void AddPodWith(const std::string& name, const std::vector<std::string>& claims,
                  std::int32_t priority, std::string cpu = "1") {
    api::Pod pod = MakePod({.name = name, .cpu = std::move(cpu), .priority = priority});
    for (const std::string& claim : claims) {
      pod.spec.resource_claims.push_back({.name = claim, .resource_claim_name = claim});
      pod.spec.containers.front().resources.claims.push_back({.name = claim});
    }
    AddPod(std::move(pod));
  }
  // Tries everybody who may be tried, whose backoff is over.
  void Run() {
    town_.clock().Advance(std::chrono::seconds(11));
    town_.scheduler().Tick();
    town_.scheduler().Run();
  }
  // The pod's containers have stopped.
  void End(const std::string& name) {
    api::Pod pod = *town_.Find<api::Pod>(name);
    ASSERT_TRUE(pod.metadata.deletion_timestamp.has_value()) << name << " was not sent away";
    pod.metadata.finalizers.clear();
    ASSERT_THAT(town_.cluster().Update(api::Object::Of(std::move(pod))), testing::IsOk());
  }
  void GiveBack(const std::string& name) {
    api::ResourceClaim claim = *town_.Find<api::ResourceClaim>(name);
    claim.status.allocation.reset();
    claim.status.reserved_for.clear();
    ASSERT_THAT(town_.cluster().UpdateStatus(api::Object::Of(std::move(claim))), testing::IsOk());
  }
  std::string NodeOf(const std::string& name) {
    const api::Pod* pod = town_.Find<api::Pod>(name);
    return pod == nullptr ? "gone" : pod->spec.node_name;
  }
  // Of pods that have been sent away, and may not have ended.
  std::vector<std::string> SentAway() {
    std::vector<std::string> names;
    for (const api::Object& object : town_.cluster().All(DeviceCluster::KindOf<api::Pod>())) {
      if (object.metadata().deletion_timestamp) names.push_back(object.metadata().name);
    }
    return names;
  }
  std::vector<std::string> DevicesOf(const std::string& name) {
    std::vector<std::string> devices;
    const api::ResourceClaim* claim = town_.Find<api::ResourceClaim>(name);
    if (claim == nullptr || !claim->status.allocation) return devices;
    for (const auto& result : claim->status.allocation->devices.results) {
      devices.push_back(result.device);
    }
    return devices;
  }
  std::vector<std::string> Events(std::string_view reason) {
    std::vector<std::string> texts;
    for (const api::Object& object : town_.cluster().All(DeviceCluster::KindOf<api::Event>())) {
      const api::Event& event = *object.As<api::Event>();
      if (event.reason == reason) {
        texts.push_back(event.involved_object.name + ": " + event.message);
      }
    }
    return texts;
  }

  DeviceCluster town_;
};

TEST_F(DevicePreemptionTest, APodOfLowerPriorityGivesItsDeviceBack) {
  town_.AddNode("n1", 1);
  AddPod("low", 1, 1);
  Run();
  ASSERT_EQ(NodeOf("low"), "n1");
  AddPod("high", 1, 10);
  Run();
  EXPECT_THAT(SentAway(), ElementsAre("low"));
  EXPECT_EQ(town_.Find<api::Pod>("high")->status.nominated_node_name, "n1");
  EXPECT_THAT(Events("Preempted"), ElementsAre(HasSubstr("on node n1 to give back device "
                                                         "gpu.example.com/n1/gpu-0")));
  const std::string said =
      "preemption: waiting for 1 pod of lower priority to leave node n1: ns/low; "
      "device gpu.example.com/n1/gpu-0 is kept for it.";
  EXPECT_THAT(Events("FailedScheduling"), ElementsAre(HasSubstr(said)));
  const PodExplanation* why = town_.scheduler().Explain("ns/high");
  ASSERT_NE(why, nullptr);
  ASSERT_EQ(why->after.size(), 1u);
  EXPECT_EQ(why->after[0].text, said);
  End("low");
  GiveBack("low");
  Run();
  EXPECT_EQ(NodeOf("high"), "n1");
  EXPECT_THAT(DevicesOf("high"), ElementsAre("gpu-0"));
  EXPECT_EQ(town_.scheduler().rooms_kept(), 0u);
}

class OffTest : public DevicePreemptionTest {
 protected:
  OffTest() : DevicePreemptionTest(false) {}
};

TEST_F(OffTest, KubernetesSendsNobodyAwayForADevice) {
  town_.AddNode("n1", 1);
  AddPod("low", 1, 1);
  Run();
  AddPod("high", 1, 10);
  Run();
  EXPECT_THAT(SentAway(), IsEmpty());
  EXPECT_THAT(Events("FailedScheduling"),
              ElementsAre(HasSubstr("preemption: 0/1 nodes are available: 1 Preemption is not "
                                    "helpful for scheduling.")));
}

TEST_F(DevicePreemptionTest, NobodyIsSentAwayTwiceWhileAClaimIsGivenBack) {
  town_.AddNode("n1", 1);
  town_.AddNode("n2", 1);
  AddPod("low", 1, 1);
  AddPod("lower", 1, 0);
  Run();
  AddPod("high", 1, 10);
  Run();
  EXPECT_THAT(SentAway(), ElementsAre("lower"));
  End("lower");
  Run();
  // The claim still has its device, and nothing is left on the node that would say so.
  for (int i = 0; i < 3; ++i) Run();
  EXPECT_THAT(SentAway(), IsEmpty());
  EXPECT_EQ(NodeOf("high"), "");
  GiveBack("lower");
  Run();
  EXPECT_NE(NodeOf("high"), "");
  EXPECT_NE(NodeOf("low"), "gone");
}

TEST_F(DevicePreemptionTest, AnEqualPodDoesNotTakeWhatIsHeldAndAMoreImportantOneMay) {
  town_.AddNode("n1", 1);
  AddPod("low", 1, 1);
  Run();
  AddPod("high", 1, 10);
  Run();
  ASSERT_THAT(SentAway(), ElementsAre("low"));
  End("low");
  // It comes while the pod that the device is held for backs off.
  AddPod("equal", 1, 10);
  GiveBack("low");
  town_.scheduler().Run();
  EXPECT_EQ(NodeOf("equal"), "");
  Run();
  EXPECT_EQ(NodeOf("high"), "n1");
  EXPECT_EQ(NodeOf("equal"), "");
}

TEST_F(DevicePreemptionTest, AMoreImportantPodTakesWhatIsHeldForALesserOne) {
  town_.AddNode("n1", 1);
  AddPod("low", 1, 1);
  Run();
  AddPod("high", 1, 10);
  Run();
  End("low");
  AddPod("highest", 1, 100);
  GiveBack("low");
  town_.scheduler().Run();
  EXPECT_EQ(NodeOf("highest"), "n1");
  EXPECT_EQ(NodeOf("high"), "");
}

TEST_F(DevicePreemptionTest, AClaimThatAMoreImportantPodSharesIsNotGivenBack) {
  town_.AddNode("n1", 1);
  town_.Create(DeviceCluster::GpuClaim("shared", 1));
  AddPodWith("low", {"shared"}, 1);
  AddPodWith("important", {"shared"}, 20);
  Run();
  ASSERT_EQ(NodeOf("important"), "n1");
  AddPod("high", 1, 10);
  Run();
  EXPECT_THAT(SentAway(), IsEmpty());
  EXPECT_THAT(Events("FailedScheduling"), Contains(HasSubstr("1 cannot allocate all claims")));
}

TEST_F(DevicePreemptionTest, AllWhoShareAClaimGoTogether) {
  town_.AddNode("n1", 2);
  town_.Create(DeviceCluster::GpuClaim("shared", 1));
  AddPodWith("one", {"shared"}, 1);
  AddPodWith("two", {"shared"}, 1);
  AddPod("alone", 1, 2);
  Run();
  AddPod("high", 1, 10);
  Run();
  // Who is least important goes before who are fewest.
  EXPECT_THAT(SentAway(), UnorderedElementsAre("one", "two"));
}

TEST_F(DevicePreemptionTest, FewerPodsGoWhereTheyAreEquallyImportant) {
  town_.AddNode("n1", 2);
  town_.Create(DeviceCluster::GpuClaim("shared", 1));
  AddPodWith("one", {"shared"}, 1);
  AddPodWith("two", {"shared"}, 1);
  AddPod("alone", 1, 1);
  Run();
  AddPod("high", 1, 10);
  Run();
  EXPECT_THAT(SentAway(), ElementsAre("alone"));
}

TEST_F(DevicePreemptionTest, AWaitingPodDoesNotJoinAClaimThatIsGivenBack) {
  town_.AddNode("n1", 1);
  town_.Create(DeviceCluster::GpuClaim("shared", 1));
  AddPodWith("low", {"shared"}, 1);
  Run();
  AddPod("high", 1, 10);
  Run();
  ASSERT_THAT(SentAway(), ElementsAre("low"));
  AddPodWith("joins", {"shared"}, 1);
  Run();
  EXPECT_EQ(NodeOf("joins"), "");
  EXPECT_THAT(Events("FailedScheduling"),
              Contains(HasSubstr("resourceclaim shared is being given back for pod ns/high")));
  End("low");
  GiveBack("shared");
  Run();
  EXPECT_EQ(NodeOf("high"), "n1");
}

TEST_F(DevicePreemptionTest, APolicyOfNeverIsRespected) {
  town_.AddNode("n1", 1);
  AddPod("low", 1, 1);
  Run();
  town_.Create(DeviceCluster::GpuClaim("high", 1));
  api::Pod high = DeviceCluster::WithClaim(MakePod({.name = "high", .priority = 10}), "high");
  high.spec.preemption_policy = api::kPreemptNever;
  AddPod(std::move(high));
  Run();
  EXPECT_THAT(SentAway(), IsEmpty());
}

TEST_F(DevicePreemptionTest, WhomABudgetKeepsGoesLast) {
  town_.AddNode("n1", 2);
  api::PodDisruptionBudget budget;
  budget.metadata = {.name = "keep", .namespace_ = "ns"};
  budget.spec.selector.emplace();
  budget.spec.selector->match_labels["app"] = "kept";
  town_.Create(std::move(budget));
  town_.Create(DeviceCluster::GpuClaim("kept", 1));
  api::Pod kept = DeviceCluster::WithClaim(MakePod({.name = "kept", .priority = 1}), "kept");
  kept.metadata.labels["app"] = "kept";
  AddPod(std::move(kept));
  AddPod("other", 1, 5);
  Run();
  AddPod("high", 1, 10);
  Run();
  EXPECT_THAT(SentAway(), ElementsAre("other"));
}

TEST_F(DevicePreemptionTest, OfTwoPreemptorsEachHasItsOwnOfAVictimsDevices) {
  town_.AddNode("n1", 2);
  AddPod("low", 2, 1);
  Run();
  AddPod("first", 1, 10);
  AddPod("second", 1, 10);
  Run();
  EXPECT_THAT(SentAway(), ElementsAre("low"));
  EXPECT_EQ(town_.Find<api::Pod>("first")->status.nominated_node_name, "n1");
  EXPECT_EQ(town_.Find<api::Pod>("second")->status.nominated_node_name, "n1");
  End("low");
  GiveBack("low");
  Run();
  EXPECT_EQ(NodeOf("first"), "n1");
  EXPECT_EQ(NodeOf("second"), "n1");
}

// Shares of one device: what the first preemptor is promised is not counted twice while its victim
// still has it.
TEST_F(DevicePreemptionTest, TheSecondOfTwoPreemptorsSendsTheSecondHolderAway) {
  town_.Create(MakeNode("n1"));
  town_.Create<api::ResourceSlice>(
      Slice("s").Pool("n1").OnNode("n1").With(Device("gpu-0").Shared().Capacity("memory", "80Gi")));
  const auto claim = [&](const std::string& name) {
    api::ResourceClaim made = DeviceCluster::GpuClaim(name, 1);
    made.spec.devices.requests[0].exactly->capacity.emplace();
    made.spec.devices.requests[0].exactly->capacity->requests["memory"] =
        testing::ToQuantity("40Gi");
    town_.Create(std::move(made));
  };
  for (const std::string name : {"low-1", "low-2"}) {
    claim(name);
    AddPodWith(name, {name}, 1);
  }
  Run();
  ASSERT_EQ(NodeOf("low-2"), "n1");
  for (const std::string name : {"high-1", "high-2"}) {
    claim(name);
    AddPodWith(name, {name}, 10);
    Run();
  }
  EXPECT_THAT(SentAway(), UnorderedElementsAre("low-1", "low-2"));
  // One after the other, in whatever order they end.
  End("low-2");
  GiveBack("low-2");
  for (int i = 0; i < 3; ++i) Run();
  End("low-1");
  GiveBack("low-1");
  for (int i = 0; i < 3; ++i) Run();
  EXPECT_EQ(NodeOf("high-1"), "n1");
  EXPECT_EQ(NodeOf("high-2"), "n1");
  EXPECT_THAT(Events("Preempted"), ::testing::SizeIs(2));
}

// A share that is kept for somebody has drawn no counters yet: they are still the victim's.
TEST_F(DevicePreemptionTest, BesideAShareThatIsKeptNobodyTakesCountersThatAreStillInUse) {
  town_.Create(MakeNode("n1"));
  town_.Create<api::ResourceSlice>(
      Slice("counters").Pool("n1").Of(2).OnNode("n1").Counters("gpu", {{"slices", "4"}}));
  town_.Create<api::ResourceSlice>(
      Slice("s")
          .Pool("n1")
          .Of(2)
          .OnNode("n1")
          .With(Device("whole").String("size", "whole").Consumes("gpu", {{"slices", "4"}}))
          .With(Device("shared")
                    .String("size", "shared")
                    .Shared()
                    .Capacity("memory", "80Gi")
                    .Consumes("gpu", {{"slices", "3"}}))
          .With(Device("spare").String("size", "spare").Shared().Capacity("memory", "80Gi")));
  const auto add = [&](const std::string& name, std::string_view which, std::int32_t priority) {
    api::ResourceClaim claim = DeviceCluster::GpuClaim(name, 1);
    auto& request = *claim.spec.devices.requests[0].exactly;
    request.selectors.push_back(
        {.cel = api::CELDeviceSelector{
             .expression = fmt::format("device.attributes[\"gpu.example.com\"].size {}", which)}});
    if (priority > 1 || name == "beside") {
      request.capacity.emplace();
      request.capacity->requests["memory"] = testing::ToQuantity("20Gi");
    }
    town_.Create(std::move(claim));
    AddPodWith(name, {name}, priority);
  };
  add("low", "== 'whole'", 1);
  Run();
  ASSERT_EQ(NodeOf("low"), "n1");
  add("high", "== 'shared'", 10);
  Run();
  ASSERT_THAT(SentAway(), ElementsAre("low"));
  // It finds one that is free, and the one that is kept comes before that.
  add("beside", "!= 'whole'", 1);
  Run();
  EXPECT_THAT(DevicesOf("beside"), ElementsAre("spare"));
  End("low");
  GiveBack("low");
  for (int i = 0; i < 3; ++i) Run();
  EXPECT_THAT(DevicesOf("high"), ElementsAre("shared"));
}

TEST_F(DevicePreemptionTest, PartitionsGiveTheirCountersBack) {
  town_.Create(MakeNode("n1"));
  town_.Create<api::ResourceSlice>(
      Slice("counters").Pool("n1").Of(2).OnNode("n1").Counters("gpu", {{"slices", "4"}}));
  town_.Create<api::ResourceSlice>(
      Slice("s")
          .Pool("n1")
          .Of(2)
          .OnNode("n1")
          .With(Device("half-0").String("size", "half").Consumes("gpu", {{"slices", "2"}}))
          .With(Device("half-1").String("size", "half").Consumes("gpu", {{"slices", "2"}}))
          .With(Device("whole").String("size", "whole").Consumes("gpu", {{"slices", "4"}})));
  AddPod("low-1", 1, 1);
  AddPod("low-2", 1, 1);
  Run();
  ASSERT_EQ(NodeOf("low-2"), "n1");
  api::ResourceClaim whole = DeviceCluster::GpuClaim("high", 1);
  whole.spec.devices.requests[0].exactly->selectors.push_back(
      {.cel = api::CELDeviceSelector{
           .expression = "device.attributes[\"gpu.example.com\"].size == \"whole\""}});
  town_.Create(std::move(whole));
  AddPodWith("high", {"high"}, 10);
  Run();
  EXPECT_THAT(SentAway(), UnorderedElementsAre("low-1", "low-2"));
  for (const std::string name : {"low-1", "low-2"}) {
    End(name);
    GiveBack(name);
    Run();
  }
  EXPECT_THAT(DevicesOf("high"), ElementsAre("whole"));
}

TEST_F(DevicePreemptionTest, DevicesOfEveryNodeAreGivenBackByPodsOnOtherNodes) {
  town_.Create(MakeNode("n1", "1"));
  town_.Create(MakeNode("n2", "8"));
  town_.Create<api::ResourceSlice>(Slice("s").Pool("fabric").OnAllNodes().With(Device("port-0")));
  AddPod("low", 1, 1, "1");
  Run();
  const std::string there = NodeOf("low");
  // No room beside it where it is, and its device is needed elsewhere.
  AddPod("high", 1, 10, there == "n1" ? "8" : "1");
  if (there == "n2") AddPodWith("filler", {}, 50, "7");
  Run();
  EXPECT_THAT(SentAway(), ElementsAre("low"));
  End("low");
  GiveBack("low");
  Run();
  EXPECT_NE(NodeOf("high"), "");
}

TEST_F(DevicePreemptionTest, AfterARestartTheHoldIsMadeAgainFromTheNominatedNode) {
  town_.AddNode("n1", 1);
  town_.AddNode("n2", 1);
  AddPod("low", 1, 1);
  AddPod("lower", 1, 0);
  Run();
  AddPod("high", 1, 10);
  Run();
  ASSERT_THAT(SentAway(), ElementsAre("lower"));
  Scheduler& second = town_.Restart(WithDevices(true));
  second.Run();
  EXPECT_THAT(SentAway(), ElementsAre("lower"));
  End("lower");
  Run();
  // Between the pod's end and the claim's: the next restart.
  town_.Restart(WithDevices(true)).Run();
  Run();
  EXPECT_THAT(SentAway(), IsEmpty());
  AddPod("equal", 1, 10);
  GiveBack("lower");
  town_.scheduler().Run();
  Run();
  EXPECT_NE(NodeOf("high"), "");
  EXPECT_EQ(NodeOf("equal"), "");
  EXPECT_NE(NodeOf("low"), "gone");
}

TEST_F(DevicePreemptionTest, DevicesWithATaintHelpNobody) {
  town_.Create(MakeNode("n1"));
  town_.Create<api::ResourceSlice>(Slice("s").Pool("n1").OnNode("n1").With(Device("gpu-0")));
  AddPod("low", 1, 1);
  Run();
  ASSERT_EQ(NodeOf("low"), "n1");
  api::ResourceSlice slice = *town_.Find<api::ResourceSlice>("s", "");
  (*slice.spec.devices)[0] = Device("gpu-0").Taint("broken");
  ASSERT_THAT(town_.cluster().Update(api::Object::Of(std::move(slice))), testing::IsOk());
  AddPod("high", 1, 10);
  Run();
  EXPECT_THAT(SentAway(), IsEmpty());
}

TEST_F(DevicePreemptionTest, AdminAccessTakesNothingAndGivesNothingBack) {
  town_.AddNode("n1", 1);
  AddPod("holder", 1, 20);
  api::ResourceClaim admin = DeviceCluster::GpuClaim("admin", 1);
  admin.spec.devices.requests[0].exactly->admin_access = true;
  town_.Create(std::move(admin));
  AddPodWith("admin", {"admin"}, 1);
  Run();
  ASSERT_EQ(NodeOf("admin"), "n1");
  AddPod("high", 1, 10);
  Run();
  EXPECT_THAT(SentAway(), IsEmpty());
}

TEST_F(DevicePreemptionTest, ExtendedResourcesAreGivenBackWithTheirPod) {
  api::DeviceClass named;
  named.metadata.name = "named";
  named.spec.extended_resource_name = "example.com/gpu";
  town_.Create(std::move(named));
  town_.AddNode("n1", 1);
  const auto pod = [&](const std::string& name, std::int32_t priority) {
    api::Pod made = MakePod({.name = name, .priority = priority});
    auto& resources = made.spec.containers.front().resources;
    resources.requests["example.com/gpu"] = testing::ToQuantity("1");
    resources.limits["example.com/gpu"] = testing::ToQuantity("1");
    AddPod(std::move(made));
  };
  pod("low", 1);
  Run();
  ASSERT_EQ(NodeOf("low"), "n1");
  pod("high", 10);
  Run();
  EXPECT_THAT(SentAway(), ElementsAre("low"));
  End("low");
  for (const api::Object& claim :
       town_.cluster().All(DeviceCluster::KindOf<api::ResourceClaim>())) {
    GiveBack(claim.metadata().name);
  }
  Run();
  EXPECT_EQ(NodeOf("high"), "n1");
}

TEST_F(DevicePreemptionTest, WhenThePodGoesWhatWasHeldIsForOthers) {
  town_.AddNode("n1", 1);
  AddPod("low", 1, 1);
  Run();
  town_.Create(DeviceCluster::GpuClaim("high", 1));
  town_.Create(DeviceCluster::WithClaim(MakePod({.name = "high", .priority = 10}), "high"));
  Run();
  End("low");
  GiveBack("low");
  AddPod("equal", 1, 10);
  town_.scheduler().Run();
  ASSERT_EQ(NodeOf("equal"), "");
  ASSERT_THAT(town_.cluster().Delete(DeviceCluster::KindOf<api::Pod>(), "ns", "high"),
              testing::IsOk());
  Run();
  EXPECT_EQ(NodeOf("equal"), "n1");
}

// The room was on a node that is no more.
TEST_F(DevicePreemptionTest, WhenTheNominatedNodeGoesRoomIsMadeOnAnotherOne) {
  town_.AddNode("n1", 1);
  town_.AddNode("n2", 1);
  AddPod("a", 1, 0);
  AddPod("b", 1, 1);
  Run();
  AddPod("high", 1, 10);
  Run();
  ASSERT_THAT(SentAway(), ElementsAre("a"));
  const std::string node = NodeOf("a");
  ASSERT_THAT(town_.cluster().Delete(DeviceCluster::KindOf<api::Node>(), "", node),
              testing::IsOk());
  ASSERT_THAT(
      town_.cluster().Delete(DeviceCluster::KindOf<api::ResourceSlice>(), "", "slice-" + node),
      testing::IsOk());
  Run();
  EXPECT_THAT(SentAway(), UnorderedElementsAre("a", "b"));
  End("b");
  GiveBack("b");
  Run();
  EXPECT_EQ(NodeOf("high"), NodeOf("a") == "n1" ? "n2" : "n1");
  EXPECT_EQ(town_.scheduler().rooms_kept(), 0u);
}

// However long it takes: nobody else goes, and nobody gets the device meanwhile.
TEST_F(DevicePreemptionTest, AVictimThatDoesNotEndIsWaitedFor) {
  town_.AddNode("n1", 1);
  town_.AddNode("n2", 1);
  AddPod("a", 1, 0);
  AddPod("b", 1, 1);
  Run();
  AddPod("high", 1, 10);
  Run();
  ASSERT_THAT(SentAway(), ElementsAre("a"));
  for (int i = 0; i < 60; ++i) {
    town_.clock().Advance(std::chrono::minutes(1));
    Run();
    AddPod("late" + std::to_string(i), 1, 0);
  }
  EXPECT_THAT(SentAway(), ElementsAre("a"));
  EXPECT_EQ(NodeOf("high"), "");
  // When it has given up, those who wait are not kept from anything: only what the victim still has.
  api::Pod high = *town_.Find<api::Pod>("high");
  high.metadata.finalizers.clear();
  ASSERT_THAT(town_.cluster().Update(api::Object::Of(std::move(high))), testing::IsOk());
  ASSERT_THAT(town_.cluster().Delete(DeviceCluster::KindOf<api::Pod>(), "ns", "high"),
              testing::IsOk());
  Run();
  EXPECT_EQ(town_.scheduler().rooms_kept(), 0u);
  End("a");
  GiveBack("a");
  Run();
  int bound = 0;
  for (int i = 0; i < 60; ++i) bound += NodeOf("late" + std::to_string(i)).empty() ? 0 : 1;
  EXPECT_EQ(bound, 1);
}

// Who names a claim that is not there is not tried, and nothing that happens wakes him: what was kept for him would be
// kept for ever. Found by test/system.
TEST_F(DevicePreemptionTest, ForAPodWhoseClaimHasGoneNothingIsKept) {
  town_.AddNode("n1", 1);
  AddPod("low", 1, 1);
  Run();
  AddPod("high", 1, 10);
  Run();
  ASSERT_EQ(town_.scheduler().rooms_kept(), 1u);
  const auto delete_claim = [&] {
    ASSERT_THAT(town_.cluster().Delete(DeviceCluster::KindOf<api::ResourceClaim>(), "ns", "high"),
                testing::IsOk());
  };
  End("low");
  GiveBack("low");
  delete_claim();
  AddPod("equal", 1, 10);
  Run();
  EXPECT_EQ(NodeOf("equal"), "n1");
  EXPECT_EQ(town_.scheduler().rooms_kept(), 0u);
  EXPECT_EQ(town_.scheduler().queue().Where("ns/high"), QueueName::kGated);
  // With another claim it is tried again.
  town_.Create(DeviceCluster::GpuClaim("high", 1));
  Run();
  EXPECT_EQ(NodeOf("high"), "");
  EXPECT_NE(town_.scheduler().queue().Where("ns/high"), QueueName::kGated);
  EXPECT_EQ(town_.scheduler().rooms_kept(), 0u);
}

// Nor while others are still leaving for him; and where there is a claim again before the room is another's, he has it.
TEST_F(DevicePreemptionTest, APodThatHasItsClaimAgainHasItsRoomAgain) {
  town_.AddNode("n1", 1);
  AddPod("low", 1, 1);
  Run();
  AddPod("high", 1, 10);
  Run();
  ASSERT_THAT(town_.cluster().Delete(DeviceCluster::KindOf<api::ResourceClaim>(), "ns", "high"),
              testing::IsOk());
  Run();
  EXPECT_EQ(town_.scheduler().rooms_kept(), 0u);
  EXPECT_TRUE(town_.scheduler().world().holds().empty());
  town_.Create(DeviceCluster::GpuClaim("high", 1));
  Run();
  EXPECT_EQ(town_.scheduler().rooms_kept(), 1u);
  EXPECT_FALSE(town_.scheduler().world().holds().empty());
  AddPod("equal", 1, 10);
  End("low");
  GiveBack("low");
  Run();
  EXPECT_EQ(NodeOf("high"), "n1");
  EXPECT_EQ(NodeOf("equal"), "");
  EXPECT_THAT(SentAway(), IsEmpty());
}

// A fabric can be used on every node: what is kept of it for a pod whose node has gone is for others.
TEST_F(DevicePreemptionTest, OnANodeThatHasGoneNothingIsKept) {
  town_.AddNode("n1", 0);
  town_.Create<api::ResourceSlice>(
      Slice("fabric").Pool("fabric").OnAllNodes().With(Device("channel")));
  AddPod("low", 1, 1);
  Run();
  ASSERT_EQ(NodeOf("low"), "n1");
  AddPod("high", 1, 10);
  Run();
  ASSERT_EQ(town_.Find<api::Pod>("high")->status.nominated_node_name, "n1");
  ASSERT_THAT(town_.cluster().Delete(DeviceCluster::KindOf<api::Node>(), "", "n1"),
              testing::IsOk());
  Run();
  EXPECT_EQ(town_.Find<api::Pod>("high")->status.nominated_node_name, "");
  EXPECT_EQ(town_.scheduler().rooms_kept(), 0u);
  EXPECT_TRUE(town_.scheduler().world().holds().empty());
}

// Nor on one that takes nobody any more, once whoever was sent away has gone.
TEST_F(DevicePreemptionTest, OnANodeThatTakesNobodyNothingIsKept) {
  town_.AddNode("n1", 0);
  town_.AddNode("n2", 0, "1");
  town_.Create<api::ResourceSlice>(
      Slice("fabric").Pool("fabric").OnAllNodes().With(Device("channel")));
  AddPod("low", 1, 1);
  Run();
  AddPod("high", 1, 10, "4");
  Run();
  ASSERT_EQ(town_.Find<api::Pod>("high")->status.nominated_node_name, "n1");
  api::Node node = *town_.Find<api::Node>("n1", "");
  node.spec.unschedulable = true;
  ASSERT_THAT(town_.cluster().Update(api::Object::Of(std::move(node))), testing::IsOk());
  Run();
  ASSERT_EQ(town_.scheduler().rooms_kept(), 1u);
  End("low");
  GiveBack("low");
  AddPod("equal", 1, 10);
  Run();
  Run();
  EXPECT_EQ(town_.scheduler().rooms_kept(), 0u);
  EXPECT_EQ(NodeOf("equal"), "n2");
}

// Written by hand, without the finalizer: whoever goes, nobody gives these devices back.
TEST_F(DevicePreemptionTest, WhoHasDevicesThatNobodyGivesBackStays) {
  town_.AddNode("n1", 1);
  town_.AddNode("n2", 1);
  AddPod("a", 1, 0);
  AddPod("b", 1, 1);
  Run();
  ASSERT_NE(NodeOf("a"), "");
  api::ResourceClaim claim = *town_.Find<api::ResourceClaim>("a");
  claim.metadata.finalizers.clear();
  ASSERT_THAT(town_.cluster().Update(api::Object::Of(std::move(claim))), testing::IsOk());
  AddPod("high", 1, 10);
  Run();
  EXPECT_THAT(SentAway(), ElementsAre("b"));
}

// As many candidates as Kubernetes looks at, and of each as many questions as its victims need.
TEST_F(DevicePreemptionTest, AFullClusterIsSearchedInAFewStepsANode) {
  constexpr int kNodes = 300;
  for (int i = 0; i < kNodes; ++i) {
    const std::string node = "n" + std::to_string(1000 + i);
    town_.AddNode(node, 4);
    for (int d = 0; d < 4; ++d) {
      const std::string name = node + "-" + std::to_string(d);
      api::ResourceClaim claim = DeviceCluster::GpuClaim(name, 1);
      claim.metadata.uid = "uid-claim-" + name;
      claim.metadata.finalizers.emplace_back(api::kClaimFinalizer);
      claim.status.allocation.emplace();
      claim.status.allocation->devices.results.push_back({.request = "gpus",
                                                          .driver = std::string(testing::kDriver),
                                                          .pool = node,
                                                          .device = "gpu-" + std::to_string(d)});
      claim.status.reserved_for.push_back({.resource = "pods", .name = name, .uid = "uid-" + name});
      api::Pod pod = DeviceCluster::WithClaim(
          MakePod({.name = name, .node = node, .priority = (i + d) % 4}), name);
      ASSERT_THAT(town_.cluster().Load(
                      {api::Object::Of(std::move(claim)), api::Object::Of(std::move(pod))}),
                  testing::IsOk());
    }
  }
  town_.scheduler().Run();
  const std::uint64_t before = town_.scheduler().statistics().allocator_steps;
  AddPod("high", 2, 10);
  town_.scheduler().Run();
  EXPECT_THAT(SentAway(), IsEmpty());  // they have no finalizers, and are gone
  EXPECT_EQ(town_.scheduler().rooms_kept(), 1u);
  const std::uint64_t steps = town_.scheduler().statistics().allocator_steps - before;
  // Every node once, then 100 candidates with some questions of two devices each.
  EXPECT_LT(steps, kNodes + 100 * 20);
}

}  // namespace
}  // namespace dray::scheduler
