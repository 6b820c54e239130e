// SPDX-License-Identifier: Apache-2.0
#include "system/truth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "api/kinds.h"
#include "api/memory_cluster.h"
#include "scheduler/device_cluster_for_test.h"
#include "system/server.h"

namespace dray::system {
namespace {

using scheduler::DeviceCluster;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Whose answers take so long that something happens before them.
class SlowAnswers final : public api::ForwardingCluster {
 public:
  using ForwardingCluster::ForwardingCluster;
  StatusOr<api::Object> UpdateStatus(api::Object object) override {
    auto written = inner().UpdateStatus(std::move(object));
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    return written;
  }
  std::function<void()> meanwhile;
};

class TruthTest : public ::testing::Test {
 protected:
  TruthTest() {
    there_.AddNode("a", 2);
    there_.Create(DeviceCluster::GpuClaim("gone", 1));
    there_.AddGpuPod("waits", 3);
    const api::KindInfo* const kinds[] = {
        &DeviceCluster::KindOf<api::Pod>(), &DeviceCluster::KindOf<api::Node>(),
        &DeviceCluster::KindOf<api::ResourceSlice>(), &DeviceCluster::KindOf<api::DeviceClass>(),
        &DeviceCluster::KindOf<api::ResourceClaim>()};
    watch_ = truth_.Watch(kinds);
    Hear();
  }
  void Hear() {
    while (watch_->Next()) {
    }
  }
  // What a scheduler writes of a claim.
  void Allocate() {
    api::ResourceClaim claim = *there_.Find<api::ResourceClaim>("gone");
    claim.status.allocation.emplace().devices.results.push_back(
        {.request = "gpus", .driver = "gpu.example.com", .pool = "a", .device = "gpu-0"});
    ASSERT_TRUE(truth_.UpdateStatus(api::Object::Of(std::move(claim))).ok());
  }
  void Delete() {
    const auto& kind = DeviceCluster::KindOf<api::ResourceClaim>();
    ASSERT_TRUE(there_.cluster().Delete(kind, "ns", "gone").ok());
  }
  // What the pod that waits is told, and whether the judge agrees.
  std::string Ask() {
    scheduler::SchedulerOptions options;
    options.gates = Gates();
    scheduler::Scheduler asked(truth_, there_.clock(), ids_, std::move(options));
    asked.Sync();
    while (const auto outcome = truth_.ScheduleOne(asked)) {
      if (outcome->pod == "ns/waits") return outcome->message;
    }
    return "";
  }

  Stage stage_{1};
  DeviceCluster there_;
  SlowAnswers slow_{there_.cluster()};
  Truth truth_{slow_, stage_, there_.clock(), Truth::Where::kFar};
  scheduler::CountedIds ids_;
  std::unique_ptr<api::ObjectWatch> watch_;
};

TEST_F(TruthTest, WhatIsWrittenCounts) {
  Allocate();
  Hear();
  EXPECT_THAT(Ask(), HasSubstr("1 of 2 usable"));
  EXPECT_THAT(stage_.findings, IsEmpty());
  EXPECT_EQ(stage_.counts["held against the truth, remote"], 1u);
}

// The watch may be faster than the answer: what it has told to be gone does not come back with that.
TEST_F(TruthTest, WhatIsGoneBeforeTheAnswerComesDoesNotCount) {
  slow_.meanwhile = [&] {
    Delete();
    Hear();
  };
  Allocate();
  EXPECT_THAT(Ask(), HasSubstr("2 of 2 usable"));
  EXPECT_THAT(stage_.findings, IsEmpty());
  EXPECT_EQ(stage_.counts["held against the truth, remote"], 1u);
}

// What is told of a pod late, from before it was bound, does not take it from its node again.
TEST_F(TruthTest, WhoIsBoundStaysBoundWhateverIsToldOfItFromBefore) {
  Truth here(slow_, stage_, there_.clock(), Truth::Where::kHere);
  const api::KindInfo* const kinds[] = {
      &DeviceCluster::KindOf<api::Pod>(), &DeviceCluster::KindOf<api::Node>(),
      &DeviceCluster::KindOf<api::ResourceSlice>(), &DeviceCluster::KindOf<api::DeviceClass>(),
      &DeviceCluster::KindOf<api::ResourceClaim>()};
  const auto watch = here.Watch(kinds);
  there_.Create(scheduler::MakePod({.name = "full", .cpu = "8"}));
  while (watch->Next()) {
  }
  api::Pod full = *there_.Find<api::Pod>("full");
  full.status.conditions.push_back({.type = "PodScheduled", .status = "False", .message = "no"});
  ASSERT_TRUE(there_.cluster().UpdateStatus(api::Object::Of(full)).ok());
  ASSERT_TRUE(here.Bind("ns", "full", full.metadata.uid, "a").ok());
  const auto late = watch->Next();
  ASSERT_TRUE(late.has_value());
  ASSERT_EQ(late->object.As<api::Pod>()->spec.node_name, "");
  scheduler::SchedulerOptions options;
  options.gates = Gates();
  scheduler::Scheduler asked(slow_, there_.clock(), ids_, std::move(options));
  asked.Sync();
  const auto outcome = here.ScheduleOne(asked);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_THAT(outcome->message, HasSubstr("Insufficient cpu"));
  EXPECT_EQ(stage_.counts["held against the truth"], 1u);
  EXPECT_THAT(stage_.findings, IsEmpty());
}

// And it does say so when somebody is told what is not true: here the judge alone knows of a node.
TEST_F(TruthTest, WhoIsToldSomethingElseIsFound) {
  there_.AddNode("b", 3);
  Hear();
  ASSERT_TRUE(there_.cluster().Delete(DeviceCluster::KindOf<api::Node>(), "", "b").ok());
  scheduler::SchedulerOptions options;
  options.gates = Gates();
  // Not through the judge: it does not hear what this scheduler hears.
  scheduler::Scheduler asked(slow_, there_.clock(), ids_, std::move(options));
  asked.Sync();
  while (truth_.ScheduleOne(asked)) {
  }
  ASSERT_THAT(stage_.findings, SizeIs(1));
  EXPECT_THAT(stage_.findings[0], HasSubstr("pod ns/waits is refused, and b has room for it"));
}

}  // namespace
}  // namespace dray::system
