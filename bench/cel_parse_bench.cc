// SPDX-License-Identifier: Apache-2.0
//
// What an expression costs before it is ever evaluated. Goal: parsing well below 10 us, since
// compiling as a whole has 20.
#include <benchmark/benchmark.h>

#include <string>

#include "cel/parser.h"
#include "cel/unparse.h"

namespace dray::cel {
namespace {

// The selectors that the project measures itself by.
constexpr const char* kDriver = R"(device.driver == "gpu.example.com")";
constexpr const char* kModel = R"(device.attributes["gpu.example.com"].model == "H100")";
constexpr const char* kVersion =
    R"(device.attributes["gpu.example.com"].driverVersion.major() >= 1 && )"
    R"(device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("1Mi")))";
constexpr const char* kConjunction =
    R"(device.driver == "gpu.example.com" && )"
    R"(device.attributes["gpu.example.com"].productName.matches("^NVIDIA H[12]00") && )"
    R"(device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0 && )"
    R"(device.attributes["gpu.example.com"].healthy)";
constexpr const char* kSplit =
    R"(device.attributes["gpu.example.com"].topology.split("-")[0] == "numa0")";

void BM_Cel_Parse(benchmark::State& state, const std::string& text) {
  std::size_t nodes = 0, bytes = 0;
  for (auto _ : state) {
    const Source source(text);
    const ParseResult result = Parse(source);
    nodes = result.ast->size();
    bytes = result.ast->MemoryBytes();
    benchmark::DoNotOptimize(result);
  }
  state.counters["nodes"] = static_cast<double>(nodes);
  state.counters["tree_bytes"] = static_cast<double>(bytes);
}
BENCHMARK_CAPTURE(BM_Cel_Parse, driver, kDriver);
BENCHMARK_CAPTURE(BM_Cel_Parse, model, kModel);
BENCHMARK_CAPTURE(BM_Cel_Parse, version_and_memory, kVersion);
BENCHMARK_CAPTURE(BM_Cel_Parse, conjunction, kConjunction);
BENCHMARK_CAPTURE(BM_Cel_Parse, split, kSplit);
BENCHMARK_CAPTURE(
    BM_Cel_Parse, macros,
    "device.attributes.exists(d, device.attributes[d].all(a, has(d.x) && a != \"y\"))");

void BM_Cel_Unparse(benchmark::State& state, const std::string& text) {
  const ParseResult result = Parse(Source(text));
  for (auto _ : state) benchmark::DoNotOptimize(Unparse(*result.ast));
}
BENCHMARK_CAPTURE(BM_Cel_Unparse, conjunction, kConjunction);

}  // namespace
}  // namespace dray::cel
