// SPDX-License-Identifier: Apache-2.0
//
// Pods per second from the queue to the node, against a cluster in memory: every write (claim
// status, binding, event) and every change that comes back of it is included; loading the cluster,
// creating the pods and the first pod, which looks at every node, are not.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/memory_cluster.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "scheduler/scheduler.h"

namespace dray::scheduler {
namespace {

constexpr int kPods = 20'000;
constexpr int kRefusedPods = 500;

// Of the processor: what else the machine does is not counted.
double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

base::Quantity Amount(std::string_view text) { return *base::Quantity::Parse(text); }

std::string NodeName(std::int64_t i) {
  std::string digits = std::to_string(i);
  return "node-" + std::string(6 - digits.size(), '0') + digits;
}

api::ClusterNode MakeNode(std::int64_t i) {
  api::ClusterNode node;
  node.metadata.name = NodeName(i);
  node.metadata.labels["kubernetes.io/hostname"] = node.metadata.name;
  node.metadata.labels["topology.kubernetes.io/zone"] = "zone-" + std::to_string(i % 3);
  node.status.allocatable["cpu"] = Amount("64");
  node.status.allocatable["memory"] = Amount("512Gi");
  node.status.allocatable["pods"] = Amount("110");
  node.status.capacity = node.status.allocatable;
  return node;
}

api::ResourceSlice MakeSlice(std::int64_t node, std::int64_t devices) {
  api::ResourceSlice slice;
  slice.metadata.name = NodeName(node) + "-gpu.example.com";
  slice.spec.driver = "gpu.example.com";
  slice.spec.pool = {.name = NodeName(node), .generation = 1, .resource_slice_count = 1};
  slice.spec.node_name = NodeName(node);
  auto& list = slice.spec.devices.emplace();
  for (std::int64_t d = 0; d < devices; ++d) {
    api::Device& device = list.emplace_back();
    device.name = "gpu-" + std::to_string(d);
    device.attributes["model"].string_value = base::OptionalText("H100");
    device.attributes["index"].int_value = d;
    device.capacity["memory"].value = Amount("80Gi");
  }
  return slice;
}

api::DeviceClass MakeClass() {
  api::DeviceClass gpu;
  gpu.metadata.name = "gpu.example.com";
  gpu.spec.selectors.emplace_back().cel.emplace().expression =
      "device.driver == 'gpu.example.com' && device.attributes['gpu.example.com'].model == 'H100'";
  return gpu;
}

// As the claims' controller makes them from a template.
api::ResourceClaim MakeClaim(const std::string& pod, std::int64_t count) {
  api::ResourceClaim claim;
  claim.metadata.namespace_ = "default";
  claim.metadata.name = pod + "-gpu";
  claim.metadata.uid = "uid-claim-" + pod;
  claim.metadata.annotations[api::kPodClaimNameAnnotation] = "gpu";
  claim.metadata.owner_references.push_back(
      {.api_version = "v1", .kind = "Pod", .name = pod, .uid = "uid-" + pod, .controller = true});
  api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
  request.name = "gpu";
  request.exactly.emplace();
  request.exactly->device_class_name = "gpu.example.com";
  request.exactly->allocation_mode = api::kAllocationModeExactCount;
  request.exactly->count = count;
  return claim;
}

api::Pod MakePod(const std::string& name, bool claim) {
  api::Pod pod;
  pod.metadata.namespace_ = "default";
  pod.metadata.name = name;
  pod.metadata.uid = "uid-" + name;
  pod.metadata.labels["app"] = "training";
  pod.spec.scheduler_name = api::kDefaultSchedulerName;
  api::Container& container = pod.spec.containers.emplace_back();
  container.name = "main";
  container.image = "registry.example.com/training:1";
  container.resources.requests["cpu"] = Amount("1");
  container.resources.requests["memory"] = Amount("4Gi");
  if (!claim) return pod;
  container.resources.claims.push_back({.name = "gpu"});
  pod.spec.resource_claims.push_back({.name = "gpu", .resource_claim_template_name = "gpu"});
  pod.status.resource_claim_statuses.emplace().push_back(
      {.name = "gpu", .resource_claim_name = name + "-gpu"});
  return pod;
}

class CountedIds final : public Ids {
 public:
  std::string Uid() override { return "00000000-0000-4000-8000-" + std::to_string(next_++); }

 private:
  std::uint64_t next_ = 100'000'000'000;
};

struct Setting {
  Setting(std::int64_t nodes, std::int64_t devices, int pods, std::int64_t asked) {
    std::vector<api::Object> objects;
    objects.push_back(api::Object::Of(MakeClass()));
    for (std::int64_t i = 0; i < nodes; ++i) {
      objects.push_back(api::Object::Of(MakeNode(i)));
      if (devices > 0) objects.push_back(api::Object::Of(MakeSlice(i, devices)));
    }
    for (int i = 0; i < pods; ++i) {
      const std::string name = "pod-" + std::to_string(i);
      if (asked > 0) objects.push_back(api::Object::Of(MakeClaim(name, asked)));
      objects.push_back(api::Object::Of(MakePod(name, asked > 0)));
    }
    DRAY_CHECK(cluster.Load(std::move(objects)).ok());
    scheduler = std::make_unique<Scheduler>(cluster, clock, ids, SchedulerOptions{});
    scheduler->Sync();
    DRAY_CHECK(scheduler->ScheduleOne().has_value());
  }
  base::SystemClock clock;
  base::SeededRandomSource random{1};
  api::MemoryCluster cluster{clock, random, {.validate = false}};
  CountedIds ids;
  std::unique_ptr<Scheduler> scheduler;
};

void Measure(benchmark::State& state, Setting& setting) {
  const double start = ThreadSeconds();
  const std::vector<Outcome> outcomes = setting.scheduler->Run();
  const double took = ThreadSeconds() - start;
  const Statistics& statistics = setting.scheduler->statistics();
  state.SetIterationTime(took);
  state.counters["pods/s"] = static_cast<double>(outcomes.size()) / took;
  state.counters["nodes/pod"] =
      static_cast<double>(statistics.node_evaluations) / static_cast<double>(statistics.attempts);
}

// One device each, from a template.
void BM_Scheduler_Devices(benchmark::State& state) {
  for (auto _ : state) {
    Setting setting(state.range(0), state.range(1), kPods, 1);
    Measure(state, setting);
    DRAY_CHECK(setting.scheduler->statistics().bound == kPods);
  }
}
BENCHMARK(BM_Scheduler_Devices)
    ->ArgNames({"nodes", "devices"})
    ->Args({5'000, 10})
    ->Args({100'000, 16})
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Cpu and memory alone.
void BM_Scheduler_Plain(benchmark::State& state) {
  for (auto _ : state) {
    Setting setting(state.range(0), 0, kPods, 0);
    Measure(state, setting);
    DRAY_CHECK(setting.scheduler->statistics().bound == kPods);
  }
}
BENCHMARK(BM_Scheduler_Plain)
    ->ArgNames({"nodes", "devices"})
    ->Args({5'000, 0})
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// More devices than any node has: each pod is explained.
void BM_Scheduler_Refused(benchmark::State& state) {
  for (auto _ : state) {
    Setting setting(state.range(0), state.range(1), kRefusedPods, state.range(1) + 1);
    Measure(state, setting);
    DRAY_CHECK(setting.scheduler->statistics().unschedulable >= kRefusedPods);
  }
}
BENCHMARK(BM_Scheduler_Refused)
    ->ArgNames({"nodes", "devices"})
    ->Args({5'000, 10})
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dray::scheduler
