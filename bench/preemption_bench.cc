// SPDX-License-Identifier: Apache-2.0
//
// Preemption by device on full clusters: from the attempt of a pod that fits nowhere to its victims'
// deletion, every node asked before. Nodes have ten devices, each in use by a pod of one of four
// priorities. Time of the processor; with it how many nodes were looked at and allocator steps per pod.
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

constexpr int kDevices = 10;
constexpr int kPreemptors = 64;

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
  api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
  request.name = "r";
  request.exactly.emplace();
  request.exactly->device_class_name = "gpu";
  request.exactly->allocation_mode = api::kAllocationModeExactCount;
  request.exactly->count = count;
  return claim;
}

api::Pod PodWith(const std::string& name, std::int32_t priority, const std::string& node) {
  api::Pod pod;
  pod.metadata.namespace_ = "ns";
  pod.metadata.name = name;
  pod.metadata.uid = "uid-" + name;
  pod.spec.scheduler_name = api::kDefaultSchedulerName;
  pod.spec.priority = priority;
  pod.spec.node_name = node;
  api::Container& container = pod.spec.containers.emplace_back();
  container.name = "c";
  container.image = "i";
  container.resources.requests["cpu"] = testing::ToQuantity("1");
  container.resources.claims.push_back({.name = "d"});
  pod.spec.resource_claims.push_back({.name = "d", .resource_claim_name = name});
  return pod;
}

class Setting {
 public:
  explicit Setting(std::int64_t nodes) {
    std::vector<api::Object> objects;
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    objects.push_back(api::Object::Of(std::move(gpu)));
    for (std::int64_t i = 0; i < nodes; ++i) Fill(fmt::format("node-{:05}", i), i, objects);
    DRAY_CHECK(cluster_.Load(std::move(objects)).ok());
    SchedulerOptions options;
    options.config.profiles.front().preemption.devices = true;
    scheduler_ = std::make_unique<Scheduler>(cluster_, clock_, ids_, std::move(options));
    scheduler_->Run();
  }

  void Add(int number, int devices) {
    const std::string name = fmt::format("high-{}", number);
    DRAY_CHECK(cluster_.Create(api::Object::Of(ClaimFor(name, devices))).ok());
    DRAY_CHECK(cluster_.Create(api::Object::Of(PodWith(name, 100, ""))).ok());
    scheduler_->Sync();
  }
  Scheduler& scheduler() { return *scheduler_; }

 private:
  static void Fill(const std::string& name, std::int64_t number,
                   std::vector<api::Object>& objects) {
    api::Node node;
    node.metadata.name = name;
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
    for (int d = 0; d < kDevices; ++d) {
      const std::string pod_name = fmt::format("low-{}-{}", name, d);
      api::Pod pod = PodWith(pod_name, static_cast<std::int32_t>((number + d) % 4), name);
      pod.status.phase = "Running";
      pod.status.start_time = base::Time::FromUnix(1'000 + (number * 7 + d) % 1'000);
      api::ResourceClaim claim = ClaimFor(pod_name, 1);
      claim.metadata.uid = "uid-claim-" + pod_name;
      claim.metadata.finalizers.emplace_back(api::kClaimFinalizer);
      claim.status.allocation.emplace();
      claim.status.allocation->devices.results.push_back({.request = "r",
                                                          .driver = std::string(testing::kDriver),
                                                          .pool = name,
                                                          .device = fmt::format("gpu-{}", d)});
      claim.status.reserved_for.push_back(
          {.resource = "pods", .name = pod_name, .uid = pod.metadata.uid});
      objects.push_back(api::Object::Of(std::move(claim)));
      objects.push_back(api::Object::Of(std::move(pod)));
    }
  }

  base::ManualClock clock_{base::Time::FromUnix(1'000'000)};
  base::SeededRandomSource random_{1};
  api::MemoryCluster cluster_{clock_, random_, {.validate = false}};
  CountedIds ids_;
  std::unique_ptr<Scheduler> scheduler_;
};

void BM_Preemption_ByDevice(benchmark::State& state) {
  const int devices = static_cast<int>(state.range(1));
  for (auto _ : state) {
    Setting setting(state.range(0));
    double spent = 0;
    const std::uint64_t steps = setting.scheduler().statistics().allocator_steps;
    for (int i = 0; i < kPreemptors; ++i) {
      setting.Add(i, devices);
      const double before = ThreadSeconds();
      const auto outcome = setting.scheduler().ScheduleOne();
      spent += ThreadSeconds() - before;
      DRAY_CHECK(outcome.has_value() && outcome->kind == Outcome::Kind::kUnschedulable,
                 "it fits somewhere");
      DRAY_CHECK(setting.scheduler().rooms_kept() == static_cast<std::size_t>(i) + 1,
                 "nobody was sent away");
    }
    state.SetIterationTime(spent);
    state.counters["ms_per_pod"] = spent * 1e3 / kPreemptors;
    state.counters["allocator_steps_per_pod"] =
        static_cast<double>(setting.scheduler().statistics().allocator_steps - steps) / kPreemptors;
  }
}
BENCHMARK(BM_Preemption_ByDevice)
    ->ArgNames({"nodes", "devices"})
    ->Args({500, 1})
    ->Args({5000, 1})
    ->Args({5000, 4})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dray::scheduler
