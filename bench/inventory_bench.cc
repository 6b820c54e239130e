// SPDX-License-Identifier: Apache-2.0
//
// The inventory at the size of a large cluster: loading it, changing one slice of it, and asking
// what a node can use. A device has eight attributes, one of them unique, and two capacities.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/node.h"
#include "api/resource_slice.h"
#include "base/check.h"
#include "base/quantity.h"
#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/program.h"
#include "fmt/format.h"
#include "inventory/evaluation.h"
#include "inventory/inventory.h"
#include "inventory/node_devices.h"

namespace dray::inventory {
namespace {

std::string NodeName(std::int64_t i) { return fmt::format("node-{:06}", i); }

void SetText(api::Device& device, std::string_view name, std::string_view value) {
  device.attributes[name].string_value = base::OptionalText(value);
}

api::Device MakeDevice(std::int64_t node, std::int64_t i) {
  api::Device device;
  device.name = fmt::format("gpu-{}", i);
  SetText(device, "architecture", "Hopper");
  SetText(device, "productName", "NVIDIA H100 80GB HBM3");
  SetText(device, "uuid", fmt::format("GPU-{:08x}-4f1c-9d2e-{:04x}-5b3f7d3c2a11", node, i));
  SetText(device, "resource.kubernetes.io/pcieRoot", fmt::format("pci0000:{:02x}", i * 8));
  device.attributes["index"].int_value = i;
  device.attributes["ecc"].bool_value = true;
  device.attributes["driverVersion"].version_value = base::OptionalText("550.54.15");
  device.attributes["cudaComputeCapability"].version_value = base::OptionalText("9.0.0");
  static const base::Quantity memory = *base::Quantity::Parse("80Gi");
  static const base::Quantity cores = *base::Quantity::Parse("132");
  device.capacity["memory"].value = memory;
  device.capacity["multiprocessors"].value = cores;
  return device;
}

// A node's slice; the variant is in an attribute, so that another one is another slice.
api::ResourceSlice MakeSlice(std::int64_t node, std::int64_t devices, std::int64_t variant = 0) {
  api::ResourceSlice slice;
  const std::string name = NodeName(node);
  slice.metadata.name = name + "-gpu.example.com-x7k2p";
  slice.spec.driver = "gpu.example.com";
  slice.spec.pool = {.name = name, .generation = 1, .resource_slice_count = 1};
  slice.spec.node_name = name;
  slice.spec.devices.emplace();
  slice.spec.devices->reserve(static_cast<std::size_t>(devices));
  for (std::int64_t i = 0; i < devices; ++i) slice.spec.devices->push_back(MakeDevice(node, i));
  if (variant != 0) slice.spec.devices->front().attributes["index"].int_value = 100 + variant;
  return slice;
}

// Loaded once for all benchmarks of one size.
Inventory& Loaded(std::int64_t nodes, std::int64_t devices) {
  static std::unique_ptr<Inventory> inventory;
  static std::pair<std::int64_t, std::int64_t> size;
  if (inventory == nullptr || size != std::pair(nodes, devices)) {
    inventory = std::make_unique<Inventory>();
    size = {nodes, devices};
    for (std::int64_t node = 0; node < nodes; ++node) inventory->Put(MakeSlice(node, devices));
  }
  return *inventory;
}

double ProcessorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Slices are made in the loop, and the clock stands meanwhile: a cluster's objects need not fit
// beside its inventory.
void BM_Inventory_Load(benchmark::State& state) {
  for (auto _ : state) {
    Inventory inventory;
    double seconds = 0;
    for (std::int64_t node = 0; node < state.range(0); ++node) {
      const api::ResourceSlice slice = MakeSlice(node, state.range(1));
      const double start = ProcessorSeconds();
      inventory.Put(slice);
      seconds += ProcessorSeconds() - start;
    }
    state.SetIterationTime(seconds);
    const auto count = static_cast<double>(inventory.snapshot().devices());
    const std::size_t bytes = inventory.MemoryBytes();
    const std::size_t strings = inventory.snapshot().dictionary().StringBytes();
    state.counters["device_bytes"] = static_cast<double>(bytes) / count;
    state.counters["device_bytes_without_strings"] = static_cast<double>(bytes - strings) / count;
  }
}

// A driver publishes one slice again; somebody holds the snapshot before.
void BM_Inventory_PutOneSlice(benchmark::State& state) {
  Inventory& inventory = Loaded(state.range(0), state.range(1));
  const std::int64_t middle = state.range(0) / 2;
  const api::ResourceSlice slices[] = {MakeSlice(middle, state.range(1), 1),
                                       MakeSlice(middle, state.range(1), 2)};
  std::size_t i = 0;
  for (auto _ : state) {
    const Snapshot before = inventory.snapshot();
    benchmark::DoNotOptimize(inventory.Put(slices[++i % 2]));
    benchmark::DoNotOptimize(before);
  }
}

void BM_Inventory_Gather(benchmark::State& state) {
  Inventory& inventory = Loaded(state.range(0), state.range(1));
  api::Node node;
  node.metadata.name = NodeName(state.range(0) / 2);
  for (auto _ : state) {
    auto devices = Gather(inventory.snapshot(), node, Features::All());
    DRAY_CHECK(devices.ok());
    benchmark::DoNotOptimize(devices);
  }
}

// One pool for all nodes, each with a counter set of its own, on which its devices draw.
void PutSpanningPool(Inventory& inventory, std::int64_t nodes) {
  constexpr std::int64_t kDevices = 8;
  const base::Quantity memory = *base::Quantity::Parse("640Gi");
  const base::Quantity part = *base::Quantity::Parse("80Gi");
  for (std::int64_t node = 0; node < nodes; ++node) {
    api::ResourceSlice slice = MakeSlice(node, kDevices);
    slice.spec.pool = {.name = "pool", .generation = 1, .resource_slice_count = 2 * nodes};
    const std::string set = fmt::format("set-{}", node);
    for (api::Device& device : *slice.spec.devices) {
      device.name = fmt::format("{}-{}", slice.metadata.name, device.name);
      api::DeviceCounterConsumption& draws = device.consumes_counters.emplace_back();
      draws.counter_set = set;
      draws.counters["memory"].value = part;
    }
    api::ResourceSlice counters = slice;
    counters.metadata.name += "-counters";
    counters.spec.devices.reset();
    api::CounterSet& added = counters.spec.shared_counters.emplace().emplace_back();
    added.name = set;
    added.counters["memory"].value = memory;
    inventory.Put(slice);
    inventory.Put(counters);
  }
}

// What every node of a pool that spans them can use. The bytes are those that malloc counts, for
// all nodes together.
void BM_Inventory_GatherAllOfAPoolThatSpansNodes(benchmark::State& state) {
  Inventory inventory;
  PutSpanningPool(inventory, state.range(0));
  const auto in_use = [] {
    const struct mallinfo2 heap = mallinfo2();
    return heap.uordblks + heap.hblkhd;
  };
  for (auto _ : state) {
    const std::size_t before = in_use();
    std::vector<std::shared_ptr<const NodeDevices>> all;
    for (std::int64_t n = 0; n < state.range(0); ++n) {
      api::Node node;
      node.metadata.name = NodeName(n);
      auto devices = Gather(inventory.snapshot(), node, Features::All());
      DRAY_CHECK(devices.ok() && (*devices)->devices().size() == 8);
      all.push_back(*std::move(devices));
    }
    state.counters["bytes"] = static_cast<double>(in_use() - before);
  }
  state.counters["nodes_per_second"] = benchmark::Counter(
      static_cast<double>(state.iterations() * state.range(0)), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Inventory_GatherAllOfAPoolThatSpansNodes)
    ->ArgName("nodes")
    ->Arg(500)
    ->Arg(1'000)
    ->Arg(5'000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

// What forgetting costs: everything that is there is looked at, and a quarter of it is dead.
void BM_Inventory_Collect(benchmark::State& state) {
  Inventory& inventory = Loaded(state.range(0), state.range(1));
  Dictionary& dictionary = inventory.snapshot().dictionary();
  std::uint64_t name = 0;
  for (auto _ : state) {
    state.PauseTiming();
    while (!dictionary.CollectionDue()) dictionary.Intern(fmt::format("name-{:016}", name++));
    state.ResumeTiming();
    dictionary.Collect([&](Marker& marker) { inventory.Mark(marker); });
  }
}

std::shared_ptr<const cel::Program> Compile(std::string_view expression) {
  const auto compiled = cel::Compile(expression, cel::DeviceEnvironment({}));
  DRAY_CHECK(compiled.ok(), compiled.error);
  return *cel::Program::Compile(*compiled.checked);
}

constexpr std::string_view kSelector =
    R"(device.attributes["gpu.example.com"].productName.matches("^NVIDIA H[12]00") && )"
    R"(device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi")))";

// Rows of many nodes in turn, all with the same two values: remembered after the first.
void BM_Inventory_MatchWarm(benchmark::State& state) {
  const auto dictionary = std::make_shared<Dictionary>();
  std::vector<std::shared_ptr<const SliceTable>> slices;
  for (std::int64_t node = 0; node < 64; ++node) {
    slices.push_back(SliceTable::Create(MakeSlice(node, 16), *dictionary));
  }
  const BoundProgram program(Compile(kSelector), dictionary);
  std::size_t i = 0;
  for (auto _ : state) {
    const SliceTable& slice = *slices[(i / 16) % slices.size()];
    benchmark::DoNotOptimize(program.Match(slice, slice.devices()[i % 16], nullptr));
    ++i;
  }
  state.counters["evaluations"] = static_cast<double>(program.statistics().evaluations);
}
BENCHMARK(BM_Inventory_MatchWarm)->ThreadRange(1, 2);

// The same selector with the unique attribute, and too many of those to remember.
void BM_Inventory_MatchCold(benchmark::State& state) {
  const auto dictionary = std::make_shared<Dictionary>();
  std::vector<std::shared_ptr<const SliceTable>> slices;
  for (std::int64_t node = 0; node < 8192; ++node) {
    slices.push_back(SliceTable::Create(MakeSlice(node, 16), *dictionary));
  }
  const BoundProgram program(
      Compile(std::string(kSelector) + R"( && device.attributes["gpu.example.com"].uuid != "")"),
      dictionary);
  std::size_t i = 0;
  for (auto _ : state) {
    const SliceTable& slice = *slices[(i / 16) % slices.size()];
    benchmark::DoNotOptimize(program.Match(slice, slice.devices()[i % 16], nullptr));
    ++i;
  }
  state.counters["evaluated"] = static_cast<double>(program.statistics().evaluations) /
                                static_cast<double>(state.iterations());
}
BENCHMARK(BM_Inventory_MatchCold);

// The size for a quick look, and with DRAY_BENCH_LARGE set the one for the record, which takes half
// a gigabyte.
void Sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"nodes", "devices"})->Args({5000, 16});
  if (std::getenv("DRAY_BENCH_LARGE") != nullptr) bench->Args({100'000, 16});
}
BENCHMARK(BM_Inventory_Load)
    ->Apply(Sizes)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime()
    ->Iterations(1);
BENCHMARK(BM_Inventory_PutOneSlice)->Apply(Sizes);
BENCHMARK(BM_Inventory_Gather)->Apply(Sizes);
BENCHMARK(BM_Inventory_Collect)->Apply(Sizes)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dray::inventory
