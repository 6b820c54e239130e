// SPDX-License-Identifier: Apache-2.0
//
// Deciding on one node. Warm, as a scheduler that goes through many nodes is: the plan is made, the
// usage is up to date, expressions have been evaluated, and the allocator has been used before.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "engine/engine.h"
#include "fmt/format.h"
#include "model/dice.h"
#include "model/hard_instances.h"

namespace dray::allocator {
namespace {

constexpr const char* kNuma = "topology.example.com/numa";

// A node whose devices, one slice per kind, are one kind's after the other.
struct Node {
  model::Instance instance;

  Node() {
    instance.features = model::Features::All();
    instance.node.metadata.name = "node-1";
  }
  std::vector<api::Device>& Devices(const std::string& kind) {
    api::DeviceClass c;
    c.metadata.name = kind;
    c.spec.selectors.push_back(
        {.cel = api::CELDeviceSelector{
             .expression = fmt::format("device.driver == '{}.example.com'", kind)}});
    instance.classes.push_back(std::move(c));
    api::ResourceSlice& slice = NewSlice(kind, kind);
    slice.spec.devices.emplace();
    return *slice.spec.devices;
  }
  api::ResourceSlice& NewSlice(const std::string& kind, const std::string& name) {
    api::ResourceSlice slice;
    slice.metadata.name = name;
    slice.spec.driver = kind + ".example.com";
    slice.spec.pool = {.name = kind, .generation = 1, .resource_slice_count = 1};
    slice.spec.node_name = "node-1";
    return instance.slices.emplace_back(std::move(slice));
  }
  api::ExactDeviceRequest& Request(const std::string& name, const std::string& kind) {
    if (instance.claims.empty()) instance.claims.emplace_back().metadata.name = "claim";
    auto& request = instance.claims[0].spec.devices.requests.emplace_back();
    request.name = name;
    request.exactly.emplace();
    request.exactly->device_class_name = kind;
    request.exactly->allocation_mode = "ExactCount";
    request.exactly->count = 1;
    return *request.exactly;
  }
  void Take(const std::string& kind, const std::string& device) {
    api::ResourceClaim& claim = instance.allocated_claims.emplace_back();
    claim.metadata.name = claim.metadata.uid = "holds-" + device;
    claim.status.allocation.emplace().devices.results = {
        {.request = "r", .driver = kind + ".example.com", .pool = kind, .device = device}};
  }
};

Node TenDevices(int used, bool selector) {
  Node node;
  auto& devices = node.Devices("gpu");
  for (int i = 0; i < 10; ++i) {
    api::Device& device = devices.emplace_back();
    device.name = fmt::format("gpu-{}", i);
    device.attributes["model"].string_value = i < 2 ? "A100" : "H100";
    device.attributes["index"].int_value = i;
    device.capacity["memory"].value = *base::Quantity::Parse("80Gi");
  }
  auto& request = node.Request("gpu", "gpu");
  if (selector) {
    request.selectors = {
        {.cel = api::CELDeviceSelector{
             .expression = "device.attributes['gpu.example.com'].model == 'H100' && "
                           "device.capacity['gpu.example.com'].memory.isGreaterThan("
                           "quantity('40Gi'))"}}};
  }
  for (int i = 0; i < used; ++i) node.Take("gpu", fmt::format("gpu-{}", i));
  return node;
}

// GPU, NIC and CPU of one NUMA node among 24 devices; the first NUMA node has no NIC free.
enum class Numa : std::uint8_t { kStatic, kDerived, kCounters, kGroups, kList };
Node TwentyFourDevices(Numa how) {
  Node node;
  const bool counters_too = how == Numa::kCounters || how == Numa::kGroups;
  for (const std::string kind : {"gpu", "nic", "cpu"}) {
    if (counters_too) {
      api::ResourceSlice& counters = node.NewSlice(kind, kind + "-counters");
      counters.spec.pool.resource_slice_count = 2;
      counters.spec.shared_counters.emplace();
      for (int i = 0; i < 8; ++i) {
        auto& set = counters.spec.shared_counters->emplace_back();
        set.name = fmt::format("set-{}", i);
        set.counters["memory"].value = *base::Quantity::Parse("80Gi");
      }
    }
    auto& devices = node.Devices(kind);
    if (counters_too) node.instance.slices.back().spec.pool.resource_slice_count = 2;
    for (int i = 0; i < 8; ++i) {
      api::Device& device = devices.emplace_back();
      device.name = fmt::format("{}-{}", kind, i);
      auto& numa = device.attributes[kNuma];
      if (how == Numa::kList) {
        numa.MutableLists().int_values = std::vector<std::int64_t>{i / 4, 100 + i / 4};
      } else {
        numa.int_value = i / 4;
      }
      device.attributes["place"].string_value = fmt::format("numa{}-slot{}", i / 4, i);
      if (!counters_too) continue;
      auto& use = device.consumes_counters.emplace_back();
      use.counter_set = fmt::format("set-{}", i);
      use.counters["memory"].value = *base::Quantity::Parse("40Gi");
      if (how == Numa::kGroups) use.compatibility_groups = {"whole", "mig"};
    }
  }
  for (const std::string kind : {"gpu", "nic", "cpu"}) {
    auto& request = node.Request(kind, kind);
    if (how != Numa::kDerived) continue;
    auto& derived = request.derived_attributes.emplace_back();
    derived.name = "numa.example.com/derived";
    derived.expression =
        fmt::format("device.attributes['{}.example.com'].place.split('-')[0]", kind);
  }
  api::DeviceConstraint constraint;
  constraint.match_attribute = how == Numa::kDerived ? "numa.example.com/derived" : kNuma;
  node.instance.claims[0].spec.devices.constraints.push_back(std::move(constraint));
  return node;
}

// A world that has been decided on, and its answer.
struct Warm {
  explicit Warm(model::Instance given, Decision::Kind want)
      : instance(std::move(given)), world(instance) {
    DRAY_CHECK(world.status().ok());
    DRAY_CHECK(Decide() == want);
  }
  Decision::Kind Decide() { return allocator.Decide(*world.plan(), world.usage(), {}).kind; }

