// SPDX-License-Identifier: Apache-2.0
//
// What reading, comparing and adding amounts costs. Target: under 50 ns for the texts that slices
// and claims carry.
#include <benchmark/benchmark.h>

#include <string>

#include "base/quantity.h"

namespace dray::base {
namespace {

Quantity Q(std::string_view text) { return Quantity::Parse(text).value(); }

void BM_Quantity_Parse(benchmark::State& state, const std::string& text) {
  Quantity quantity;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Quantity::TryParse(text, &quantity));
    benchmark::DoNotOptimize(quantity);
  }
}
BENCHMARK_CAPTURE(BM_Quantity_Parse, count, "8");
BENCHMARK_CAPTURE(BM_Quantity_Parse, milli, "250m");
BENCHMARK_CAPTURE(BM_Quantity_Parse, binary, "80Gi");
BENCHMARK_CAPTURE(BM_Quantity_Parse, bytes, "85899345920");
BENCHMARK_CAPTURE(BM_Quantity_Parse, exponent, "12e6");
BENCHMARK_CAPTURE(BM_Quantity_Parse, binary_fraction, "1.5Gi");
BENCHMARK_CAPTURE(BM_Quantity_Parse, wide_binary, "100Ti");
BENCHMARK_CAPTURE(BM_Quantity_Parse, thirty_digits, "123456789012345678901234567890");
BENCHMARK_CAPTURE(BM_Quantity_Parse, bad, "80GB");

void BM_Quantity_Compare(benchmark::State& state, const std::string& a, const std::string& b) {
  const Quantity qa = Q(a), qb = Q(b);
  for (auto _ : state) benchmark::DoNotOptimize(qa.Compare(qb));
}
BENCHMARK_CAPTURE(BM_Quantity_Compare, same_scale, "80Gi", "40Gi");
BENCHMARK_CAPTURE(BM_Quantity_Compare, other_scale, "8", "7500m");
BENCHMARK_CAPTURE(BM_Quantity_Compare, thirty_digits, "123456789012345678901234567890",
                  "123456789012345678901234567891");
BENCHMARK_CAPTURE(BM_Quantity_Compare, far_apart, "1e2147483647", "1");

void BM_Quantity_Add(benchmark::State& state, const std::string& a, const std::string& b) {
  const Quantity qa = Q(a), qb = Q(b);
  for (auto _ : state) benchmark::DoNotOptimize(qa + qb);
}
BENCHMARK_CAPTURE(BM_Quantity_Add, same_scale, "80Gi", "40Gi");
BENCHMARK_CAPTURE(BM_Quantity_Add, other_scale, "8", "7500m");
BENCHMARK_CAPTURE(BM_Quantity_Add, wide_binary, "100Ti", "1Pi");

void BM_Quantity_ToString(benchmark::State& state, const std::string& text) {
  const Quantity quantity = Q(text);
  for (auto _ : state) benchmark::DoNotOptimize(quantity.ToString());
}
BENCHMARK_CAPTURE(BM_Quantity_ToString, milli, "250m");
BENCHMARK_CAPTURE(BM_Quantity_ToString, binary, "80Gi");

}  // namespace
}  // namespace dray::base
