// SPDX-License-Identifier: Apache-2.0
//
// Pods whose binding waits, room that is made or left, and whom that wakes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/namespace.h"
#include "scheduler/scheduler_fixture_for_test.h"

namespace dray::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using Kind = Outcome::Kind;

class WaitingTest : public SchedulerTest {
 protected:
  // "p" has node "a" and waits.
  void Wait() {
    Create(MakeNode("a", "1"));
    Create(MakePod({.name = "p"}));
    first_.pre_bind = [this](const PodInfo&) { return answer_; };
    const std::vector<Outcome> outcomes = Start().Run();
    ASSERT_EQ(outcomes.size(), 1u);
    EXPECT_EQ(outcomes.front().kind, Kind::kWaiting);
    EXPECT_EQ(outcomes.front().node, "a");
  }
  PluginStatus answer_{.code = PluginStatus::Code::kWait, .reasons = {}};
};

TEST_F(WaitingTest, KeepsItsPlaceAndGoesOnWhenItMay) {
  Wait();
  Create(MakePod({.name = "q"}));
  EXPECT_EQ(scheduler_->Run().front().kind, Kind::kUnschedulable);
  EXPECT_TRUE(scheduler_->NextDue().has_value());
  answer_ = PluginStatus::Success();
  const std::vector<Outcome> outcomes = scheduler_->Tick();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes.front().kind, Kind::kBound);
  EXPECT_EQ(Stored("p").spec.node_name, "a");
}

TEST_F(WaitingTest, GoesOnAfterAnyChange) {
  Wait();
  answer_ = PluginStatus::Success();
  EXPECT_THAT(scheduler_->Run(), IsEmpty());
  Create(MakeNode("b", "0"));
  EXPECT_THAT(Nodes(scheduler_->Run()), ElementsAre("ns/p a"));
}

TEST_F(WaitingTest, IsAskedAgainAtTheTimeThatItSays) {
  first_.waits_until = clock_.Now() + std::chrono::seconds(30);
  Wait();
  EXPECT_EQ(scheduler_->NextDue(), clock_.Monotonic() + std::chrono::seconds(30));
  answer_ = PluginStatus::Success();
  clock_.Advance(std::chrono::seconds(29));
  EXPECT_THAT(scheduler_->Run(), IsEmpty());
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_THAT(Nodes(scheduler_->Run()), ElementsAre("ns/p a"));
}

TEST_F(WaitingTest, GivesItsPlaceBackWhenItFails) {
  Wait();
  answer_ = PluginStatus::Unschedulable({.code = "x", .text = "device binding timeout"});
  const std::vector<Outcome> outcomes = scheduler_->Tick();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes.front().kind, Kind::kUnschedulable);
  EXPECT_EQ(scheduler_->world().FindNode("a")->requested, Resources());
  EXPECT_EQ(calls_.back(), "First unreserve");
}

TEST_F(WaitingTest, GivesItsPlaceBackWhenThePodIsDeleted) {
  Wait();
  ASSERT_THAT(cluster_.Delete(KindOf<api::Pod>(), "ns", "p"), IsOk());
  EXPECT_THAT(scheduler_->Run(), IsEmpty());
  EXPECT_EQ(calls_.back(), "First unreserve");
  EXPECT_EQ(scheduler_->world().FindNode("a")->requested, Resources());
  Create(MakePod({.name = "q"}));
  EXPECT_THAT(Nodes(scheduler_->Run()), ElementsAre("ns/q a"));
}

TEST_F(WaitingTest, GivesItsPlaceBackWhenTheNodeGoes) {
  Wait();
  Create(MakeNode("b", "1"));
  ASSERT_THAT(cluster_.Delete(KindOf<api::Node>(), "", "a"), IsOk());
  answer_ = PluginStatus::Success();
  const std::vector<Outcome> outcomes = scheduler_->Run();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes.front().message, "node a is gone");
  EXPECT_EQ(Stored("p").spec.node_name, "");
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_THAT(Nodes(scheduler_->Run()), ElementsAre("ns/p b"));
}