  model::Instance instance;
  engine::World world;
  Allocator allocator;
};

void Report(benchmark::State& state, Warm& warm) {
  state.counters["steps"] =
      static_cast<double>(warm.allocator.Decide(*warm.world.plan(), warm.world.usage(), {}).steps);
}

void BM_Allocator_Decide(benchmark::State& state, const Node& node, Decision::Kind want) {
  Warm warm(node.instance, want);
  for (auto _ : state) benchmark::DoNotOptimize(warm.Decide());
  Report(state, warm);
}
BENCHMARK_CAPTURE(BM_Allocator_Decide, free, TenDevices(0, false), Decision::Kind::kFits);
BENCHMARK_CAPTURE(BM_Allocator_Decide, half, TenDevices(5, false), Decision::Kind::kFits);
BENCHMARK_CAPTURE(BM_Allocator_Decide, full, TenDevices(10, false), Decision::Kind::kRefused);
BENCHMARK_CAPTURE(BM_Allocator_Decide, selector, TenDevices(5, true), Decision::Kind::kFits);
BENCHMARK_CAPTURE(BM_Allocator_Decide, numa_of_24, TwentyFourDevices(Numa::kStatic),
                  Decision::Kind::kFits);

void BM_Allocator_DecideAndBuild(benchmark::State& state, const Node& node) {
  Warm warm(node.instance, Decision::Kind::kFits);
  engine::CountedShareIds ids;
  for (auto _ : state) {
    warm.Decide();
    auto results = warm.allocator.Build(ids);
    benchmark::DoNotOptimize(results);
  }
  Report(state, warm);
}
BENCHMARK_CAPTURE(BM_Allocator_DecideAndBuild, free, TenDevices(0, false));
BENCHMARK_CAPTURE(BM_Allocator_DecideAndBuild, half, TenDevices(5, false));
BENCHMARK_CAPTURE(BM_Allocator_DecideAndBuild, selector, TenDevices(5, true));
BENCHMARK_CAPTURE(BM_Allocator_DecideAndBuild, numa_of_24, TwentyFourDevices(Numa::kStatic));

// A claim comes or goes, the node's usage follows, and the next claim is decided.
void BM_Allocator_DecideAfterChange(benchmark::State& state) {
  Warm warm(TenDevices(5, false).instance, Decision::Kind::kFits);
  Node taken;
  taken.Take("gpu", "gpu-7");
  const api::ResourceClaim allocated = taken.instance.allocated_claims[0];
  api::ResourceClaim pending = allocated;
  pending.status.allocation.reset();
  ledger::NodeUsage usage;
  bool on = false;
  for (auto _ : state) {
    on = !on;
    warm.world.ledger().Put(on ? allocated : pending);
    warm.world.ledger().Reclaim();  // as the scheduler does between two attempts
    usage.Update(warm.world.devices(), warm.world.ledger().snapshot());
    benchmark::DoNotOptimize(warm.allocator.Decide(*warm.world.plan(), usage, {}).kind);
  }
}
BENCHMARK(BM_Allocator_DecideAfterChange);

// Seconds of this thread alone: the machine has other things to do.
double Now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// As a multiple of the static match, both measured in turns within each iteration so that what else
// happens on the machine happens to both. The middle of all iterations.
void BM_Allocator_TimesStaticMatch(benchmark::State& state, Numa how, Numa compared) {
  Warm plain(TwentyFourDevices(compared).instance, Decision::Kind::kFits);
  Warm other(TwentyFourDevices(how).instance, Decision::Kind::kFits);
  constexpr int kTimes = 200;
  std::vector<double> ratios;
  const auto run = [&](Warm& warm) {
    const double start = Now();
    for (int i = 0; i < kTimes; ++i) benchmark::DoNotOptimize(warm.Decide());
    return Now() - start;
  };
  for (auto _ : state) {
    const double before = run(plain);
    const double measured = run(other);
    const double after = run(plain);
    ratios.push_back(2 * measured / (before + after));
  }
  std::ranges::sort(ratios);
  state.counters["times_static"] = ratios[ratios.size() / 2];
}
BENCHMARK_CAPTURE(BM_Allocator_TimesStaticMatch, itself, Numa::kStatic, Numa::kStatic)
    ->Iterations(500);
BENCHMARK_CAPTURE(BM_Allocator_TimesStaticMatch, derived, Numa::kDerived, Numa::kStatic)
    ->Iterations(500);
BENCHMARK_CAPTURE(BM_Allocator_TimesStaticMatch, list, Numa::kList, Numa::kStatic)->Iterations(500);
// Groups are there only where counters are; these have their own price.
BENCHMARK_CAPTURE(BM_Allocator_TimesStaticMatch, groups_beside_counters, Numa::kGroups,
                  Numa::kCounters)
    ->Iterations(500);
BENCHMARK_CAPTURE(BM_Allocator_TimesStaticMatch, counters_and_groups, Numa::kGroups, Numa::kStatic)
    ->Iterations(500);

// The recorded hard cases, if they are there, those that were found since, and relatives of each
// kind.
void BM_Allocator_Hard(benchmark::State& state, const model::Instance& instance) {
  engine::World world(instance);
  Allocator allocator;
  std::uint64_t steps = 0;
  for (auto _ : state) steps = allocator.Decide(*world.plan(), world.usage(), {}).steps;
  state.counters["steps"] = static_cast<double>(steps);
}

// The worst of many relatives of a kind. One that is slow is slow with fewer of them, too.
void BM_Allocator_Relatives(benchmark::State& state, model::HardKind kind, int times) {
  constexpr std::uint64_t kSeeds = 40;
  constexpr int kRepetitions = 5;
  constexpr double kSlow = 20e3;     // microseconds
  constexpr double kPatience = 3.0;  // seconds
  std::uint64_t given_up = 0;
  std::uint64_t most_steps = 0;
  std::size_t most_devices = 0;
  double longest = 0;
  for (auto _ : state) {
    const double began = Now();
    for (std::uint64_t seed = 1; seed <= kSeeds && Now() - began < kPatience; ++seed) {
      model::Dice dice(seed);
      const model::HardInstance hard = model::RandomHardInstance(dice, kind, false, times);
      engine::World world(hard.instance);
      Allocator allocator;
      double shortest = 1e9;
      for (int i = 0; i < kRepetitions && (i == 0 || shortest < kSlow); ++i) {
        const double start = Now();
        const Decision decision = allocator.Decide(*world.plan(), world.usage(), {});
        shortest = std::min(shortest, 1e6 * (Now() - start));
        most_steps = std::max(most_steps, decision.steps);
        given_up += static_cast<std::uint64_t>(decision.kind == Decision::Kind::kBudget);
        DRAY_CHECK(decision.kind == Decision::Kind::kBudget ||
                   decision.kind ==
                       (hard.feasible ? Decision::Kind::kFits : Decision::Kind::kRefused));
      }
      longest = std::max(longest, shortest);
      most_devices = std::max(most_devices, world.devices()->devices().size());
    }
  }
  state.counters["devices"] = static_cast<double>(most_devices);
  state.counters["most_steps"] = static_cast<double>(most_steps);
  state.counters["longest_us"] = longest;
  state.counters["given_up"] = static_cast<double>(given_up);
}

int RegisterHardCases() {
  const auto folder = [](const char* variable, const char* usual, const char* below) {
    const char* given = std::getenv(variable);
    return std::filesystem::path(given == nullptr ? usual : given) / below;
  };
  std::vector<std::filesystem::path> files;
  for (const auto& cases : {folder("DRAY_SHARED", "../shared", "bench/allocator-hard"),
                            folder("DRAY_SOURCE", ".", "test/engine/hard")}) {
    if (!std::filesystem::is_directory(cases)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(cases)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  for (const std::filesystem::path& file : files) {
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto instance = model::ParseInstance(text);
    DRAY_CHECK(instance.ok());
    benchmark::RegisterBenchmark(
        fmt::format("BM_Allocator_Hard/{}", file.stem().string()).c_str(),
        [instance = *instance](benchmark::State& state) { BM_Allocator_Hard(state, instance); })
        ->Unit(benchmark::kMicrosecond);
  }
  for (const model::HardKind kind : model::HardKinds()) {
    for (const int times : {1, 2, 4}) {
      benchmark::RegisterBenchmark(
          fmt::format("BM_Allocator_Relatives/{}/times:{}", model::NameOf(kind), times).c_str(),
          [=](benchmark::State& state) { BM_Allocator_Relatives(state, kind, times); })
          ->Iterations(1)
          ->Unit(benchmark::kMillisecond);
    }
  }
  return 0;
}
[[maybe_unused]] const int kRegistered = RegisterHardCases();

}  // namespace
}  // namespace dray::allocator
