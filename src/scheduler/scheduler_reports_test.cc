// SPDX-License-Identifier: Apache-2.0
//
// What a pod that waits is told in its status, when that cannot be written at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/forwarding_cluster.h"
#include "scheduler/device_cluster_for_test.h"
#include "scheduler/scheduler_fixture_for_test.h"

namespace dray::scheduler {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

// Work is done when the test says so, in the order that it says.
class InAnyOrder final : public Background {
 public:
  void Run(std::function<void()> work) override { works.push_back(std::move(work)); }
  void Do(std::size_t which) {
    const std::function<void()> work = std::move(works[which]);
    works.erase(works.begin() + static_cast<std::ptrdiff_t>(which));
    work();
  }
  void DoAll() {
    while (!works.empty()) Do(0);
  }
  std::deque<std::function<void()>> works;
};

// A cluster whose watch says that it cannot be followed.
class StaleCluster final : public api::ForwardingCluster {
 public:
  using ForwardingCluster::ForwardingCluster;
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection) override {
    return std::make_unique<Seen>(inner().Watch(kinds, selection), stale);
  }
  Status stale;

 private:
  class Seen final : public api::ObjectWatch {
   public:
    Seen(std::unique_ptr<api::ObjectWatch> watch, const Status& stale)
        : watch_(std::move(watch)), stale_(stale) {}
    std::optional<api::Change> Next() override { return watch_->Next(); }
    Status Stale() const override { return stale_; }

   private:
    const std::unique_ptr<api::ObjectWatch> watch_;
    const Status& stale_;
  };
};

class ReportsTest : public ::testing::Test {
 protected:
  // From now on writes of pods' status end like that.
  void Fail(Status status) {
    cluster_.cluster().SetWriteHook([this, status](api::Verb verb, const api::Object& object) {
      if (verb != api::Verb::kUpdateStatus || object.As<api::Pod>() == nullptr) return Status();
      ++writes_;
      return status;
    });
  }
  // And from now on they are only counted.
  void Succeed() { Fail({}); }
  std::string Message(std::string_view pod) {
    const auto* found = cluster_.Find<api::Pod>(pod);
    for (const api::PodCondition& condition : found->status.conditions) {
      if (condition.type == api::kPodScheduledCondition) return condition.message;
    }
    return "";
  }
  // Within the next seconds, if something is due then.
  void Later(Scheduler& scheduler, seconds time) {
    const auto end = cluster_.clock().Monotonic() + time;
    for (auto due = scheduler.NextDue(); due && *due <= end; due = scheduler.NextDue()) {
      if (*due > cluster_.clock().Monotonic()) {
        cluster_.clock().Advance(*due - cluster_.clock().Monotonic());
      }
      scheduler.Tick();
    }
    cluster_.clock().Advance(end - cluster_.clock().Monotonic());
  }

  DeviceCluster cluster_;
  int writes_ = 0;
};

// It is tried again in five minutes, if nothing happens: so long it would wait and know nothing.
TEST_F(ReportsTest, WhatCouldNotBeWrittenIsWrittenSoon) {
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 2);
  Fail(base::Unavailable("away"));
  cluster_.scheduler().Run();
  EXPECT_EQ(Message("p"), "");
  Later(cluster_.scheduler(), seconds(5));
  EXPECT_EQ(Message("p"), "");
  Succeed();
  Later(cluster_.scheduler(), seconds(5));
  EXPECT_THAT(Message("p"), HasSubstr("0/1 nodes are available"));
  EXPECT_EQ(cluster_.scheduler().statistics().attempts, 1u);
}

TEST_F(ReportsTest, WhatCouldNotBeReadToBeWrittenIsWrittenSoon) {
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 2);
  // It is read when somebody else was faster.
  cluster_.cluster().SetWriteHook([this](api::Verb verb, const api::Object&) {
    if (verb != api::Verb::kUpdateStatus) return Status();
    return ++writes_ == 1 ? base::Aborted("it has been changed") : Status();
  });
  cluster_.cluster().SetReadHook([](const api::KindInfo&) { return base::Unavailable("away"); });
  cluster_.scheduler().Run();
  cluster_.cluster().SetReadHook({});
  Later(cluster_.scheduler(), seconds(5));
  EXPECT_THAT(Message("p"), HasSubstr("0/1 nodes are available"));
}

TEST_F(ReportsTest, ItIsTriedLessAndLessOften) {
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 2);
  Fail(base::Unavailable("away"));
  cluster_.scheduler().Run();
  Later(cluster_.scheduler(), minutes(4));
  // After 0, 1, 3, 7, 15, 31, 61, 91, ... seconds.
  EXPECT_EQ(writes_, 12);
}

