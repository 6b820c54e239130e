// SPDX-License-Identifier: Apache-2.0
//
// What is written about claims when something goes wrong, and binding conditions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "api/event.h"
#include "scheduler/cycle_data.h"
#include "scheduler/plugins/dynamic_resources_test_support.h"

namespace dray::scheduler::scenes {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Lets the writes of one verb on claims fail, the first `count` of them.
api::MemoryCluster::WriteHook FailClaims(api::Verb verb, Status status, int count = 1000) {
  auto left = std::make_shared<int>(count);
  return [=](api::Verb wanted, const api::Object& object) -> Status {
    if (wanted != verb || object.As<api::ResourceClaim>() == nullptr) return {};
    return (*left)-- > 0 ? status : Status();
  };
}
Status Moved() { return base::MakeStatus(StatusCode::kAborted, "the resourceVersion moved"); }
Status Down() { return base::Unavailable("the server is down"); }

Scene& Prepare(Scene& scene) {
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + PodYaml("p", {"a"}));
  return scene;
}

struct WriteCase {
  std::string name;
  api::Verb verb;
  bool conflict = false;
  int count = 1000;
  std::string said;
  std::string devices;
  friend void PrintTo(const WriteCase& c, std::ostream* os) { *os << c.name; }
};
class ClaimWriteTest : public ::testing::TestWithParam<WriteCase> {};

TEST_P(ClaimWriteTest, ThatFailsLeavesNothingTaken) {
  Scene scene;
  Prepare(scene);
  const WriteCase& c = GetParam();
  scene.cluster_.SetWriteHook(FailClaims(c.verb, c.conflict ? Moved() : Down(), c.count));
  EXPECT_EQ(scene.Schedule("p"), c.said);
  EXPECT_EQ(DevicesOf(scene.Find<api::ResourceClaim>("a").get()), c.devices);
  // Whatever happened, the next attempt succeeds, with the first device.
  scene.cluster_.SetWriteHook({});
  if (scene.Pod("p")->pod->spec.node_name.empty()) {
    EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  }
  EXPECT_EQ(DevicesOf(scene.Find<api::ResourceClaim>("a").get()), "n1-gpu-0");
}
INSTANTIATE_TEST_SUITE_P(
    PreBind, ClaimWriteTest,
    ::testing::ValuesIn(std::vector<WriteCase>{
        {.name = "finalizer_fails",
         .verb = api::Verb::kUpdate,
         .said = "Reserve or PreBind error: add finalizer to claim default/a: the server is down",
         .devices = "not allocated"},
        {.name = "status_fails",
         .verb = api::Verb::kUpdateStatus,
         .said = "Reserve or PreBind error: add allocation and reservation to claim default/a: the "
                 "server is down",
         .devices = "not allocated"},
        {.name = "finalizer_conflicts_once",
         .verb = api::Verb::kUpdate,
         .conflict = true,
         .count = 1,
         .said = "bound to n1",
         .devices = "n1-gpu-0"},
        {.name = "status_conflicts_four_times",
         .verb = api::Verb::kUpdateStatus,
         .conflict = true,
         .count = 4,
         .said = "bound to n1",
         .devices = "n1-gpu-0"},
        {.name = "status_conflicts_for_ever",
         .verb = api::Verb::kUpdateStatus,
         .conflict = true,
         .said = "Reserve or PreBind error: add allocation and reservation to claim default/a: the "
                 "resourceVersion moved",
         .devices = "not allocated"},
    }),
    [](const auto& info) { return info.param.name; });

// Somebody changes the claim between Reserve and PreBind.
struct MeantimeCase {
  std::string name;
  std::function<void(Scene&)> meanwhile;
  std::string said;
  friend void PrintTo(const MeantimeCase& c, std::ostream* os) { *os << c.name; }
};
class InTheMeantimeTest : public ::testing::TestWithParam<MeantimeCase> {};

