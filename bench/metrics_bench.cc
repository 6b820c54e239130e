// SPDX-License-Identifier: Apache-2.0
//
// What counting costs: one instrument, written by one thread and by two at once.
#include <benchmark/benchmark.h>

#include <string>

#include "metrics/registry.h"

namespace dray::metrics {
namespace {

Registry& Shared() {
  static Registry registry;
  return registry;
}

void BM_Metrics_Counter(benchmark::State& state) {
  static Counter& counter =
      Shared().Counters({"requests_total", "Requests.", {"verb"}}).With({"get"});
  for (auto _ : state) counter.Add();
}
BENCHMARK(BM_Metrics_Counter)->Threads(1)->Threads(2);

void BM_Metrics_Histogram(benchmark::State& state) {
  static Histogram& histogram =
      Shared()
          .Histograms({"took_seconds", "Time.", {"verb"}}, ExponentialBounds(0.001, 2, 15))
          .With({"get"});
  double value = 0.0005;
  for (auto _ : state) {
    histogram.Observe(value);
    value = value > 10 ? 0.0005 : value * 1.7;
  }
}
BENCHMARK(BM_Metrics_Histogram)->Threads(1)->Threads(2);

// Looking it up by its labels each time.
void BM_Metrics_Labels(benchmark::State& state) {
  static auto& counters =
      Shared().Counters({"answers_total", "Answers.", {"verb", "resource", "code"}});
  for (auto _ : state) counters.With({"get", "resourceclaims", "200"}).Add();
}
BENCHMARK(BM_Metrics_Labels)->Threads(1)->Threads(2);

// A page of 1,000 counters and 100 histograms.
void BM_Metrics_Text(benchmark::State& state) {
  Registry registry;
  auto& counters = registry.Counters({"c_total", "C.", {"n"}});
  for (int i = 0; i < 1000; ++i) counters.With({std::to_string(i)}).Add();
  auto& histograms = registry.Histograms({"h", "H.", {"n"}}, ExponentialBounds(0.001, 2, 15));
  for (int i = 0; i < 100; ++i) histograms.With({std::to_string(i)}).Observe(0.5);
  for (auto _ : state) benchmark::DoNotOptimize(registry.Text());
}
BENCHMARK(BM_Metrics_Text)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace dray::metrics
