// SPDX-License-Identifier: Apache-2.0
//
// Groups of pods on a cluster in memory, with a scheduler that has the default plugins.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/memory_cluster.h"
#include "api/pod_group.h"
#include "base/check.h"
#include "fmt/format.h"
#include "scheduler/device_cluster_for_test.h"
#include "scheduler/objects_for_test.h"
#include "scheduler/scheduler.h"

namespace dray::scheduler {

// Work is done when the test says so.
class WritesLater final : public Background {
 public:
  void Run(std::function<void()> work) override { works_.push_back(std::move(work)); }
  void DoOne() {
    const std::function<void()> work = std::move(works_.front());
    works_.pop_front();
    work();
  }
  void DoAll() {
    while (!works_.empty()) DoOne();
  }

 private:
  std::deque<std::function<void()>> works_;
};

class GroupTest : public ::testing::Test {
 protected:
  GroupTest() {
    gates_.Set(api::Gate::kGenericWorkload, true);
    gates_.Set(api::Gate::kDRAWorkloadResourceClaims, true);
    gates_.Set(api::Gate::kTopologyAwareWorkloadScheduling, true);
    cluster_ = std::make_unique<api::MemoryCluster>(
        clock_, random_, api::MemoryClusterOptions{.gates = gates_, .validate = false});
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    Create(std::move(gpu));
    Start();
  }
  void Start(Background* background = nullptr) {
    SchedulerOptions options;
    options.gates = gates_;
    options.background = background;
    scheduler_ = std::make_unique<Scheduler>(*cluster_, clock_, ids_, std::move(options));
  }
  template <typename T>
  static const api::KindInfo& KindOf() {
    return api::HubKind(api::TypeInfoOf<T>());
  }
  template <typename T>
  void Create(T object) {
    const auto created = cluster_->Create(api::Object::Of(std::move(object)));
    DRAY_CHECK(created.ok(), base::Message(created.status()));
  }
  void AddGroup(std::int32_t least, const std::string& name = "g") {
    api::PodGroup group;
    group.metadata.namespace_ = "ns";
    group.metadata.name = name;
    if (least > 0) {
      group.spec.scheduling_policy.gang.emplace().min_count = least;
    } else {
      group.spec.scheduling_policy.basic.emplace();
    }
    Create(std::move(group));
  }
  static api::Pod Member(api::Pod pod, const std::string& group = "g") {
    pod.spec.scheduling_group.emplace().pod_group_name = group;
    return pod;
  }
  void AddPod(const std::string& name, const std::string& cpu = "1",
              const std::string& group = "g") {
    Create(Member(MakePod({.name = name, .cpu = cpu}), group));
  }
  // Backoffs go by, and whatever is to be tried is.
  void Run() {
    for (int i = 0; i < 3; ++i) {
      scheduler_->Run();
      clock_.Advance(std::chrono::seconds(20));
      scheduler_->Tick();
    }
    scheduler_->Run();
  }
  // With writes in the background: until nothing is left to be done now. No time goes by.
  void RunWith(WritesLater& later) {
    for (int i = 0; i < 4; ++i) {
      scheduler_->Run();
      later.DoAll();
    }
    scheduler_->Run();
  }
  std::string NodeOf(const std::string& pod) {
    const auto stored = cluster_->Stored(KindOf<api::Pod>(), "ns", pod);
    return stored ? stored->As<api::Pod>()->spec.node_name : "gone";
  }
  std::vector<std::string> Bound() {
    std::vector<std::string> bound;
    for (const api::Object& object : cluster_->All(KindOf<api::Pod>())) {
      if (!object.As<api::Pod>()->spec.node_name.empty()) bound.push_back(object.metadata().name);
    }
    return bound;
  }
  // "status reason: message"
  std::string Condition(const std::string& group = "g") {
    const auto stored = cluster_->Stored(KindOf<api::PodGroup>(), "ns", group);
    for (const api::Condition& condition : stored->As<api::PodGroup>()->status.conditions) {
      return fmt::format("{} {}: {}", condition.status, condition.reason, condition.message);
    }
    return "";
  }
  std::string Said(const std::string& pod) {
    const auto stored = cluster_->Stored(KindOf<api::Pod>(), "ns", pod);
    for (const api::PodCondition& condition : stored->As<api::Pod>()->status.conditions) {
      if (condition.type == api::kPodScheduledCondition) return condition.message;
    }
    return "";
  }

  // A claim of the group and, by the same name, of its pods that MemberWith makes.
  void AddGroupClaim(std::int32_t least, api::ResourceClaim claim, const std::string& name = "g") {
    api::PodGroup group;
    group.metadata.namespace_ = "ns";
    group.metadata.name = name;
    group.spec.scheduling_policy.gang.emplace().min_count = least;
    group.spec.resource_claims.push_back(
        {.name = claim.metadata.name, .resource_claim_name = claim.metadata.name});
    Create(std::move(group));
    Create(std::move(claim));
  }
  static api::Pod MemberWith(api::Pod pod, const std::vector<std::string>& claims,
                             const std::string& group = "g") {
    for (const std::string& claim : claims) {
      pod.spec.resource_claims.push_back({.name = claim, .resource_claim_name = claim});
      pod.spec.containers.front().resources.claims.push_back({.name = claim});
    }
    return Member(std::move(pod), group);
  }
  const api::ResourceClaim* Claim(const std::string& name) {
    claim_ = cluster_->Stored(KindOf<api::ResourceClaim>(), "ns", name);
    return claim_ ? claim_->As<api::ResourceClaim>() : nullptr;
  }
  std::string DeviceOf(const std::string& claim) {
    const auto& allocation = Claim(claim)->status.allocation;
    return allocation ? allocation->devices.results.at(0).device : "none";
  }

  std::optional<api::Object> claim_;
  base::ManualClock clock_{base::Time::FromUnix(1'000'000)};
  base::SeededRandomSource random_{1};
  api::FeatureGates gates_;
  std::unique_ptr<api::MemoryCluster> cluster_;
  CountedIds ids_;
  std::unique_ptr<Scheduler> scheduler_;
};

class GroupDevicesTest : public GroupTest {
 protected:
  void AddClaimed(const std::string& name, std::vector<std::pair<std::string, std::string>> wants) {
    api::ResourceClaim claim;
    claim.metadata.namespace_ = "ns";
    claim.metadata.name = name;
    api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
    request.name = "r";
    for (const auto& [alternative, expression] : wants) {
      api::DeviceSubRequest& sub = request.first_available.emplace_back();
      sub.name = alternative;
      sub.device_class_name = "gpu";
      sub.allocation_mode = api::kAllocationModeExactCount;
      sub.count = 1;
      if (expression.empty()) continue;
      sub.selectors.emplace_back().cel.emplace().expression = expression;
    }
    Create(std::move(claim));
    Create(Member(DeviceCluster::WithClaim(MakePod({.name = name}), name)));
  }
};

}  // namespace dray::scheduler