TEST_P(InTheMeantimeTest, TheStoredClaimDecides) {
  Scene scene;
  Prepare(scene);
  Cycle cycle = scene.Start("p");
  EXPECT_EQ(scene.PreFilter(cycle), "ok");
  EXPECT_EQ(scene.Reserve(cycle, "n1"), "ok");
  GetParam().meanwhile(scene);
  EXPECT_EQ(scene.PreBind(cycle, "n1"), GetParam().said);
}

void Store(Scene& scene, const std::function<void(api::ResourceClaim&)>& change, bool status) {
  api::ResourceClaim changed = *scene.Find<api::ResourceClaim>("a");
  change(changed);
  auto object = api::Object::Of(std::move(changed));
  const auto stored = status ? scene.cluster_.UpdateStatus(object) : scene.cluster_.Update(object);
  ASSERT_TRUE(stored.ok()) << stored.status().message();
}
INSTANTIATE_TEST_SUITE_P(
    PreBind, InTheMeantimeTest,
    ::testing::ValuesIn(std::vector<MeantimeCase>{
        {.name = "a_label_does_not_matter",
         .meanwhile =
             [](Scene& scene) {
               Store(
                   scene, [](auto& claim) { claim.metadata.labels["x"] = "y"; }, false);
             },
         .said = "ok"},
        {.name = "gone",
         .meanwhile =
             [](Scene& scene) {
               ASSERT_TRUE(
                   scene.cluster_.Delete(KindOf<api::ResourceClaim>(), "default", "a").ok());
             },
         .said = "error: add finalizer to claim default/a: ResourceClaim \"default/a\" not found"},
        {.name = "being_deleted",
         .meanwhile =
             [](Scene& scene) {
               Store(
                   scene, [](auto& claim) { claim.metadata.finalizers = {"x.io/y"}; }, false);
               ASSERT_TRUE(
                   scene.cluster_.Delete(KindOf<api::ResourceClaim>(), "default", "a").ok());
             },
         .said = "error: claim default/a got deleted in the meantime"},
        {.name = "allocated",
         .meanwhile =
             [](Scene& scene) {
               Store(
                   scene,
                   [](auto& claim) {
                     claim.status.allocation.emplace().devices.results.push_back(
                         {.request = "r",
                          .driver = "gpu.example.com",
                          .pool = "n2",
                          .device = "n2-gpu-0"});
                   },
                   true);
             },
         .said = "error: claim default/a got allocated elsewhere in the meantime"},
    }),
    [](const auto& info) { return info.param.name; });

// Answers that are lost, or are those to a request that was sent twice: the write stands.
class LostAnswerTest : public ::testing::TestWithParam<StatusCode> {};

TEST_P(LostAnswerTest, OnesOwnAllocationIsRecognised) {
  for (const api::Verb verb : {api::Verb::kUpdate, api::Verb::kUpdateStatus}) {
    Scene scene;
    Prepare(scene);
    scene.Load(ClaimYaml("b") + PodYaml("q", {"b"}));
    scene.cluster_.SetAnswerHook(FailClaims(verb, base::MakeStatus(GetParam(), "lost"), 1));
    EXPECT_EQ(scene.Schedule("p"), "bound to n1");
    EXPECT_EQ(DevicesOf(scene.Find<api::ResourceClaim>("a").get()), "n1-gpu-0");
    EXPECT_EQ(scene.Schedule("q"), "bound to n1");
    EXPECT_EQ(DevicesOf(scene.Find<api::ResourceClaim>("b").get()), "n1-gpu-1");
  }
}
INSTANTIATE_TEST_SUITE_P(PreBind, LostAnswerTest,
                         ::testing::Values(StatusCode::kUnknown, StatusCode::kAborted));

