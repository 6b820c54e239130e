// SPDX-License-Identifier: Apache-2.0
//
// A cluster in memory with devices, and a scheduler with the default plugins on it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/memory_cluster.h"
#include "base/check.h"
#include "base/clock.h"
#include "scheduler/objects_for_test.h"
#include "scheduler/scheduler.h"
#include "testing/slice_builder.h"

namespace dray::scheduler {

class CountedIds final : public Ids {
 public:
  std::string Uid() override { return "00000000-0000-4000-8000-" + std::to_string(next_++); }

 private:
  std::uint64_t next_ = 100'000'000'000;
};

class DeviceCluster {
 public:
  explicit DeviceCluster(SchedulerOptions options = {}) {
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    Create(std::move(gpu));
    scheduler_ = std::make_unique<Scheduler>(cluster_, clock_, ids_, std::move(options));
  }

  template <typename T>
  void Create(T object) {
    const auto created = cluster_.Create(api::Object::Of(std::move(object)));
    DRAY_CHECK(created.ok(), base::Message(created.status()));
  }
  template <typename T>
  static const api::KindInfo& KindOf() {
    return api::HubKind(api::TypeInfoOf<T>());
  }
  template <typename T>
  const T* Find(std::string_view name, std::string_view namespace_ = "ns") {
    found_ = cluster_.Stored(KindOf<T>(), namespace_, name);
    return found_ ? found_->As<T>() : nullptr;
  }
  // A node with `gpus` devices in a pool of its name.
  void AddNode(const std::string& name, int gpus, std::string_view cpu = "8") {
    Create(MakeNode(name, cpu));
    if (gpus > 0) Create(GpuSlice(name, gpus));
  }
  static api::ResourceSlice GpuSlice(const std::string& node, int gpus) {
    testing::Slice slice("slice-" + node);
    slice.Pool(node).OnNode(node);
    for (int i = 0; i < gpus; ++i) slice.With(testing::Device("gpu-" + std::to_string(i)));
    return slice;
  }
  // A claim for `count` devices of the class, called as the pod that uses it.
  static api::ResourceClaim GpuClaim(const std::string& name, int count) {
    api::ResourceClaim claim;
    claim.metadata.namespace_ = "ns";
    claim.metadata.name = name;
    api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
    request.name = "gpus";
    request.exactly.emplace();
    request.exactly->device_class_name = "gpu";
    request.exactly->allocation_mode = api::kAllocationModeExactCount;
    request.exactly->count = count;
    return claim;
  }
  static api::Pod WithClaim(api::Pod pod, const std::string& claim) {
    pod.spec.resource_claims.push_back({.name = "gpus", .resource_claim_name = claim});
    pod.spec.containers.front().resources.claims.push_back({.name = "gpus"});
    return pod;
  }
  void AddGpuPod(const std::string& name, int gpus, std::int32_t priority = 0) {
    Create(GpuClaim(name, gpus));
    Create(WithClaim(MakePod({.name = name, .priority = priority}), name));
  }

  // Another scheduler takes over, with nothing but what is stored.
  Scheduler& Restart(SchedulerOptions options = {}) {
    scheduler_ = std::make_unique<Scheduler>(cluster_, clock_, ids_, std::move(options));
    return *scheduler_;
  }

  Scheduler& scheduler() { return *scheduler_; }
  api::MemoryCluster& cluster() { return cluster_; }
  base::ManualClock& clock() { return clock_; }

 private:
  base::ManualClock clock_{base::Time::FromUnix(1'000'000)};
  base::SeededRandomSource random_{1};
  api::MemoryCluster cluster_{clock_, random_, {.validate = false}};
  CountedIds ids_;
  std::unique_ptr<Scheduler> scheduler_;
  std::optional<api::Object> found_;
};

}  // namespace dray::scheduler
