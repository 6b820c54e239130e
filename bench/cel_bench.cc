// SPDX-License-Identifier: Apache-2.0
//
// One selector on one device with eight attributes. Kubernetes needs 7 to 15 us and 38 to 65
// allocations for each.
#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "api/json.h"
#include "api/resource_slice.h"
#include "base/check.h"
#include "cel/columnar_devices_for_test.h"
#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/device_values.h"
#include "cel/program.h"

namespace {
std::atomic<std::uint64_t> allocations = 0;
}

// Not inlined: the compiler would see malloc and delete not matching.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace dray::cel {
namespace {

constexpr std::string_view kDriver = "gpu.example.com";
constexpr std::string_view kDevice = R"({"name": "gpu-0", "attributes": {
  "model": {"string": "H100"}, "productName": {"string": "NVIDIA H100 80GB HBM3"},
  "driverVersion": {"version": "535.104.12"}, "cudaComputeCapability": {"version": "9.0.0"},
  "index": {"int": 3}, "healthy": {"bool": true}, "topology": {"string": "numa0-pcie1-root2"},
  "uuid": {"string": "GPU-4f3c2a10-9b7e-11ee-8c90-0242ac120002"}},
  "capacity": {"memory": {"value": "80Gi"}}})";

constexpr std::array<std::string_view, 5> kSelectors = {
    R"(device.driver == "gpu.example.com")",
    R"(device.attributes["gpu.example.com"].model == "H100")",
    R"(device.attributes["gpu.example.com"].driverVersion.major() >= 1 &&
       device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("1Mi")))",
    R"(device.driver == "gpu.example.com" &&
       device.attributes["gpu.example.com"].healthy &&
       device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0 &&
       device.attributes["gpu.example.com"].productName.matches("^NVIDIA H[12]00"))",
    R"(device.attributes["gpu.example.com"].topology.split("-")[0] == "numa0")",
};

api::Device TheDevice() {
  api::JsonDecoder decoder;
  auto device = decoder.Decode<api::Device>(kDevice);
  DRAY_CHECK(device.ok());
  return *std::move(device);
}

std::shared_ptr<const Program> Selector(std::int64_t number) {
  const auto compiled = Compile(kSelectors[static_cast<std::size_t>(number)],
                                DeviceEnvironment(DeviceEnvironmentOptions::Stored()));
  DRAY_CHECK(compiled.ok());
  auto program = Program::Compile(*compiled.checked);
  DRAY_CHECK(program.ok());
  return *std::move(program);
}

// Times `run` and counts what it allocates.
template <typename Run>
void Measure(benchmark::State& state, Run run) {
  const std::uint64_t before = allocations.load();
  for (auto _ : state) benchmark::DoNotOptimize(run());
  state.counters["allocations"] = benchmark::Counter(
      static_cast<double>(allocations.load() - before), benchmark::Counter::kAvgIterations);
}

// On a device as it was decoded.
void BM_Cel_Match(benchmark::State& state) {
  const api::Device device = TheDevice();
  const auto program = Selector(state.range(0));
  DRAY_CHECK(Match(*program, kDriver, device)->match);
  Measure(state, [&] { return Match(*program, kDriver, device); });
}
BENCHMARK(BM_Cel_Match)->ArgName("selector")->DenseRange(0, 4);

// On a row of a table that has values ready.
void BM_Cel_MatchView(benchmark::State& state) {
  const auto program = Selector(state.range(0));
  ColumnarDevices devices;
  const std::size_t row = devices.Add(kDriver, TheDevice());
  const ColumnarBinding binding(*program, devices);
  Arena arena;
  const auto run = [&] {
    arena.Reset();
    return TryMatch(*program, ColumnarView(devices, binding, row), arena);
  };
  DRAY_CHECK(run().verdict == Verdict::kYes);
  Measure(state, run);
}
BENCHMARK(BM_Cel_MatchView)->ArgName("selector")->DenseRange(0, 4);

// A device without the attribute, when nobody asks why.
void BM_Cel_MatchMissing(benchmark::State& state) {
  const auto program = Selector(1);
  ColumnarDevices devices;
  const std::size_t row = devices.Add(kDriver, api::Device());
  const ColumnarBinding binding(*program, devices);
  Arena arena;
  Measure(state, [&] {
    arena.Reset();
    return TryMatch(*program, ColumnarView(devices, binding, row), arena);
  });
}
BENCHMARK(BM_Cel_MatchMissing);

void BM_Cel_Compile(benchmark::State& state) {
  const auto environment = DeviceEnvironment(DeviceEnvironmentOptions::Stored());
  for (auto _ : state) {
    const auto compiled =
        Compile(kSelectors[static_cast<std::size_t>(state.range(0))], environment);
    benchmark::DoNotOptimize(Program::Compile(*compiled.checked));
  }
}
BENCHMARK(BM_Cel_Compile)->ArgName("selector")->DenseRange(0, 4);

}  // namespace
}  // namespace dray::cel
