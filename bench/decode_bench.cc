// SPDX-License-Identifier: Apache-2.0
//
// Reading a ResourceSlice of 128 devices. Design: at most 3 times what simdjson's DOM parse of the
// same bytes costs; BM_Api_DecodeSlice reports that ratio from its own run as the counter
// `times_dom`.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <simdjson.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "api/json.h"
#include "api/kinds.h"
#include "api/resource_slice.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

// A slice as GPU drivers publish them: a dozen attributes of all types, two capacities, per device;
// map keys sorted, as every Go client and server writes them.
std::string SliceJson(int devices) {
  std::string json =
      R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"node-1-gpu.example.com-x7k2p",)"
      R"("uid":"0b5e3c0e-5d0a-4f43-9a43-0a3f6d9a3c11","resourceVersion":"12345","generation":1},"spec":{"driver":)"
      R"("gpu.example.com","pool":{"name":"node-1","generation":1,"resourceSliceCount":1},"nodeName":"node-1","devices":[)";
  for (int i = 0; i < devices; ++i) {
    if (i > 0) json += ',';
    json += fmt::format(
        R"({{"name":"gpu-{0}","attributes":{{"architecture":{{"string":"Hopper"}},"brand":{{"string":"Example"}},)"
        R"("cudaComputeCapability":{{"version":"9.0.0"}},"driverVersion":{{"version":"550.54.15"}},"healthy":{{"bool":true}},)"
        R"("index":{{"int":{0}}},"minor":{{"int":{0}}},"productName":{{"string":"Example Accelerator 80GB"}},)"
        R"("resource.kubernetes.io/numaNode":{{"int":{2}}},"resource.kubernetes.io/pcieRoot":{{"string":"pci0000:{1:02x}"}},)"
        R"("type":{{"string":"gpu"}},"uuid":{{"string":"GPU-18db0e85-99e9-c746-{0:012}"}}}},)"
        R"("capacity":{{"memory":{{"value":"80Gi"}},"multiprocessors":{{"value":"132"}}}}}})",
        i, i % 8, i % 2);
  }
  return json + "]}}";
}

// Processor time of this thread: what other processes do to the machine does not count.
double Nanos() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double Median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void BM_Api_SimdjsonDom(benchmark::State& state) {
  const simdjson::padded_string json(SliceJson(static_cast<int>(state.range(0))));
  simdjson::dom::parser parser;
  for (auto _ : state) {
    simdjson::dom::element root;
    if (parser.parse(json).get(root)) state.SkipWithError("not JSON");
    benchmark::DoNotOptimize(root);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * json.size()));
}
BENCHMARK(BM_Api_SimdjsonDom)->ArgName("devices")->Arg(128);

// Each iteration does both, so that the ratio of the two compares like with like; the smallest of
// each counts.
void BM_Api_DecodeSlice(benchmark::State& state) {
  const std::string json = SliceJson(static_cast<int>(state.range(0)));
  const simdjson::padded_string padded(json);
  JsonDecoder decoder;
  simdjson::dom::parser parser;
  std::vector<double> decode;
  std::vector<double> dom;
  for (auto _ : state) {
    const double start = Nanos();
    auto slice = decoder.Decode<ResourceSlice>({padded.data(), padded.size()}, {.padded = true});
    const double end = Nanos();
    if (!slice.ok()) state.SkipWithError("not a slice");
    benchmark::DoNotOptimize(slice);
    decode.push_back(end - start);
    state.SetIterationTime((end - start) * 1e-9);
    const double dom_start = Nanos();
    simdjson::dom::element root;
    if (parser.parse(padded).get(root)) state.SkipWithError("not JSON");
    benchmark::DoNotOptimize(root);
    dom.push_back(Nanos() - dom_start);
  }
  state.counters["times_dom"] = Median(decode) / Median(dom);
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * json.size()));
}
BENCHMARK(BM_Api_DecodeSlice)->ArgName("devices")->Arg(128)->UseManualTime();

void BM_Api_EncodeSlice(benchmark::State& state) {
  const std::string json = SliceJson(static_cast<int>(state.range(0)));
  JsonDecoder decoder;
  const auto slice = decoder.Decode<ResourceSlice>(json);
  for (auto _ : state) {
    std::string out;
    out.reserve(json.size());
    EncodeJson(TypeInfoOf<ResourceSlice>(), &*slice, out);
    benchmark::DoNotOptimize(out);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * json.size()));
}
BENCHMARK(BM_Api_EncodeSlice)->ArgName("devices")->Arg(128);

// Heap bytes that one decoded device keeps, beside its share of the slice's own.
void BM_Api_DecodedBytesPerDevice(benchmark::State& state) {
  const int devices = static_cast<int>(state.range(0));
  const std::string json = SliceJson(devices);
  JsonDecoder decoder;
  (void)decoder.Decode<ResourceSlice>(json);  // the parser's own buffers are there before we count
  std::size_t bytes = 0;
  for (auto _ : state) {
    const std::size_t before = mallinfo2().uordblks;
    auto slice = decoder.Decode<ResourceSlice>(json);
    bytes = mallinfo2().uordblks - before;
    benchmark::DoNotOptimize(slice);
  }
  state.counters["bytes_per_device"] = static_cast<double>(bytes) / devices;
  state.counters["json_bytes_per_device"] = static_cast<double>(json.size()) / devices;
}
BENCHMARK(BM_Api_DecodedBytesPerDevice)->ArgName("devices")->Arg(128);

}  // namespace
}  // namespace dray::api
