// SPDX-License-Identifier: Apache-2.0
//
// What controllers take for the life of many pods, the cluster in memory included.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "api/memory_cluster.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/workloads.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "controllers/all_controllers.h"
#include "controllers/resource_claim_controller.h"

namespace dray::controllers {
namespace {

struct World {
  base::ManualClock clock{base::Time::FromUnix(1'700'000'000)};
  base::SeededRandomSource random{1};
  api::MemoryCluster cluster{clock, random};
};

api::PodSpec SpecWithClaim() {
  api::PodSpec spec;
  spec.containers.push_back({.name = "c", .image = "i"});
  spec.resource_claims.push_back({.name = "gpu", .resource_claim_template_name = "t"});
  return spec;
}

api::ResourceClaimTemplate Template() {
  api::ResourceClaimTemplate made;
  made.metadata.namespace_ = "ns";
  made.metadata.name = "t";
  api::DeviceRequest& request = made.spec.spec.devices.requests.emplace_back();
  request.name = "gpu";
  request.exactly.emplace().device_class_name = "gpu.example.com";
  return made;
}

void Load(World& world, std::int64_t pods) {
  std::vector<api::Object> objects = {api::Object::Of(Template())};
  for (std::int64_t i = 0; i < pods; ++i) {
    api::Pod pod;
    pod.metadata.namespace_ = "ns";
    pod.metadata.name = "pod-" + std::to_string(i);
    pod.spec = SpecWithClaim();
    pod.status.phase = api::kPodPending;
    objects.push_back(api::Object::Of(std::move(pod)));
  }
  DRAY_CHECK(world.cluster.Load(std::move(objects)).ok());
}

// A claim for every pod, and its name in the pod's status.
void BM_Controllers_ClaimsFromTemplates(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    World world;
    Load(world, state.range(0));
    ResourceClaimController controller(world.cluster, world.clock, {});
    state.ResumeTiming();
    const std::size_t writes = controller.Sync();
    DRAY_CHECK(writes == 2 * static_cast<std::size_t>(state.range(0)));
  }
  state.counters["pods_per_second"] = benchmark::Counter(
      static_cast<double>(state.iterations() * state.range(0)), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Controllers_ClaimsFromTemplates)
    ->ArgName("pods")
    ->Arg(500)
    ->Arg(5'000)
    ->Unit(benchmark::kMillisecond);

// All controllers: a deployment's set, its pods and their claims.
void BM_Controllers_Deployment(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    World world;
    Load(world, 0);
    api::Deployment deployment;
    deployment.metadata.namespace_ = "ns";
    deployment.metadata.name = "web";
    deployment.spec.replicas = static_cast<std::int32_t>(state.range(0));
    deployment.spec.selector.emplace().match_labels["app"] = "web";
    deployment.spec.template_.metadata.labels["app"] = "web";
    deployment.spec.template_.spec = SpecWithClaim();
    DRAY_CHECK(world.cluster.Create(api::Object::Of(std::move(deployment))).ok());
    const ControllerList controllers = MakeControllers(world.cluster, world.clock);
    state.ResumeTiming();
    SyncAll(controllers);
  }
  state.counters["pods_per_second"] = benchmark::Counter(
      static_cast<double>(state.iterations() * state.range(0)), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Controllers_Deployment)
    ->ArgName("pods")
    ->Arg(500)
    ->Arg(5'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dray::controllers
