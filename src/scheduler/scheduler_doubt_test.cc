// SPDX-License-Identifier: Apache-2.0
//
// What a scheduler does when nobody says what has happened: writes without an answer, watches that
// cannot be followed, another scheduler on the same devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/event.h"
#include "api/forwarding_cluster.h"
#include "scheduler/device_cluster_for_test.h"

namespace dray::scheduler {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> Told(const std::vector<Outcome>& outcomes) {
  constexpr const char* kKinds[] = {"bound", "waits", "refused", "error"};
  std::vector<std::string> told;
  for (const Outcome& outcome : outcomes) {
    told.push_back(outcome.pod + " " + kKinds[static_cast<std::size_t>(outcome.kind)]);
  }
  return told;
}

class DoubtTest : public ::testing::Test {
 protected:
  // From now on answers to one verb are lost, and nothing can be read.
  void Lose(api::Verb verb) {
    cluster_.cluster().SetAnswerHook([verb](api::Verb done, const api::Object&) {
      return done == verb ? api::OutcomeUnknown("no answer") : Status();
    });
    cluster_.cluster().SetReadHook([](const api::KindInfo&) { return base::Unavailable("away"); });
  }
  void Find() {
    cluster_.cluster().SetAnswerHook({});
    cluster_.cluster().SetReadHook({});
  }
  std::vector<std::string> Run() {
    cluster_.clock().Advance(std::chrono::seconds(2));
    return Told(cluster_.scheduler().Run());
  }
  std::string NodeOf(std::string_view pod) {
    const auto* found = cluster_.Find<api::Pod>(pod);
    return found == nullptr ? "gone" : found->spec.node_name;
  }
  void DeletePod(std::string_view name) {
    ASSERT_TRUE(cluster_.cluster().Delete(DeviceCluster::KindOf<api::Pod>(), "ns", name).ok());
  }

  DeviceCluster cluster_;
};

// The cause of pods that were on a node while their claims had been given back.
TEST_F(DoubtTest, APodThatMayBeBoundKeepsEverythingUntilItHasBeenRead) {
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 1);
  Lose(api::Verb::kBind);
  EXPECT_THAT(Run(), ElementsAre("ns/p waits"));
  EXPECT_EQ(cluster_.scheduler().in_doubt(), 1u);
  EXPECT_EQ(NodeOf("p"), "a");
  EXPECT_THAT(cluster_.Find<api::ResourceClaim>("p")->status.reserved_for, SizeIs(1));
  EXPECT_THAT(Run(), IsEmpty());
  Find();
  EXPECT_THAT(Run(), ElementsAre("ns/p bound"));
  EXPECT_EQ(cluster_.scheduler().in_doubt(), 0u);
  EXPECT_THAT(cluster_.Find<api::ResourceClaim>("p")->status.reserved_for, SizeIs(1));
}

TEST_F(DoubtTest, APodThatIsDeletedInDoubtIsUndoneOnlyWhenItIsKnownWhatWasDone) {
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 1);
  Lose(api::Verb::kUpdateStatus);
  EXPECT_THAT(Run(), ElementsAre("ns/p waits"));
  EXPECT_EQ(cluster_.scheduler().in_doubt(), 1u);
  DeletePod("p");
  cluster_.Create(DeviceCluster::WithClaim(MakePod({.name = "p"}), "p"));  // another by that name
  cluster_.AddGpuPod("q", 1);
  Run();
  EXPECT_EQ(cluster_.scheduler().in_doubt(), 1u);
  EXPECT_EQ(NodeOf("q"), "");
  Find();
  Run();
  Run();
  EXPECT_EQ(cluster_.scheduler().in_doubt(), 0u);
  Run();
  // The device was given back, and one of those who came after has it.
  EXPECT_NE(NodeOf("p") == "a", NodeOf("q") == "a");
  EXPECT_NE(cluster_.Find<api::ResourceClaim>("p")->status.allocation.has_value(),
            cluster_.Find<api::ResourceClaim>("q")->status.allocation.has_value());
}

TEST_F(DoubtTest, ANodeThatGoesWhileAClaimIsInDoubtIsNotBoundTo) {
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 1);
  Lose(api::Verb::kUpdateStatus);
  EXPECT_THAT(Run(), ElementsAre("ns/p waits"));
  ASSERT_TRUE(cluster_.cluster().Delete(DeviceCluster::KindOf<api::Node>(), "", "a").ok());
  Run();
  Find();
  Run();
  EXPECT_EQ(cluster_.scheduler().in_doubt(), 0u);
  EXPECT_EQ(NodeOf("p"), "");
}