TEST_F(WaitingTest, GivesItsPlaceBackWhenSomebodyElseBindsThePod) {
  Wait();
  Create(MakeNode("b"));
  ASSERT_THAT(cluster_.Bind("ns", "p", "", "b"), IsOk());
  scheduler_->Run();
  EXPECT_EQ(calls_.back(), "First unreserve");
  EXPECT_EQ(scheduler_->world().FindNode("a")->requested, Resources());
  EXPECT_EQ(scheduler_->world().FindNode("b")->requested.milli_cpu, 1000);
}

TEST_F(SchedulerTest, ABindingThatFailsNamesTheNode) {
  Create(MakeNode("a"));
  Create(MakePod({.name = "p"}));
  cluster_.SetWriteHook([](api::Verb verb, const api::Object&) -> Status {
    if (verb != api::Verb::kBind) return {};
    return base::Unavailable("the server is away");
  });
  const std::vector<Outcome> outcomes = Start().Run();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes.front().kind, Kind::kError);
  EXPECT_EQ(outcomes.front().message, "binding to a: the server is away");
}

TEST_F(SchedulerTest, APodThatDidNotGetToItsNodeLeavesRoomForWhoWaits) {
  Create(MakeNode("a", "1"));
  Create(MakePod({.name = "p", .priority = 1}));
  Create(MakePod({.name = "q"}));
  first_.pre_bind = [](const PodInfo& pod) {
    if (pod.key == "ns/q") return PluginStatus::Success();
    return PluginStatus{.code = PluginStatus::Code::kWait};
  };
  Start().Run();
  EXPECT_EQ(scheduler_->queue().Where("ns/q"), QueueName::kUnschedulable);
  first_.pre_bind = [](const PodInfo& pod) {
    if (pod.key == "ns/q") return PluginStatus::Success();
    return PluginStatus::Error("the server is away");
  };
  scheduler_->Tick();
  EXPECT_EQ(scheduler_->queue().Where("ns/q"), QueueName::kBackoff);
}

class RoomTest : public SchedulerTest {
 protected:
  // "high" has the one node "a" cleared of "victim".
  void HighTakesTheNodeOfVictim() {
    Create(MakeNode("a", "2"));
    Create(MakePod({.name = "victim", .node = "a", .cpu = "2"}));
    Create(MakePod({.name = "high", .cpu = "2", .priority = 10}));
    first_.post_filter = [&](const PodInfo& pod) -> PostFilterResult {
      if (pod.priority < 10) return {.status = {.code = PluginStatus::Code::kUnschedulable}};
      static_cast<void>(cluster_.Delete(KindOf<api::Pod>(), "ns", "victim"));
      return {.status = PluginStatus::Success(), .nominated_node = "a"};
    };
  }
};

TEST_F(SchedulerTest, RoomThatCouldNotBeMadeIsTriedAgainByItself) {
  Create(MakeNode("a", "1"));
  Create(MakePod({.name = "p", .cpu = "2"}));
  first_.post_filter = [](const PodInfo&) -> PostFilterResult {
    return {.status = PluginStatus::Error("the server is away")};
  };
  Start().Run();
  EXPECT_EQ(scheduler_->queue().Where("ns/p"), QueueName::kBackoff);
}

TEST_F(RoomTest, ThatIsMadeForAPodIsNotGivenToALesserOne) {
  HighTakesTheNodeOfVictim();
  Start().Run();
  EXPECT_EQ(Stored("high").status.nominated_node_name, "a");
  Create(MakePod({.name = "low", .cpu = "2", .priority = 1}));
  const std::vector<Outcome> low = scheduler_->Run();
  ASSERT_EQ(low.size(), 1u);
  EXPECT_EQ(low.front().kind, Kind::kUnschedulable);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_THAT(Nodes(scheduler_->Run()), ElementsAre("ns/high a"));
}

