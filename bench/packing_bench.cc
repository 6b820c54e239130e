// SPDX-License-Identifier: Apache-2.0
//
// What a choice by fragmentation costs: 1,000 nodes of eight units, requests of 100 shapes in turns,
// parts and whole ones, each placed where it costs least; a node that is full is emptied.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "packing/packer.h"

namespace dray::packing {
namespace {

NodeState Empty() {
  NodeState node{.left = {96'000, 393'216, 110}};
  for (int i = 0; i < 8; ++i) node.Add(0, 0, {kWhole});
  return node;
}

void BM_Packing_Choose(benchmark::State& state) {
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  constexpr std::uint32_t kShapes = 100;
  std::mt19937_64 random(1);
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < kShapes; ++i) {
    const bool whole = i % 2 == 0;
    Demand demand;
    demand.options.push_back(
        {.kind = 0,
         .whole = whole,
         .amounts = {whole ? kWhole : static_cast<Amount>(100'000 + random() % 800'000)}});
    requests.push_back({.needs = {static_cast<std::int32_t>(1'000 + random() % 12'000), 8'192, 1},
                        .demands = {demand}});
  }
  Packer packer;
  for (std::uint32_t n = 0; n < nodes; ++n) packer.Set(n, Empty());
  std::uint64_t chosen = 0;
  for (auto _ : state) {
    const Request& request = requests[random() % kShapes];
    const auto number = packer.Learn(request);
    std::optional<Packer::Slot> best;
    Cost least{.cost = std::numeric_limits<std::int64_t>::max()};
    const auto bounds = packer.LowerBounds(number);
    for (Packer::Slot slot = 0; slot < bounds.size(); ++slot) {
      if (bounds[slot] > least.cost || bounds[slot] == Packer::kNever) continue;
      const auto cost = packer.CostAt(slot, number, least.cost);
      if (!cost || std::pair(cost->cost, cost->ease) >= std::pair(least.cost, least.ease)) continue;
      least = *cost;
      best = slot;
    }
    if (!best) {
      for (std::uint32_t n = 0; n < nodes; ++n) packer.Set(n, Empty());
      continue;
    }
    const Packer::NodeNumber node = packer.MembersOf(*best).front().node;
    NodeState after = *packer.Find(node);
    if (Place(after, request, least.start)) packer.Set(node, std::move(after));
    ++chosen;
  }
  state.counters["values"] =
      benchmark::Counter(static_cast<double>(packer.statistics().values) /
                         static_cast<double>(std::max<std::uint64_t>(chosen, 1)));
  state.SetItemsProcessed(static_cast<std::int64_t>(chosen));
}
BENCHMARK(BM_Packing_Choose)->Arg(1000);

}  // namespace
}  // namespace dray::packing