TEST_F(ReportsTest, AnAnswerThatWasLostIsNotWrittenOnceMore) {
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 2);
  Succeed();
  cluster_.cluster().SetAnswerHook([](api::Verb verb, const api::Object&) {
    return verb == api::Verb::kUpdateStatus ? api::OutcomeUnknown("no answer") : Status();
  });
  cluster_.scheduler().Run();
  cluster_.cluster().SetAnswerHook({});
  EXPECT_THAT(Message("p"), HasSubstr("0/1 nodes are available"));
  EXPECT_EQ(writes_, 1);
  Later(cluster_.scheduler(), minutes(2));
  EXPECT_EQ(writes_, 1);
}

// What is known need not be asked for, and what the pod says already need not be written.
TEST_F(ReportsTest, APodIsToldWithOneRequest) {
  int reads = 0;
  cluster_.cluster().SetReadHook([&](const api::KindInfo&) {
    ++reads;
    return Status();
  });
  Succeed();
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 2);
  cluster_.scheduler().Run();
  EXPECT_EQ(writes_, 1);
  // Another message, before and after the watch has told of the first.
  cluster_.AddNode("b", 1);
  cluster_.clock().Advance(seconds(10));
  cluster_.scheduler().Run();
  EXPECT_THAT(Message("p"), HasSubstr("0/2 nodes are available"));
  EXPECT_EQ(writes_, 2);
  EXPECT_EQ(reads, 0);
  // A scheduler that begins anew has nothing to say that the pod does not say.
  CountedIds ids;
  Scheduler another(cluster_.cluster(), cluster_.clock(), ids, {});
  another.Run();
  EXPECT_EQ(writes_, 2);
  EXPECT_EQ(reads, 0);
}

// The watch is late: what was written last is what the next report is compared with.
TEST_F(ReportsTest, ItsOwnWriteIsKnownBeforeTheWatchTells) {
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 2);
  Succeed();
  cluster_.scheduler().Sync();
  ASSERT_TRUE(cluster_.scheduler().ScheduleOne().has_value());
  EXPECT_THAT(Message("p"), HasSubstr("0/1 nodes are available"));
  cluster_.AddNode("b", 1);
  int reads = 0;
  cluster_.cluster().SetReadHook([&](const api::KindInfo&) {
    ++reads;
    return Status();
  });
  cluster_.clock().Advance(seconds(10));
  cluster_.scheduler().Run();
  EXPECT_THAT(Message("p"), HasSubstr("0/2 nodes are available"));
  EXPECT_EQ(writes_, 2);
  EXPECT_EQ(reads, 0);
}

// The controller of claims writes the status of new pods at about the same time.
TEST_F(ReportsTest, WhoWasFasterIsReadAndThePodIsToldAtOnce) {
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 2);
  cluster_.cluster().SetWriteHook([this](api::Verb verb, const api::Object&) {
    if (verb != api::Verb::kUpdateStatus) return Status();
    return ++writes_ == 1 ? base::Aborted("it has been changed") : Status();
  });
  cluster_.scheduler().Run();
  EXPECT_THAT(Message("p"), HasSubstr("0/1 nodes are available"));
}

TEST_F(ReportsTest, WhatIsRefusedForGoodIsNotTriedAgain) {
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 2);
  Fail(base::MakeStatus(StatusCode::kPermissionDenied, "pods/status is forbidden"));
  cluster_.scheduler().Run();
  Later(cluster_.scheduler(), minutes(2));
  EXPECT_EQ(writes_, 1);
}

TEST_F(ReportsTest, APodThatGotANodeOrIsGoneIsNotToldAnyMore) {
  cluster_.AddNode("a", 1);
  Fail(base::Unavailable("away"));
  for (const char* name : {"p", "q", "r"}) cluster_.AddGpuPod(name, 1);
  cluster_.scheduler().Run();
  EXPECT_EQ(writes_, 2);
  cluster_.AddNode("b", 1);
  ASSERT_TRUE(cluster_.cluster().Delete(DeviceCluster::KindOf<api::Pod>(), "ns", "r").ok());
  cluster_.clock().Advance(seconds(1));
  cluster_.scheduler().Sync();
  ASSERT_TRUE(cluster_.scheduler().ScheduleOne().has_value());
  EXPECT_EQ(cluster_.Find<api::Pod>("q")->spec.node_name, "b");
  writes_ = 0;
  Later(cluster_.scheduler(), minutes(2));
  EXPECT_EQ(writes_, 0);
}

TEST_F(ReportsTest, WhileNobodyCanBeReachedNobodyIsTold) {
  StaleCluster stale(cluster_.cluster());
  CountedIds ids;
  Scheduler scheduler(stale, cluster_.clock(), ids, {});
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 2);
  Fail(base::Unavailable("away"));
  scheduler.Run();
  EXPECT_EQ(writes_, 1);
  stale.stale = base::Unavailable("away");
  Later(scheduler, seconds(60));
  EXPECT_EQ(writes_, 1);
  stale.stale = {};
  Succeed();
  Later(scheduler, seconds(1));
  EXPECT_THAT(Message("p"), HasSubstr("0/1 nodes are available"));
}