// The answer is lost and nothing can be read: until it can, nobody gets the devices.
TEST(PreBind, WhatMayHaveBeenStoredStaysTakenUntilTheClaimHasBeenRead) {
  for (const bool stored : {true, false}) {
    SCOPED_TRACE(stored);
    Scene scene;
    Prepare(scene);
    scene.Load(ClaimYaml("b") + PodYaml("q", {"b"}));
    Cycle cycle = scene.Start("p");
    ASSERT_EQ(scene.PreFilter(cycle), "ok");
    ASSERT_EQ(scene.Filter(cycle, "n1"), "ok");
    ASSERT_EQ(scene.Reserve(cycle, "n1"), "ok");
    const Status lost = api::OutcomeUnknown("the answer was lost");
    auto hook = FailClaims(api::Verb::kUpdateStatus, lost);
    stored ? scene.cluster_.SetAnswerHook(hook) : scene.cluster_.SetWriteHook(hook);
    scene.cluster_.SetReadHook([](const api::KindInfo&) { return base::Unavailable("away"); });
    // The watch does not tell either: nothing is synced.
    EXPECT_EQ(scene.PreBind(cycle, "n1"), "wait");
    EXPECT_TRUE(cycle.state.Get<WaitsUntil>().in_doubt);
    scene.cluster_.SetWriteHook({});
    scene.cluster_.SetAnswerHook({});
    scene.cluster_.SetReadHook({});
    Cycle other = scene.Start("q");
    ASSERT_EQ(scene.PreFilter(other), "ok");
    ASSERT_EQ(scene.Filter(other, "n1"), "ok");
    ASSERT_EQ(scene.Reserve(other, "n1"), "ok");
    ASSERT_EQ(scene.PreBind(other, "n1"), "ok");
    EXPECT_EQ(DevicesOf(scene.Find<api::ResourceClaim>("b").get()), "n1-gpu-1");
    EXPECT_EQ(scene.PreBind(cycle, "n1"), "ok");
    EXPECT_EQ(DevicesOf(scene.Find<api::ResourceClaim>("a").get()), "n1-gpu-0");
  }
}

// The answer is lost, the claim is given back, and its devices go to somebody else, all before the
// claim can be read: the allocation must not be written a second time.
TEST(PreBind, WhatWasStoredAndGivenBackIsNotStoredAgain) {
  Scene scene;
  Prepare(scene);
  scene.Load(ClaimYaml("b") + PodYaml("q", {"b"}));
  Cycle cycle = scene.Start("p");
  ASSERT_EQ(scene.PreFilter(cycle), "ok");
  ASSERT_EQ(scene.Filter(cycle, "n1"), "ok");
  ASSERT_EQ(scene.Reserve(cycle, "n1"), "ok");
  scene.cluster_.SetAnswerHook(
      FailClaims(api::Verb::kUpdateStatus, api::OutcomeUnknown("the answer was lost")));
  scene.cluster_.SetReadHook([](const api::KindInfo&) { return base::Unavailable("away"); });
  ASSERT_EQ(scene.PreBind(cycle, "n1"), "wait");
  scene.cluster_.SetAnswerHook({});
  scene.cluster_.SetReadHook({});
  scene.Sync();
  Store(
      scene, [](auto& claim) { claim.status = {}; }, true);
  scene.Sync();
  ASSERT_EQ(scene.Schedule("q"), "bound to n1");
  ASSERT_EQ(DevicesOf(scene.Find<api::ResourceClaim>("b").get()), "n1-gpu-0");
  EXPECT_EQ(scene.PreBind(cycle, "n1"),
            "error: claim default/a got allocated and deallocated again in the meantime");
  EXPECT_FALSE(scene.Find<api::ResourceClaim>("a")->status.allocation.has_value());
  scene.Unreserve(cycle);
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  EXPECT_EQ(DevicesOf(scene.Find<api::ResourceClaim>("a").get()), "n1-gpu-1");
}