// What becomes of one request says nothing about the one before it, which may have been done.
TEST_F(DoubtTest, ABindingInDoubtIsNotUndoneByTheRefusalOfTheNextRequest) {
  for (const Status& refusal :
       {base::Unavailable("cannot connect"),
        base::MakeStatus(StatusCode::kPermissionDenied, "pods/binding is forbidden"),
        base::FailedPrecondition("not sent")}) {
    SCOPED_TRACE(refusal.ToString());
    DeviceCluster cluster;
    cluster.AddNode("a", 1);
    cluster.AddGpuPod("p", 1);
    const auto run = [&] {
      cluster.clock().Advance(std::chrono::seconds(2));
      return Told(cluster.scheduler().Run());
    };
    // Done, and nobody says so.
    cluster.cluster().SetAnswerHook([](api::Verb verb, const api::Object&) {
      return verb == api::Verb::kBind ? api::OutcomeUnknown("no answer") : Status();
    });
    cluster.cluster().SetReadHook([](const api::KindInfo&) { return base::Unavailable("away"); });
    EXPECT_THAT(run(), ElementsAre("ns/p waits"));
    // The next one is refused before anything is done.
    cluster.cluster().SetAnswerHook({});
    cluster.cluster().SetWriteHook([&](api::Verb verb, const api::Object&) {
      return verb == api::Verb::kBind ? refusal : Status();
    });
    EXPECT_THAT(run(), IsEmpty());
    EXPECT_EQ(cluster.scheduler().in_doubt(), 1u);
    EXPECT_THAT(cluster.Find<api::ResourceClaim>("p")->status.reserved_for, SizeIs(1));
    cluster.cluster().SetReadHook({});
    EXPECT_THAT(run(), ElementsAre("ns/p bound"));
    EXPECT_THAT(cluster.Find<api::ResourceClaim>("p")->status.reserved_for, SizeIs(1));
  }
}

// A pod that is on no node may still get there: by a request that somebody has held back. In the end
// none can be under way any more.
TEST_F(DoubtTest, ABindingThatMayStillArriveIsWaitedForAndNotForEver) {
  for (const bool arrives : {true, false}) {
    SCOPED_TRACE(arrives);
    DeviceCluster cluster;
    cluster.AddNode("a", 1);
    cluster.AddGpuPod("p", 1);
    int requests = 0;
    cluster.cluster().SetWriteHook([&](api::Verb verb, const api::Object&) -> Status {
      if (verb != api::Verb::kBind) return {};
      return ++requests == 1 ? api::OutcomeUnknown("no answer") : base::Unavailable("away");
    });
    const auto run = [&](int seconds) {
      cluster.clock().Advance(std::chrono::seconds(seconds));
      return Told(cluster.scheduler().Run());
    };
    EXPECT_THAT(run(1), ElementsAre("ns/p waits"));
    EXPECT_THAT(run(2), IsEmpty());
    EXPECT_THAT(run(40), IsEmpty());
    EXPECT_EQ(cluster.scheduler().in_doubt(), 1u);
    if (arrives) {
      const std::string uid = cluster.Find<api::Pod>("p")->metadata.uid;
      cluster.cluster().SetWriteHook({});
      ASSERT_TRUE(cluster.cluster().Bind("ns", "p", uid, "a").ok());
      EXPECT_THAT(run(2), ElementsAre("ns/p bound"));
      EXPECT_THAT(cluster.Find<api::ResourceClaim>("p")->status.reserved_for, SizeIs(1));
    } else {
      EXPECT_THAT(run(60), ElementsAre("ns/p error"));
      EXPECT_EQ(cluster.scheduler().in_doubt(), 0u);
      EXPECT_THAT(cluster.Find<api::ResourceClaim>("p")->status.reserved_for, IsEmpty());
    }
  }
}

// A cluster that can be told not to be seen.
class HiddenCluster final : public api::ForwardingCluster {
 public:
  explicit HiddenCluster(api::Cluster& cluster) : ForwardingCluster(cluster) {}
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection = {}) override {
    return std::make_unique<HiddenWatch>(inner().Watch(kinds, selection), stale);
  }
  Status stale;

 private:
  class HiddenWatch final : public api::ObjectWatch {
   public:
    HiddenWatch(std::unique_ptr<api::ObjectWatch> watch, const Status& stale)
        : watch_(std::move(watch)), stale_(stale) {}
    std::optional<api::Change> Next() override { return watch_->Next(); }
    Status Stale() const override { return stale_; }

   private:
    const std::unique_ptr<api::ObjectWatch> watch_;
    const Status& stale_;
  };
};