TEST_F(SchedulerTest, RoomThatIsMadeForAPodIsNotGivenToAnEqualOne) {
  Create(MakeNode("a", "5"));
  api::Pod victim = MakePod({.name = "victim", .node = "a", .cpu = "2", .priority = -1});
  victim.metadata.deletion_timestamp = clock_.Now();
  api::Pod first = MakePod({.name = "first", .cpu = "2"});
  first.status.nominated_node_name = "a";
  first_.pre_filter = [](const PodInfo& pod) {
    if (pod.key == "ns/first") return PluginStatus::Unresolvable({.code = "x", .text = "not yet"});
    return PluginStatus::Skip();
  };
  ASSERT_THAT(
      cluster_.Load({api::Object::Of(std::move(victim)), api::Object::Of(std::move(first))}),
      IsOk());
  Create(MakePod({.name = "second", .cpu = "2"}));
  Create(MakePod({.name = "small", .cpu = "1"}));
  Start().Run();
  EXPECT_EQ(Stored("second").spec.node_name, "");
  EXPECT_EQ(Stored("small").spec.node_name, "a");
}

// The soak found it: a nomination that could not be written ended, and nobody was told.
TEST_F(RoomTest, ThatIsNoLongerKeptWakesWhoWaitsForIt) {
  HighTakesTheNodeOfVictim();
  cluster_.SetWriteHook([](api::Verb verb, const api::Object&) {
    return verb == api::Verb::kUpdateStatus ? absl::UnavailableError("not now") : absl::OkStatus();
  });
  Start().Run();
  Create(MakePod({.name = "low", .cpu = "2", .priority = 1}));
  scheduler_->Run();
  EXPECT_EQ(scheduler_->queue().Where("ns/low"), QueueName::kUnschedulable);
  ASSERT_THAT(cluster_.Delete(KindOf<api::Pod>(), "ns", "high"), IsOk());
  scheduler_->Run();
  EXPECT_EQ(scheduler_->queue().Where("ns/low"), QueueName::kBackoff);
  clock_.Advance(std::chrono::seconds(10));
  EXPECT_THAT(Nodes(scheduler_->Run()), ElementsAre("ns/low a"));
}

// The soak found it: a pod whose binding waited had its room and what was kept for it, and nobody told
// those who had been refused for that when it was bound.
TEST_F(RoomTest, ThatAPodHasTakenIsNotKeptForItBesides) {
  Create(MakeNode("a", "3"));
  api::Pod high = MakePod({.name = "high", .cpu = "2", .priority = 10});
  high.status.nominated_node_name = "a";
  ASSERT_THAT(cluster_.Load({api::Object::Of(std::move(high))}), IsOk());
  first_.pre_bind = [](const PodInfo& pod) {
    if (pod.key == "ns/low") return PluginStatus::Success();
    return PluginStatus{.code = PluginStatus::Code::kWait};
  };
  Create(MakePod({.name = "low", .cpu = "1", .priority = 1}));
  const std::vector<Outcome> outcomes = Start().Run();
  EXPECT_THAT(Nodes(outcomes), ElementsAre("ns/high a", "ns/low a"));
  EXPECT_EQ(outcomes.front().kind, Kind::kWaiting);
  EXPECT_EQ(Stored("low").spec.node_name, "a");
  EXPECT_EQ(scheduler_->rooms_kept(), 1u) << "it may come to nothing";
  Create(MakePod({.name = "next", .cpu = "1", .priority = 1}));
  EXPECT_EQ(scheduler_->Run().front().kind, Kind::kUnschedulable) << "and it is not given away";
}