class BackgroundReportsTest : public ::testing::Test {
 protected:
  std::string Message(std::string_view pod) {
    const auto* found = cluster_.Find<api::Pod>(pod);
    return found->status.conditions.empty() ? "" : found->status.conditions.front().message;
  }

  InAnyOrder works_;
  DeviceCluster cluster_{[this] {
    SchedulerOptions options;
    options.background = &works_;
    return options;
  }()};
};

// Two writes of one pod's status are on their way, and the older one is slower.
TEST_F(BackgroundReportsTest, TheNewestIsWhatStays) {
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 2);
  cluster_.scheduler().Run();
  cluster_.AddNode("b", 1);
  cluster_.clock().Advance(seconds(10));
  cluster_.scheduler().Run();
  ASSERT_EQ(works_.works.size(), 2u);
  works_.Do(1);
  EXPECT_THAT(Message("p"), HasSubstr("0/2 nodes are available"));
  works_.Do(0);
  EXPECT_THAT(Message("p"), HasSubstr("0/2 nodes are available"));
}

// The newer one is made and written while the older one waits for the pod that it has asked for.
TEST_F(BackgroundReportsTest, TheNewestIsWhatStaysWhoeverReadsLater) {
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 2);
  cluster_.scheduler().Run();
  bool conflict = true;
  cluster_.cluster().SetWriteHook([&](api::Verb verb, const api::Object&) {
    if (verb != api::Verb::kUpdateStatus || !std::exchange(conflict, false)) return Status();
    return base::Aborted("it has been changed");
  });
  bool first = true;
  cluster_.cluster().SetReadHook([&](const api::KindInfo&) {
    if (!std::exchange(first, false)) return Status();
    cluster_.AddNode("b", 1);
    cluster_.clock().Advance(seconds(10));
    cluster_.scheduler().Run();
    works_.DoAll();
    EXPECT_THAT(Message("p"), HasSubstr("0/2 nodes are available"));
    return Status();
  });
  works_.DoAll();
  EXPECT_FALSE(first);
  EXPECT_THAT(Message("p"), HasSubstr("0/2 nodes are available"));
}

// Bindings come first: a server that comes back has enough to do.
TEST_F(BackgroundReportsTest, AFewAtATimeAreToldAgain) {
  cluster_.AddNode("a", 1);
  for (int i = 0; i < 100; ++i) cluster_.AddGpuPod("p" + std::to_string(i), 2);
  cluster_.cluster().SetWriteHook([](api::Verb verb, const api::Object&) {
    return verb == api::Verb::kUpdateStatus ? base::Unavailable("away") : Status();
  });
  cluster_.scheduler().Run();
  works_.DoAll();
  cluster_.cluster().SetWriteHook({});
  cluster_.clock().Advance(seconds(1));
  std::size_t most = 0;
  for (int i = 0; i < 50; ++i) {
    cluster_.scheduler().Tick();
    cluster_.scheduler().Tick();
    most = std::max(most, works_.works.size());
    // While all are busy there is nothing to come back for.
    if (works_.works.size() >= 16) {
      EXPECT_GT(*cluster_.scheduler().NextDue(), cluster_.clock().Monotonic());
    }
    if (!works_.works.empty()) works_.Do(0);
  }
  EXPECT_EQ(most, 16u);
  while (!works_.works.empty()) {
    works_.DoAll();
    cluster_.scheduler().Tick();
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(Message("p" + std::to_string(i)), HasSubstr("0/1 nodes are available"));
  }
}

using NominationReportsTest = SchedulerTest;

// The second attempt says nothing about the node that the first one chose; the pod still has it.
TEST_F(NominationReportsTest, ANodeThatCouldNotBeWrittenIsWrittenWithTheNextReport) {
  Create(MakeNode("a", "0"));
  Create(MakePod({.name = "p"}));
  int asked = 0;
  first_.post_filter = [&](const PodInfo&) -> PostFilterResult {
    if (++asked > 1) return {.status = {.code = PluginStatus::Code::kUnschedulable}};
    return {.status = PluginStatus::Success(), .nominated_node = "a"};
  };
  cluster_.SetWriteHook([](api::Verb verb, const api::Object&) {
    return verb == api::Verb::kUpdateStatus ? base::Unavailable("away") : Status();
  });
  Scheduler& scheduler = Start();
  scheduler.Run();
  Create(MakeNode("b", "0"));
  clock_.Advance(seconds(10));
  scheduler.Run();
  ASSERT_EQ(asked, 2);
  ASSERT_EQ(scheduler.rooms_kept(), 1u);
  EXPECT_EQ(Stored("p").status.nominated_node_name, "");
  cluster_.SetWriteHook({});
  clock_.Advance(seconds(60));
  scheduler.Tick();
  EXPECT_EQ(Stored("p").status.nominated_node_name, "a");
}

}  // namespace
}  // namespace dray::scheduler