TEST_F(DoubtTest, NothingIsDecidedWhileTheClusterCannotBeSeen) {
  HiddenCluster hidden(cluster_.cluster());
  CountedIds ids;
  Scheduler scheduler(hidden, cluster_.clock(), ids, {});
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 1);
  hidden.stale = base::Unavailable("watch of pods: timed out");
  EXPECT_THAT(scheduler.Run(), IsEmpty());
  EXPECT_THAT(std::string(base::Message(scheduler.Paused())), HasSubstr("watch of pods"));
  hidden.stale = {};
  EXPECT_THAT(Told(scheduler.Run()), ElementsAre("ns/p bound"));
  EXPECT_TRUE(scheduler.Paused().ok());
}

class TwiceObserver final : public Observer {
 public:
  void OnAttempt(const AttemptReport&) override {}
  void OnPhase(std::string_view, Phase, PluginStatus::Code, std::chrono::nanoseconds) override {}
  void OnPlugin(std::string_view, Phase, PluginStatus::Code, std::chrono::nanoseconds) override {}
  void OnRefusal(const PodExplanation&) override {}
  void OnPreemption(std::size_t) override {}
  void OnBindingConditions(std::string_view, std::string_view, std::string_view,
                           std::chrono::nanoseconds) override {}
  void OnGivenTwice(std::string_view device) override { devices.emplace_back(device); }
  void OnTakenBack(std::string_view device) override { taken_back.emplace_back(device); }

  std::vector<std::string> devices;
  std::vector<std::string> taken_back;
};

TEST(TwoSchedulers, ADeviceThatBothGaveIsToldAndCounted) {
  TwiceObserver observer;
  SchedulerOptions options;
  options.observer = &observer;
  DeviceCluster cluster(std::move(options));
  cluster.AddNode("a", 1);
  cluster.AddGpuPod("p", 1);
  EXPECT_THAT(Told(cluster.scheduler().Run()), ElementsAre("ns/p bound"));
  EXPECT_THAT(observer.devices, IsEmpty());
  // Another one has decided at the same time, and knew nothing of it.
  api::ResourceClaim theirs = *cluster.Find<api::ResourceClaim>("p");
  cluster.Create(DeviceCluster::GpuClaim("q", 1));
  api::ResourceClaim claim = *cluster.Find<api::ResourceClaim>("q");
  claim.status.allocation = theirs.status.allocation;
  ASSERT_TRUE(cluster.cluster().UpdateStatus(api::Object::Of(claim)).ok());
  cluster.scheduler().Run();
  ASSERT_THAT(observer.devices, SizeIs(1));
  bool told = false;
  for (const api::Object& object : cluster.cluster().All(DeviceCluster::KindOf<api::Event>())) {
    const api::Event& event = *object.As<api::Event>();
    if (event.reason != "DeviceAllocatedTwice") continue;
    told = true;
    EXPECT_EQ(event.involved_object.name, "q");
    EXPECT_THAT(event.message, HasSubstr(observer.devices[0] + " is also allocated to ns/p"));
  }
  EXPECT_TRUE(told);
  // Once is enough.
  cluster.scheduler().Run();
  EXPECT_THAT(observer.devices, SizeIs(1));
}