TEST_F(RoomTest, ThatAPodDoesNotNeedWakesWhoWaitsForItBeforeThePodIsBound) {
  Create(MakeNode("a", "4"));
  Create(MakePod({.name = "beside", .node = "a", .cpu = "2"}));
  Create(MakePod({.name = "victim", .node = "a", .cpu = "2"}));
  Create(MakePod({.name = "high", .cpu = "1", .priority = 10}));
  first_.post_filter = [&](const PodInfo& pod) -> PostFilterResult {
    if (pod.priority < 10) return {.status = {.code = PluginStatus::Code::kUnschedulable}};
    static_cast<void>(cluster_.Delete(KindOf<api::Pod>(), "ns", "victim"));
    return {.status = PluginStatus::Success(), .nominated_node = "a"};
  };
  // It is not in the pod's status, so that the pod may go elsewhere.
  cluster_.SetWriteHook([](api::Verb verb, const api::Object&) {
    return verb == api::Verb::kUpdateStatus ? absl::UnavailableError("not now") : absl::OkStatus();
  });
  Start().Run();
  bool ready = false;
  first_.pre_filter = [&](const PodInfo& pod) {
    if (ready || pod.priority < 10) return PluginStatus::Skip();
    return PluginStatus::Unresolvable({.code = "x", .text = "not yet"});
  };
  first_.post_filter = {};
  first_.wake = [](const PodInfo&, const api::Change& change) {
    return change.object.As<api::Namespace>() != nullptr ? Hint::kQueue : Hint::kSkip;
  };
  clock_.Advance(std::chrono::seconds(20));
  scheduler_->Run();
  Create(MakeNode("b", "1"));
  Create(MakePod({.name = "low", .cpu = "2", .priority = 1}));
  scheduler_->Run();
  EXPECT_EQ(scheduler_->queue().Where("ns/high"), QueueName::kUnschedulable);
  EXPECT_EQ(scheduler_->queue().Where("ns/low"), QueueName::kUnschedulable);
  EXPECT_EQ(scheduler_->rooms_kept(), 1u);

  ready = true;
  first_.pre_bind = [](const PodInfo& pod) {
    if (pod.key == "ns/low") return PluginStatus::Success();
    return PluginStatus{.code = PluginStatus::Code::kWait};
  };
  api::Namespace change;
  change.metadata.name = "another";
  Create(std::move(change));
  clock_.Advance(std::chrono::seconds(20));
  scheduler_->Run();
  clock_.Advance(std::chrono::seconds(20));
  scheduler_->Run();
  EXPECT_EQ(Stored("high").spec.node_name, "") << "it still waits, for b";
  EXPECT_EQ(Stored("low").spec.node_name, "a");
}

TEST_F(SchedulerTest, AChangeIsAskedAboutOnceForPodsThatAreAlike) {
  Create(MakeNode("a", "1"));
  for (int i = 0; i < 20; ++i) Create(MakePod({.name = "p" + std::to_string(i), .cpu = "2"}));
  Start().Run();
  FakeFit::hints = 0;
  Create(MakePod({.name = "elsewhere", .node = "a", .cpu = "1"}));
  scheduler_->Run();
  EXPECT_EQ(FakeFit::hints, 1);
}

TEST_F(SchedulerTest, AnExplanationIsTrueWhenItIsAskedFor) {
  Create(MakeNode("a", "1"));
  Create(MakePod({.name = "p", .cpu = "2"}));
  Start().Run();
  EXPECT_THAT(ToText(*scheduler_->Explain("ns/p")), HasSubstr("1000m"));
  // Helps nobody, so that the pod is not tried again.
  Create(MakePod({.name = "elsewhere", .node = "a", .cpu = "1"}));
  const std::uint64_t attempts = scheduler_->statistics().attempts;
  scheduler_->Run();
  EXPECT_EQ(scheduler_->statistics().attempts, attempts);
  EXPECT_THAT(ToText(*scheduler_->Explain("ns/p")), ::testing::Not(HasSubstr("1000m")));
}
}  // namespace
}  // namespace dray::scheduler
