// SPDX-License-Identifier: Apache-2.0
//
// Groups on many nodes: a thousand pods that take a node's eight devices each, and what cannot be placed.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <span>
#include <vector>

#include "gang/search.h"

namespace dray::gang {
namespace {

// Nodes with amounts, each its own class if told so; kinds of pods that take so much.
class Amounts final : public Places {
 public:
  Amounts(std::vector<std::uint32_t> places, std::vector<std::uint32_t> takes, bool alike)
      : places_(std::move(places)), takes_(std::move(takes)), alike_(alike) {}
  std::size_t size() const override { return places_.size(); }
  std::uint64_t ClassOf(std::size_t place) const override {
    return alike_ ? places_[place] : place;
  }
  bool Fits(std::size_t place, std::span<const std::uint32_t> counts) override {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) sum += std::uint64_t{counts[i]} * takes_[i];
    return sum <= places_[place];
  }

 private:
  const std::vector<std::uint32_t> places_;
  const std::vector<std::uint32_t> takes_;
  const bool alike_;
};

void Run(benchmark::State& state, Amounts places, Counts wanted, Verdict verdict) {
  std::uint32_t least = 0;
  for (const std::uint32_t n : wanted) least += n;
  std::uint64_t steps = 0;
  for (auto _ : state) {
    const Answer answer = Search(places, {.wanted = wanted, .least = least});
    if (answer.verdict != verdict) state.SkipWithError("another verdict");
    steps = answer.steps;
  }
  state.counters["steps"] = static_cast<double>(steps);
}

void BM_Gang_ThousandPodsFit(benchmark::State& state) {
  Run(state, {std::vector<std::uint32_t>(2000, 8), {8}, state.range(0) == 1}, {1000},
      Verdict::kPlaced);
}
BENCHMARK(BM_Gang_ThousandPodsFit)->ArgName("alike")->Arg(1)->Arg(0);

void BM_Gang_OneTooMany(benchmark::State& state) {
  Run(state, {std::vector<std::uint32_t>(2000, 8), {8}, state.range(0) == 1}, {2001},
      Verdict::kImpossible);
}
BENCHMARK(BM_Gang_OneTooMany)->ArgName("alike")->Arg(1)->Arg(0);

void BM_Gang_MixOneTooMany(benchmark::State& state) {
  Run(state, {std::vector<std::uint32_t>(2000, 8), {5, 4}, state.range(0) == 1}, {1001, 2000},
      Verdict::kImpossible);
}
BENCHMARK(BM_Gang_MixOneTooMany)->ArgName("alike")->Arg(1)->Arg(0);

}  // namespace
}  // namespace dray::gang
