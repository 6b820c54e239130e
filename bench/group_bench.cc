// SPDX-License-Identifier: Apache-2.0
//
// Whole attempts at a group, through the scheduler: 1,000 pods that take the eight devices of a node each, on 2,000
// nodes; where all fit, where one is too many, where others have to go; also where no two nodes are alike, where pods
// take parts of devices, and beside groups that wait for good. Time of the processor.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
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
  bool differ = false;        // each node has amounts and attributes of its own
  bool shares = false;        // half of each of eight devices, so that two pods have a node
  std::int64_t hopeless = 0;  // further groups, each of one pod more than there are nodes
};

class Setting {
 public:
  explicit Setting(const Case& given) {
    std::vector<api::Object> objects;
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    objects.push_back(api::Object::Of(std::move(gpu)));
    for (std::int64_t i = 0; i < given.nodes; ++i) {
      AddNode(fmt::format("node-{:05}", i), i, given, objects);
    }
    AddGroup("g", given.pods, given.shares, objects);
    for (std::int64_t i = 0; i < given.hopeless; ++i) {
      AddGroup(fmt::format("hopeless-{:02}", i), given.nodes + 1, false, objects);
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
  base::ManualClock& clock() { return clock_; }

  // Somebody alone with a device.
  void AddPod(const std::string& name) {
    DRAY_CHECK(cluster_->Create(api::Object::Of(ClaimFor(name, 1))).ok());
    DRAY_CHECK(cluster_->Create(api::Object::Of(PodWith(name, 100))).ok());
  }
  // Who gives it back, as controllers would see to.
  void RemovePod(const std::string& name) {
    const api::KindInfo& claims = api::HubKind(api::TypeInfoOf<api::ResourceClaim>());
    DRAY_CHECK(cluster_->Delete(api::HubKind(api::TypeInfoOf<api::Pod>()), "ns", name).ok());
    api::ResourceClaim claim = *cluster_->Stored(claims, "ns", name)->As<api::ResourceClaim>();
    claim.status = {};
    DRAY_CHECK(cluster_->UpdateStatus(api::Object::Of(std::move(claim))).ok());
  }

 private:
  static void AddGroup(const std::string& name, std::int64_t pods, bool shares,
                       std::vector<api::Object>& objects) {
    api::PodGroup group;
    group.metadata.namespace_ = "ns";
    group.metadata.name = name;
    group.spec.priority = 100;
    group.spec.scheduling_policy.gang.emplace().min_count = static_cast<std::int32_t>(pods);
    objects.push_back(api::Object::Of(std::move(group)));
    for (std::int64_t i = 0; i < pods; ++i) {
      const std::string member = fmt::format("{}-{:05}", name, i);
      api::Pod pod = PodWith(member, 100);
      pod.spec.scheduling_group.emplace().pod_group_name = name;
      api::ResourceClaim claim = ClaimFor(member, kDevices);
      if (shares) {
        api::ExactDeviceRequest& request = *claim.spec.devices.requests.front().exactly;
        request.capacity.emplace().requests["memory"] = testing::ToQuantity("40Gi");
        claim.spec.devices.constraints.emplace_back().distinct_attribute = "gpu.example.com/slot";
      }
      objects.push_back(api::Object::Of(std::move(claim)));
      objects.push_back(api::Object::Of(std::move(pod)));
    }
  }

  static void AddNode(const std::string& name, std::int64_t number, const Case& given,
                      std::vector<api::Object>& objects) {
    const bool taken = number < given.taken;
    api::Node node;
    node.metadata.name = name;
    node.metadata.labels["kubernetes.io/hostname"] = name;
    for (auto* list : {&node.status.capacity, &node.status.allocatable}) {
      (*list)["cpu"] = testing::ToQuantity("64");
      (*list)["memory"] =
          testing::ToQuantity(fmt::format("{}Mi", 262'144 + (given.differ ? number : 0)));
      (*list)["pods"] = testing::ToQuantity("110");
    }
    objects.push_back(api::Object::Of(std::move(node)));
    testing::Slice slice("slice-" + name);
    slice.Pool(name).OnNode(name);
    for (int d = 0; d < kDevices; ++d) {
      testing::Device device(fmt::format("gpu-{}", d));
      device.Int("slot", d);
      if (given.differ) device.String("serial", fmt::format("{}-{}", name, d));
      if (given.shares) device.Shared().Capacity("memory", "80Gi");
      slice.With(device);
    }
    objects.push_back(api::Object::Of<api::ResourceSlice>(slice));
    if (!taken) return;
    const std::string pod_name = "other-" + name;
    api::Pod pod = PodWith(pod_name, given.priority);
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
void Place(benchmark::State& state, const Case& given) {
  for (auto _ : state) {
    Setting setting(given);
    const double before = ThreadSeconds();
    setting.scheduler().Run();
    const double spent = ThreadSeconds() - before;
    DRAY_CHECK(setting.scheduler().statistics().bound == static_cast<std::uint64_t>(given.pods));
    state.SetIterationTime(spent);
    state.counters["node_evaluations"] =
        static_cast<double>(setting.scheduler().statistics().node_evaluations);
    state.counters["allocator_steps"] =
        static_cast<double>(setting.scheduler().statistics().allocator_steps);
  }
}
void BM_Group_Placed(benchmark::State& state) {
  Place(state, {.nodes = state.range(0), .pods = state.range(1)});
}
BENCHMARK(BM_Group_Placed)
    ->ArgNames({"nodes", "pods"})
    ->Args({2000, 1000})
    ->Args({5000, 5000})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

void BM_Group_PlacedOnNodesThatDiffer(benchmark::State& state) {
  Place(state, {.nodes = state.range(0), .pods = state.range(1), .differ = true});
}
BENCHMARK(BM_Group_PlacedOnNodesThatDiffer)
    ->ArgNames({"nodes", "pods"})
    ->Args({2000, 1000})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

void BM_Group_PlacedWithShares(benchmark::State& state) {
  Place(state, {.nodes = state.range(0), .pods = state.range(1), .shares = true});
}
BENCHMARK(BM_Group_PlacedWithShares)
    ->ArgNames({"nodes", "pods"})
    ->Args({2000, 1000})
    ->Args({500, 1000})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

void Refuse(benchmark::State& state, const Case& given) {
  for (auto _ : state) {
    Setting setting(given);
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
// One node too few has all of its devices, and those who have one are as important.
void BM_Group_Refused(benchmark::State& state) {
  Refuse(state, {.nodes = state.range(0),
                 .pods = state.range(1),
                 .taken = state.range(0) - state.range(1) + 1,
                 .priority = 100});
}
BENCHMARK(BM_Group_Refused)
    ->ArgNames({"nodes", "pods"})
    ->Args({2000, 1000})
    ->Args({5000, 5000})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

void BM_Group_RefusedOnNodesThatDiffer(benchmark::State& state) {
  Refuse(state, {.nodes = state.range(0),
                 .pods = state.range(1),
                 .taken = state.range(0) - state.range(1) + 1,
                 .priority = 100,
                 .differ = true});
}
BENCHMARK(BM_Group_RefusedOnNodesThatDiffer)
    ->ArgNames({"nodes", "pods"})
    ->Args({2000, 1000})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

void BM_Group_RefusedWithShares(benchmark::State& state) {
  Refuse(state, {.nodes = state.range(0), .pods = state.range(1), .shares = true});
}
BENCHMARK(BM_Group_RefusedWithShares)
    ->ArgNames({"nodes", "pods"})
    ->Args({500, 1001})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

// Somebody comes and goes, ten times a second, while groups wait that never fit.
void BM_Group_OthersBesideHopelessGroups(benchmark::State& state) {
  constexpr int kOthers = 100;
  for (auto _ : state) {
    Setting setting({.nodes = state.range(0), .pods = 0, .hopeless = state.range(1)});
    Scheduler& scheduler = setting.scheduler();
    scheduler.Run();
    const double before = ThreadSeconds();
    double longest = 0;
    for (int i = 0; i < kOthers; ++i) {
      const double began = ThreadSeconds();
      const std::string name = fmt::format("other-{}", i);
      setting.AddPod(name);
      scheduler.Run();
      setting.RemovePod(name);
      scheduler.Run();
      setting.clock().Advance(std::chrono::milliseconds(100));
      scheduler.Tick();
      scheduler.Run();
      longest = std::max(longest, ThreadSeconds() - began);
    }
    const double spent = ThreadSeconds() - before;
    DRAY_CHECK(scheduler.statistics().bound == kOthers, "somebody was not bound");
    state.SetIterationTime(spent);
    state.counters["ms_per_pod"] = spent * 1e3 / kOthers;
    state.counters["longest_ms"] = longest * 1e3;
  }
}
BENCHMARK(BM_Group_OthersBesideHopelessGroups)
    ->ArgNames({"nodes", "groups"})
    ->Args({1000, 0})
    ->Args({1000, 1})
    ->Args({1000, 20})
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