// Two deciders on one cluster. Each has looked at it before the other one has written anything.
class TwoDeciders : public ::testing::Test {
 protected:
  TwoDeciders() {
    ours_.config.profiles.front().scheduler_name = "ours";
    ours_.observer = &observer_;
    theirs_.config.profiles.front().scheduler_name = "theirs";
  }
  struct Pod {
    std::string name;
    std::string scheduler;
    bool controlled = false;
  };
  void Add(const Pod& spec) {
    cluster_.Create(DeviceCluster::GpuClaim(spec.name, 1));
    api::Pod pod = DeviceCluster::WithClaim(MakePod({.name = spec.name}), spec.name);
    pod.spec.scheduler_name = spec.scheduler;
    if (spec.controlled) {
      pod.metadata.owner_references.push_back({.api_version = "apps/v1",
                                               .kind = "ReplicaSet",
                                               .name = "set",
                                               .uid = "set-uid",
                                               .controller = true});
    }
    cluster_.Create(std::move(pod));
  }
  // Neither sees what the other one does until both have done it.
  void CollideOn(std::string_view pod_of_ours) {
    Scheduler theirs(cluster_.cluster(), cluster_.clock(), their_ids_, theirs_);
    theirs.Sync();
    ours().Sync();
    EXPECT_THAT(Told({*ours().ScheduleOne()}), ElementsAre(std::string(pod_of_ours) + " bound"));
    EXPECT_THAT(Told({*theirs.ScheduleOne()}), ElementsAre("ns/theirs bound"));
  }
  Scheduler& ours() {
    if (ours_scheduler_ == nullptr) {
      ours_scheduler_ =
          std::make_unique<Scheduler>(cluster_.cluster(), cluster_.clock(), our_ids_, ours_);
    }
    return *ours_scheduler_;
  }
  // As a server keeps who has written an allocation.
  void SetManager(std::string_view name, const std::string& manager) {
    api::ResourceClaim claim = *cluster_.Find<api::ResourceClaim>(name);
    claim.metadata.managed_fields.push_back(
        {.manager = manager,
         .operation = "Update",
         .fields_type = "FieldsV1",
         .fields_v1 = {R"({"f:status":{"f:allocation":{".":{}},"f:reservedFor":{}}})"},
         .subresource = "status"});
    ASSERT_TRUE(cluster_.cluster().Update(api::Object::Of(claim)).ok());
  }
  std::vector<std::string> Messages() {
    std::vector<std::string> messages;
    for (const api::Object& object : cluster_.cluster().All(DeviceCluster::KindOf<api::Event>())) {
      messages.push_back(object.As<api::Event>()->message);
    }
    return messages;
  }
  std::vector<std::string> Reasons() {
    std::vector<std::string> reasons;
    for (const api::Object& object : cluster_.cluster().All(DeviceCluster::KindOf<api::Event>())) {
      const api::Event& event = *object.As<api::Event>();
      if (event.reason.starts_with("Device")) {
        reasons.push_back(event.reason + " " + event.involved_object.name);
      }
    }
    std::ranges::sort(reasons);
    return reasons;
  }

  DeviceCluster cluster_;
  CountedIds our_ids_;
  CountedIds their_ids_;
  TwiceObserver observer_;
  SchedulerOptions ours_;
  SchedulerOptions theirs_;
  std::unique_ptr<Scheduler> ours_scheduler_;
};

TEST_F(TwoDeciders, APodThatHasNotStartedGivesWay) {
  cluster_.AddNode("a", 2);
  Add({.name = "mine", .scheduler = "ours", .controlled = true});
  Add({.name = "theirs", .scheduler = "theirs"});
  CollideOn("ns/mine");
  ours().Run();
  EXPECT_EQ(observer_.devices.size(), 1u);
  EXPECT_EQ(observer_.taken_back.size(), 1u);
  EXPECT_EQ(cluster_.Find<api::Pod>("mine"), nullptr);
  EXPECT_NE(cluster_.Find<api::Pod>("theirs"), nullptr);
  EXPECT_THAT(Reasons(), ElementsAre("DeviceAllocatedTwice theirs", "DeviceTakenBack mine"));
}

// A process that ends knows nothing any more of what it has given away; the claim says in whose name it was.
TEST_F(TwoDeciders, WhatThisOneGaveBeforeItBeganAnewGivesWay) {
  cluster_.AddNode("a", 2);
  Add({.name = "mine", .scheduler = "ours", .controlled = true});
  Add({.name = "theirs", .scheduler = "theirs"});
  CollideOn("ns/mine");
  SetManager("mine", "ours");
  ours_scheduler_ = nullptr;
  ours().Run();
  EXPECT_EQ(observer_.taken_back.size(), 1u);
  EXPECT_EQ(cluster_.Find<api::Pod>("mine"), nullptr);
  EXPECT_NE(cluster_.Find<api::Pod>("theirs"), nullptr);
}

TEST_F(TwoDeciders, WhatAnotherOneGaveBeforeItBeganAnewStays) {
  cluster_.AddNode("a", 2);
  Add({.name = "mine", .scheduler = "ours", .controlled = true});
  Add({.name = "theirs", .scheduler = "theirs"});
  CollideOn("ns/mine");
  SetManager("mine", "theirs");
  ours_scheduler_ = nullptr;
  ours().Run();
  EXPECT_EQ(observer_.devices.size(), 1u);
  EXPECT_THAT(observer_.taken_back, IsEmpty());
  EXPECT_NE(cluster_.Find<api::Pod>("mine"), nullptr);
}

