// SPDX-License-Identifier: Apache-2.0
//
// Whole attempts at a group, through the scheduler: 1,000 pods that take the eight devices of a node each, on 2,000
// nodes; where all fit, where one is too many, and where others have to go. Time of the processor.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/device_class.h"
#include "api/memory_cluster.h"
#include "api/pod_claims.h"
#include "api/pod_group.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "fmt/format.h"
#include "scheduler/scheduler.h"
#include "testing/slice_builder.h"

namespace dray::scheduler {
namespace {

constexpr int kDevices = 8;

double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class CountedIds final : public Ids {
 public:
  std::string Uid() override { return "00000000-0000-4000-8000-" + std::to_string(next_++); }

 private:
  std::uint64_t next_ = 100'000'000'000;
};

api::ResourceClaim ClaimFor(const std::string& name, int count) {
  api::ResourceClaim claim;
  claim.metadata.namespace_ = "ns";
  claim.metadata.name = name;
  claim.metadata.uid = "uid-claim-" + name;
  api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
  request.name = "r";
  request.exactly.emplace();
  request.exactly->device_class_name = "gpu";
  request.exactly->allocation_mode = api::kAllocationModeExactCount;
  request.exactly->count = count;
  return claim;
}

api::Pod PodWith(const std::string& name, std::int32_t priority) {
  api::Pod pod;
  pod.metadata.namespace_ = "ns";
  pod.metadata.name = name;
  pod.metadata.uid = "uid-" + name;
  pod.spec.scheduler_name = api::kDefaultSchedulerName;
  pod.spec.priority = priority;
  api::Container& container = pod.spec.containers.emplace_back();
  container.name = "c";
  container.image = "i";
  container.resources.requests["cpu"] = testing::ToQuantity("1");
  container.resources.claims.push_back({.name = "d"});
  pod.spec.resource_claims.push_back({.name = "d", .resource_claim_name = name});
  return pod;
}

struct Case {
  std::int64_t nodes = 2000;
  std::int64_t pods = 1000;
  std::int64_t taken = 0;     // nodes of which somebody has a device
  std::int32_t priority = 0;  // of those
};

class Setting {
 public:
  explicit Setting(const Case& given) {
    std::vector<api::Object> objects;
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    objects.push_back(api::Object::Of(std::move(gpu)));
    for (std::int64_t i = 0; i < given.nodes; ++i) {
      AddNode(fmt::format("node-{:05}", i), i < given.taken, given.priority, objects);
    }
    api::PodGroup group;
    group.metadata.namespace_ = "ns";
    group.metadata.name = "g";
    group.spec.priority = 100;
    group.spec.scheduling_policy.gang.emplace().min_count = static_cast<std::int32_t>(given.pods);
    objects.push_back(api::Object::Of(std::move(group)));
    for (std::int64_t i = 0; i < given.pods; ++i) {
      const std::string name = fmt::format("pod-{:05}", i);
      api::Pod pod = PodWith(name, 100);
      pod.spec.scheduling_group.emplace().pod_group_name = "g";
      objects.push_back(api::Object::Of(ClaimFor(name, kDevices)));
      objects.push_back(api::Object::Of(std::move(pod)));
    }
    SchedulerOptions options;
    options.gates.Set(api::Gate::kGenericWorkload, true);
    options.config.profiles.front().preemption.devices = true;
    cluster_ = std::make_unique<api::MemoryCluster>(
        clock_, random_, api::MemoryClusterOptions{.gates = options.gates, .validate = false});
    DRAY_CHECK(cluster_->Load(std::move(objects)).ok());
    scheduler_ = std::make_unique<Scheduler>(*cluster_, clock_, ids_, std::move(options));
    scheduler_->Sync();
  }
  Scheduler& scheduler() { return *scheduler_; }