// A reservation that was taken away is not relied upon, although the watch has not told yet.
TEST(PreBind, AReservationThatWasTakenAwayIsMadeAgain) {
  Scene scene;
  Prepare(scene);
  scene.Load(PodYaml("q", {"a"}));
  ASSERT_EQ(scene.Schedule("q"), "bound to n1");
  Cycle first = scene.Start("p");
  ASSERT_EQ(scene.PreFilter(first), "ok");
  ASSERT_EQ(scene.Reserve(first, "n1"), "ok");
  ASSERT_EQ(scene.PreBind(first, "n1"), "ok");
  scene.Sync();
  Cycle second = scene.Start("p");
  ASSERT_EQ(scene.PreFilter(second), "ok");
  ASSERT_EQ(scene.Reserve(second, "n1"), "ok");
  scene.Unreserve(first);
  EXPECT_EQ(scene.Find<api::ResourceClaim>("a")->status.reserved_for.size(), 1U);
  EXPECT_EQ(scene.PreBind(second, "n1"), "ok");
  EXPECT_EQ(scene.Find<api::ResourceClaim>("a")->status.reserved_for.size(), 2U);
}

// Nor are devices.
TEST(PreBind, DevicesThatWereGivenBackAreNotReliedUpon) {
  Scene scene;
  Prepare(scene);
  Cycle first = scene.Start("p");
  ASSERT_EQ(scene.PreFilter(first), "ok");
  ASSERT_EQ(scene.Reserve(first, "n1"), "ok");
  ASSERT_EQ(scene.PreBind(first, "n1"), "ok");
  scene.Sync();
  Cycle second = scene.Start("p");
  ASSERT_EQ(scene.PreFilter(second), "ok");
  ASSERT_EQ(scene.Reserve(second, "n1"), "ok");
  scene.Unreserve(first);
  EXPECT_EQ(scene.PreBind(second, "n1"),
            "error: claim default/a got deallocated elsewhere in the meantime");
  scene.Unreserve(second);
  scene.Sync();
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
}

// Somebody else decides, too: what he has stored goes before what is only reserved here.
TEST(PreBind, ADeviceThatAnotherSchedulerWasFasterToGiveIsNotGivenAgain) {
  Scene scene;
  Prepare(scene);
  scene.Load(ClaimYaml("b") + PodYaml("q", {"b"}));
  Scene theirs({}, 7);
  theirs.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("b") + PodYaml("q", {"b"}));
  ASSERT_EQ(theirs.Schedule("q"), "bound to n1");
  const auto given = theirs.Find<api::ResourceClaim>("b")->status.allocation;
  Cycle cycle = scene.Start("p");
  ASSERT_EQ(scene.PreFilter(cycle), "ok");
  ASSERT_EQ(scene.Reserve(cycle, "n1"), "ok");
  scene.Change("b", [&](api::ResourceClaim& claim) { claim.status.allocation = given; });
  EXPECT_EQ(scene.PreBind(cycle, "n1"),
            "error: claim default/a: device gpu.example.com/n1/n1-gpu-0 got allocated to default/b "
            "in the meantime");
  scene.Unreserve(cycle);
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  EXPECT_EQ(DevicesOf(scene.Find<api::ResourceClaim>("a").get()), "n1-gpu-1");
}

TEST(PreBind, AClaimThatGotDeallocatedCannotBeReserved) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + PodYaml("p", {"a"}) +
             PodYaml("q", {"a"}));
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  Cycle cycle = scene.Start("q");
  EXPECT_EQ(scene.PreFilter(cycle), "ok");
  EXPECT_EQ(scene.Reserve(cycle, "n1"), "ok");
  Store(
      scene, [](auto& claim) { claim.status = {}; }, true);
  EXPECT_EQ(scene.PreBind(cycle, "n1"),
            "error: claim default/a got deallocated elsewhere in the meantime");
}