TEST_F(TwoDeciders, WhatRunsGoesOn) {
  cluster_.AddNode("a", 2);
  Add({.name = "mine", .scheduler = "ours", .controlled = true});
  Add({.name = "theirs", .scheduler = "theirs"});
  CollideOn("ns/mine");
  api::Pod running = *cluster_.Find<api::Pod>("mine");
  running.status.phase = api::kPodRunning;
  ASSERT_TRUE(cluster_.cluster().UpdateStatus(api::Object::Of(running)).ok());
  ours().Run();
  EXPECT_EQ(observer_.devices.size(), 1u);
  EXPECT_THAT(observer_.taken_back, IsEmpty());
  EXPECT_NE(cluster_.Find<api::Pod>("mine"), nullptr);
}

// Nobody would make it anew: people are told, and decide.
TEST_F(TwoDeciders, APodOfNobodyStays) {
  cluster_.AddNode("a", 2);
  Add({.name = "mine", .scheduler = "ours"});
  Add({.name = "theirs", .scheduler = "theirs"});
  CollideOn("ns/mine");
  ours().Run();
  EXPECT_EQ(observer_.devices.size(), 1u);
  EXPECT_THAT(observer_.taken_back, IsEmpty());
  EXPECT_NE(cluster_.Find<api::Pod>("mine"), nullptr);
}

// A pod whose claim is stored and which is not bound yet gets another device.
TEST_F(TwoDeciders, AClaimOfAPodThatIsNotBoundIsAllocatedAnew) {
  cluster_.AddNode("a", 2);
  Add({.name = "mine", .scheduler = "ours"});
  Add({.name = "theirs", .scheduler = "theirs"});
  bool refuse = true;
  cluster_.cluster().SetWriteHook([&](api::Verb verb, const api::Object& object) -> Status {
    const bool bind = verb == api::Verb::kBind && object.metadata().name == "mine";
    return bind && refuse ? base::Unavailable("away") : Status();
  });
  Scheduler theirs(cluster_.cluster(), cluster_.clock(), their_ids_, theirs_);
  theirs.Sync();
  ours().Sync();
  EXPECT_THAT(Told({*ours().ScheduleOne()}), ElementsAre(::testing::Not("ns/mine bound")));
  EXPECT_THAT(Told({*theirs.ScheduleOne()}), ElementsAre("ns/theirs bound"));
  refuse = false;
  for (int i = 0; i < 40; ++i) {
    ours().Run();
    ours().Tick();
    cluster_.clock().Advance(std::chrono::seconds(1));
  }
  EXPECT_EQ(cluster_.Find<api::Pod>("mine")->spec.node_name, "a");
  const std::string mine =
      cluster_.Find<api::ResourceClaim>("mine")->status.allocation->devices.results[0].device;
  const std::string their =
      cluster_.Find<api::ResourceClaim>("theirs")->status.allocation->devices.results[0].device;
  EXPECT_NE(mine, their);
}

// Each has its own devices: then nothing collides.
TEST_F(TwoDeciders, LimitedToDriversTheyDoNotMeet) {
  ours_.config.profiles.front().dynamic_resources.drivers = {"ours.example.com"};
  theirs_.config.profiles.front().dynamic_resources.drivers = {"theirs.example.com"};
  cluster_.AddNode("a", 0);
  for (const std::string driver : {"ours", "theirs"}) {
    api::ResourceSlice slice = DeviceCluster::GpuSlice("a", 1);
    slice.metadata.name = driver;
    slice.spec.driver = driver + ".example.com";
    slice.spec.pool.name = driver;
    cluster_.Create(std::move(slice));
  }
  Add({.name = "mine", .scheduler = "ours"});
  Add({.name = "theirs", .scheduler = "theirs"});
  CollideOn("ns/mine");
  ours().Run();
  EXPECT_THAT(observer_.devices, IsEmpty());
  EXPECT_EQ(cluster_.Find<api::ResourceClaim>("mine")->status.allocation->devices.results[0].driver,
            "ours.example.com");
  // Of what is not its own it gives nothing, and says why.
  Add({.name = "more", .scheduler = "ours"});
  EXPECT_THAT(Told(ours().Run()), ElementsAre("ns/more refused"));
  EXPECT_THAT(Messages(), Contains(HasSubstr("that does not match the selector of scheduler ours: "
                                             "device.driver in [\"ours.example.com\"]")));
}

TEST_F(TwoDeciders, ClassesOfOthersAreRefused) {
  ours_.config.profiles.front().dynamic_resources.device_classes = {"other"};
  cluster_.AddNode("a", 1);
  Add({.name = "mine", .scheduler = "ours"});
  EXPECT_THAT(Told(ours().Run()), ElementsAre("ns/mine refused"));
  EXPECT_THAT(Messages(), Contains(HasSubstr("scheduler ours does not serve device class gpu")));
}

}  // namespace
}  // namespace dray::scheduler