 private:
  static void AddNode(const std::string& name, bool taken, std::int32_t priority,
                      std::vector<api::Object>& objects) {
    api::Node node;
    node.metadata.name = name;
    node.metadata.labels["kubernetes.io/hostname"] = name;
    for (auto* list : {&node.status.capacity, &node.status.allocatable}) {
      (*list)["cpu"] = testing::ToQuantity("64");
      (*list)["memory"] = testing::ToQuantity("256Gi");
      (*list)["pods"] = testing::ToQuantity("110");
    }
    objects.push_back(api::Object::Of(std::move(node)));
    testing::Slice slice("slice-" + name);
    slice.Pool(name).OnNode(name);
    for (int d = 0; d < kDevices; ++d) slice.With(testing::Device(fmt::format("gpu-{}", d)));
    objects.push_back(api::Object::Of<api::ResourceSlice>(slice));
    if (!taken) return;
    const std::string pod_name = "other-" + name;
    api::Pod pod = PodWith(pod_name, priority);
    pod.spec.node_name = name;
    pod.status.phase = "Running";
    api::ResourceClaim claim = ClaimFor(pod_name, 1);
    claim.metadata.finalizers.emplace_back(api::kClaimFinalizer);
    claim.status.allocation.emplace();
    claim.status.allocation->devices.results.push_back(
        {.request = "r", .driver = std::string(testing::kDriver), .pool = name, .device = "gpu-0"});
    claim.status.reserved_for.push_back(
        {.resource = "pods", .name = pod_name, .uid = pod.metadata.uid});
    objects.push_back(api::Object::Of(std::move(claim)));
    objects.push_back(api::Object::Of(std::move(pod)));
  }

  base::ManualClock clock_{base::Time::FromUnix(1'000'000)};
  base::SeededRandomSource random_{1};
  std::unique_ptr<api::MemoryCluster> cluster_;
  CountedIds ids_;
  std::unique_ptr<Scheduler> scheduler_;
};

// Until the last is bound, writes included.
void BM_Group_Placed(benchmark::State& state) {
  for (auto _ : state) {
    Setting setting({.nodes = state.range(0), .pods = state.range(1)});
    const double before = ThreadSeconds();
    setting.scheduler().Run();
    const double spent = ThreadSeconds() - before;
    DRAY_CHECK(setting.scheduler().statistics().bound ==
               static_cast<std::uint64_t>(state.range(1)));
    state.SetIterationTime(spent);
    state.counters["node_evaluations"] =
        static_cast<double>(setting.scheduler().statistics().node_evaluations);
    state.counters["allocator_steps"] =
        static_cast<double>(setting.scheduler().statistics().allocator_steps);
  }
}
BENCHMARK(BM_Group_Placed)
    ->ArgNames({"nodes", "pods"})
    ->Args({2000, 1000})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

// One node too few has all of its devices, and those who have one are as important.
void BM_Group_Refused(benchmark::State& state) {
  for (auto _ : state) {
    const std::int64_t taken = state.range(0) - state.range(1) + 1;
    Setting setting(
        {.nodes = state.range(0), .pods = state.range(1), .taken = taken, .priority = 100});
    const double before = ThreadSeconds();
    const auto outcome = setting.scheduler().ScheduleOne();
    const double spent = ThreadSeconds() - before;
    DRAY_CHECK(outcome && outcome->kind == Outcome::Kind::kUnschedulable, "it fits");
    state.SetIterationTime(spent);
    state.counters["node_evaluations"] =
        static_cast<double>(setting.scheduler().statistics().node_evaluations);
    state.counters["allocator_steps"] =
        static_cast<double>(setting.scheduler().statistics().allocator_steps);
  }
}
BENCHMARK(BM_Group_Refused)
    ->ArgNames({"nodes", "pods"})
    ->Args({2000, 1000})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

// Somebody less important has a device of every node: as many go as there are pods.
void BM_Group_Preempts(benchmark::State& state) {
  for (auto _ : state) {
    Setting setting(
        {.nodes = state.range(0), .pods = state.range(1), .taken = state.range(0), .priority = 1});
    const double before = ThreadSeconds();
    const auto outcome = setting.scheduler().ScheduleOne();
    const double spent = ThreadSeconds() - before;
    DRAY_CHECK(outcome && outcome->kind == Outcome::Kind::kUnschedulable, "it fits");
    DRAY_CHECK(setting.scheduler().rooms_kept() == static_cast<std::size_t>(state.range(1)),
               "nobody was sent away");
    state.SetIterationTime(spent);
    state.counters["allocator_steps"] =
        static_cast<double>(setting.scheduler().statistics().allocator_steps);
  }
}
BENCHMARK(BM_Group_Preempts)
    ->ArgNames({"nodes", "pods"})
    ->Args({100, 100})
    ->Args({2000, 100})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dray::scheduler