TEST(PreBind, ReservingAnAllocatedClaimKeepsWhatDriversSaidOfTheDevices) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + PodYaml("p", {"a"}) +
             PodYaml("q", {"a"}));
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  scene.Change("a", [](api::ResourceClaim& claim) {
    api::AllocatedDeviceStatus& status = claim.status.devices.emplace_back();
    status.driver = "gpu.example.com";
    status.pool = "n1";
    status.device = "n1-gpu-0";
  });
  EXPECT_EQ(scene.Schedule("q"), "bound to n1");
  EXPECT_EQ(scene.Find<api::ResourceClaim>("a")->status.devices.size(), 1U);
}

// As stored the allocation would be of the whole device, which others have shares of.
TEST(PreBind, AnAllocationWhoseShareTheServerDropsIsGivenBack) {
  api::FeatureGates server;
  server.Set(api::Gate::kDRAConsumableCapacity, false);
  server.Set(api::Gate::kDRAFractionalCapacityRange, false);
  Scene scene({}, 1, server);
  scene.Load(R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0, allowMultipleAllocations: true, capacity: {memory: {value: 8Gi}}}]
---
)" + ClaimYaml("a") +
             PodYaml("p", {"a"}));
  EXPECT_THAT(scene.Schedule("p"),
              HasSubstr("error: add allocation and reservation to claim default/a: the server "
                        "dropped shares"));
  EXPECT_FALSE(scene.Find<api::ResourceClaim>("a")->status.allocation.has_value());
  EXPECT_THAT(scene.Find<api::ResourceClaim>("a")->status.reserved_for, ::testing::IsEmpty());
}

// One GPU that has to be attached first.
constexpr std::string_view kAttached = R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1}
spec:
  driver: gpu.example.com
  allNodes: true
  pool: {name: fabric, generation: 1, resourceSliceCount: 1}
  devices:
  - name: gpu-0
    bindsToNode: true
    bindingConditions: [example.com/Attached]
    bindingFailureConditions: [example.com/AttachFailed]
---
)";

class BindingConditions : public ::testing::Test {
 protected:
  void SetUp() override {
    scene_.Load(std::string(kAttached) + ClaimYaml("a") + PodYaml("p", {"a"}));
    cycle_ = scene_.Start("p");
    ASSERT_EQ(scene_.PreFilter(cycle_), "ok");
    ASSERT_EQ(scene_.Filter(cycle_, "n1"), "ok");
    ASSERT_EQ(scene_.Reserve(cycle_, "n1"), "ok");
    ASSERT_EQ(scene_.PreBind(cycle_, "n1"), "wait");
    scene_.Sync();
  }
  void SetCondition(std::string_view type) {
    scene_.Change("a", [&](api::ResourceClaim& claim) {
      api::AllocatedDeviceStatus& status = claim.status.devices.emplace_back();
      status.driver = "gpu.example.com";
      status.pool = "fabric";
      status.device = "gpu-0";
      status.conditions.push_back({.type = std::string(type),
                                   .status = "True",
                                   .last_transition_time = scene_.clock_.Now(),
                                   .reason = "Cable",
                                   .message = "unplugged"});
    });
  }

  Scene scene_;
  Cycle cycle_;
};

TEST_F(BindingConditions, ThePodIsBoundWhenTheyAreTrue) {
  EXPECT_EQ(scene_.PreBind(cycle_, "n1"), "wait");
  SetCondition("example.com/Attached");
  EXPECT_EQ(scene_.PreBind(cycle_, "n1"), "ok");
  EXPECT_EQ(scene_.Find<api::ResourceClaim>("a")->status.reserved_for.size(), 1U);
  const auto events = scene_.cluster_.All(KindOf<api::Event>());
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].As<api::Event>()->reason, "BindingConditionsPending");
}

