// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sweep.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace dray::scheduler {

void Sweep::Run(const CycleState& state, std::span<const NodeInfo* const> nodes,
                const std::function<bool(CycleState&, std::size_t)>& visit) const {
  // Places by shard, within a shard in order: a counting sort.
  std::array<std::size_t, kNodeShards + 1> first{};
  for (const NodeInfo* node : nodes) ++first[ShardOf(*node) + 1];
  for (std::size_t shard = 0; shard < kNodeShards; ++shard) first[shard + 1] += first[shard];
  std::vector<std::uint32_t> places(nodes.size());
  std::array<std::size_t, kNodeShards + 1> next = first;
  for (std::size_t place = 0; place < nodes.size(); ++place) {
    places[next[ShardOf(*nodes[place])]++] = static_cast<std::uint32_t>(place);
  }

  // Each worker begins with shards of its own, always the same ones: what it kept of them last time
  // was made and is given back by it, and is near it still. Then it helps the others.
  struct alignas(64) Share {
    std::atomic<std::size_t> taken = 0;
  };
  const std::size_t workers = executor->workers();
  std::vector<Share> shares(workers);
  std::atomic<std::size_t> stop = nodes.size();  // the first place that said false
  executor->Run([&](std::size_t worker) {
    CycleState view = state.ForWorker(worker);
    for (std::size_t helped = 0; helped < workers; ++helped) {
      const std::size_t owner = (worker + helped) % workers;
      while (true) {
        const std::size_t shard =
            shares[owner].taken.fetch_add(1, std::memory_order_relaxed) * workers + owner;
        if (shard >= kNodeShards) break;
        for (std::size_t i = first[shard]; i < first[shard + 1]; ++i) {
          const std::size_t place = places[i];
          std::size_t before = stop.load(std::memory_order_relaxed);
          if (place > before) break;
          if (visit(view, place)) continue;
          while (place < before &&
                 !stop.compare_exchange_weak(before, place, std::memory_order_relaxed)) {
          }
          break;
        }
      }
    }
  });
}

}  // namespace dray::scheduler