TEST_F(BindingConditions, AFailureGivesTheDeviceBack) {
  SetCondition("example.com/AttachFailed");
  EXPECT_EQ(scene_.PreBind(cycle_, "n1"),
            "error: device binding failed: claim=a, reason=Cable, message=\"unplugged\"");
  scene_.Unreserve(cycle_);
  scene_.Sync();
  const auto claim = scene_.Find<api::ResourceClaim>("a");
  EXPECT_EQ(DevicesOf(claim.get()), "not allocated");
  EXPECT_THAT(claim->status.devices, IsEmpty());
  EXPECT_THAT(claim->status.reserved_for, IsEmpty());
}

TEST_F(BindingConditions, AFailureWhoseDeviceCannotBeGivenBackAtOnceIsDoneByTheNextAttempt) {
  SetCondition("example.com/AttachFailed");
  EXPECT_THAT(scene_.PreBind(cycle_, "n1"), HasSubstr("error: device binding failed"));
  scene_.cluster_.SetWriteHook(FailClaims(api::Verb::kUpdateStatus, Down()));
  scene_.Unreserve(cycle_);
  scene_.cluster_.SetWriteHook({});
  scene_.Sync();
  EXPECT_EQ(DevicesOf(scene_.Find<api::ResourceClaim>("a").get()), "gpu-0");
  EXPECT_EQ(scene_.Schedule("p"),
            "Filter unresolvable: resourceclaim not available on the node; PostFilter "
            "unschedulable: deallocation of ResourceClaim completed");
  const auto claim = scene_.Find<api::ResourceClaim>("a");
  EXPECT_EQ(DevicesOf(claim.get()), "not allocated");
  EXPECT_THAT(claim->status.devices, IsEmpty());
}

TEST_F(BindingConditions, TimeOutCountsFromTheAllocation) {
  scene_.clock_.Advance(std::chrono::seconds(600));
  EXPECT_EQ(scene_.PreBind(cycle_, "n1"), "wait");
  scene_.clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(scene_.PreBind(cycle_, "n1"), "error: device binding timeout: claim=a");
  scene_.Unreserve(cycle_);
  scene_.Sync();
  Cycle again = scene_.Start("p");
  EXPECT_EQ(scene_.PreFilter(again), "ok");
  EXPECT_EQ(scene_.Filter(again, "n1"), "ok");
}

// Allocated with the feature off: the allocation does not say when, and it can never be told.
TEST_F(BindingConditions, TimeOutOfAnAllocationWithoutATimeCountsFromTheWait) {
  api::ResourceClaim claim = *scene_.Find<api::ResourceClaim>("a");
  claim.status.allocation->allocation_timestamp.reset();
  claim.status.reserved_for.clear();
  Scene scene({}, 2);
  scene.Load(std::string(kAttached) + PodYaml("p", {"a"}));
  ASSERT_TRUE(scene.cluster_.Load({api::Object::Of(claim)}).ok());
  scene.Sync();
  Cycle cycle = scene.Start("p");
  ASSERT_EQ(scene.PreFilter(cycle), "ok");
  ASSERT_EQ(scene.Filter(cycle, "n1"), "ok");
  ASSERT_EQ(scene.Reserve(cycle, "n1"), "ok");
  EXPECT_EQ(scene.PreBind(cycle, "n1"), "wait");
  EXPECT_EQ(scene.Find<api::ResourceClaim>("a")->status.reserved_for.size(), 1U);
  scene.clock_.Advance(std::chrono::seconds(600));
  EXPECT_EQ(scene.PreBind(cycle, "n1"), "wait");
  scene.clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(scene.PreBind(cycle, "n1"), "error: device binding timeout: claim=a");
}

TEST_F(BindingConditions, AClaimThatIsDeallocatedMeanwhileEndsTheWait) {
  scene_.Change("a", [](api::ResourceClaim& claim) { claim.status = {}; });
  EXPECT_EQ(scene_.PreBind(cycle_, "n1"),
            "error: claim default/a got deallocated elsewhere in the meantime");
}

}  // namespace
}  // namespace dray::scheduler::scenes
