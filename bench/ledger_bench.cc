// SPDX-License-Identifier: Apache-2.0
//
// Keeping what is taken, in a cluster of many nodes with 10 devices each and half of them in use.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/node.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "inventory/inventory.h"
#include "inventory/node_devices.h"
#include "ledger/ledger.h"
#include "ledger/node_usage.h"

namespace dray::ledger {
namespace {

constexpr int kDevices = 10;
constexpr std::string_view kDriver = "gpu.example.com";

std::string NodeName(std::int64_t i) { return "node-" + std::to_string(i); }
std::string DeviceName(int i) { return "gpu-" + std::to_string(i); }

api::ResourceClaim ClaimOn(std::int64_t node, int device) {
  api::ResourceClaim claim;
  claim.metadata.namespace_ = "default";
  claim.metadata.name = "claim-" + std::to_string(node) + "-" + std::to_string(device);
  claim.metadata.uid = "4f2e0c1a-9d0b-4a57-8a4e-" + claim.metadata.name;
  claim.status.allocation.emplace().devices.results = {{.request = "gpu",
                                                        .driver = std::string(kDriver),
                                                        .pool = NodeName(node),
                                                        .device = DeviceName(device)}};
  return claim;
}

api::ResourceClaim Pending(api::ResourceClaim claim) {
  claim.status.allocation.reset();
  return claim;
}

// A ledger of `nodes` nodes with `used` devices of each in use.
struct Cluster {
  Cluster(std::int64_t nodes, int used) : ledger(dictionary) {
    for (std::int64_t node = 0; node < nodes; ++node) {
      for (int device = 0; device < used; ++device) ledger.Put(ClaimOn(node, device));
    }
  }
  std::shared_ptr<inventory::Dictionary> dictionary = std::make_shared<inventory::Dictionary>();
  Ledger ledger;
};

// A claim is stored as allocated and then as not allocated. Each change is seen by a snapshot, so
// that blocks are copied as they are when others read.
void BM_Ledger_Put(benchmark::State& state) {
  const std::int64_t nodes = state.range(0);
  Cluster cluster(nodes, kDevices / 2);
  std::vector<std::pair<api::ResourceClaim, api::ResourceClaim>> claims;
  for (std::int64_t i = 0; i < 1000; ++i) {
    claims.emplace_back(ClaimOn(i * 7919 % nodes, 7), Pending(ClaimOn(i * 7919 % nodes, 7)));
  }
  std::size_t at = 0;
  for (auto _ : state) {
    const auto& [allocated, pending] = claims[at++ % claims.size()];
    const Snapshot before = cluster.ledger.snapshot();
    benchmark::DoNotOptimize(cluster.ledger.Put(allocated));
    const Snapshot between = cluster.ledger.snapshot();
    benchmark::DoNotOptimize(cluster.ledger.Put(pending));
    cluster.ledger.Reclaim();  // as the scheduler does between two attempts
  }
  state.SetItemsProcessed(2 * state.iterations());
  state.counters["bytes_per_claim"] = static_cast<double>(cluster.ledger.MemoryBytes()) /
                                      static_cast<double>(nodes * (kDevices / 2));
}
BENCHMARK(BM_Ledger_Put)->ArgName("nodes")->Arg(5000)->Arg(100000);

// The way of one pod: reserve, commit, the stored form arrives. Then the claim goes.
void BM_Ledger_Reserve(benchmark::State& state) {
  const std::int64_t nodes = state.range(0);
  Cluster cluster(nodes, kDevices / 2);
  std::vector<std::pair<api::ResourceClaim, api::ResourceClaim>> claims;
  for (std::int64_t i = 0; i < 1000; ++i) {
    claims.emplace_back(ClaimOn(i * 7919 % nodes, 7), Pending(ClaimOn(i * 7919 % nodes, 7)));
  }
  std::size_t at = 0;
  for (auto _ : state) {
    const auto& [allocated, pending] = claims[at++ % claims.size()];
    const Snapshot before = cluster.ledger.snapshot();
    auto reservation = cluster.ledger.Reserve(pending, *allocated.status.allocation);
    if (!reservation.ok()) {
      state.SkipWithError("cannot be reserved");
      break;
    }
    reservation->Commit();
    cluster.ledger.Put(allocated);
    cluster.ledger.Remove(allocated.metadata.uid);
    cluster.ledger.Reclaim();
  }
}
BENCHMARK(BM_Ledger_Reserve)->ArgName("nodes")->Arg(5000)->Arg(100000);

// One node looks again after one of its claims has come or gone; `used` devices of it are in use.
void BM_Ledger_NodeUsageUpdate(benchmark::State& state) {
  const std::int64_t nodes = state.range(0);
  const int used = static_cast<int>(state.range(1));
  Cluster cluster(nodes, used);
  inventory::Inventory inventory(cluster.dictionary);
  api::ResourceSlice slice;
  slice.metadata.name = "slice";
  slice.spec.driver = kDriver;
  slice.spec.pool = {.name = NodeName(1), .generation = 1, .resource_slice_count = 1};
  slice.spec.node_name = NodeName(1);
  slice.spec.devices.emplace();
  for (int i = 0; i < kDevices; ++i) slice.spec.devices->push_back({.name = DeviceName(i)});
  inventory.Put(slice);
  api::Node node;
  node.metadata.name = NodeName(1);
  const auto devices = inventory::Gather(inventory.snapshot(), node, inventory::Features::All());
  if (!devices.ok()) {
    state.SkipWithError("cannot be gathered");
    return;
  }
  // Two snapshots that differ in one device, looked at in turn.
  const Snapshot one = cluster.ledger.snapshot();
  if (used == 0) {
    cluster.ledger.Put(ClaimOn(1, 0));
  } else {
    cluster.ledger.Remove(ClaimOn(1, 0).metadata.uid);
  }
  const Snapshot other = cluster.ledger.snapshot();
  NodeUsage usage;
  usage.Update(*devices, one);
  for (auto _ : state) {
    benchmark::DoNotOptimize(usage.Update(*devices, other));
    benchmark::DoNotOptimize(usage.Update(*devices, one));
  }
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(BM_Ledger_NodeUsageUpdate)
    ->ArgNames({"nodes", "used"})
    ->ArgsProduct({{5000, 100000}, {0, kDevices / 2, kDevices}});

// Nothing has changed: what almost every node costs in almost every cycle.
void BM_Ledger_NodeUsageUnchanged(benchmark::State& state) {
  const std::int64_t nodes = state.range(0);
  Cluster cluster(nodes, kDevices / 2);
  inventory::Inventory inventory(cluster.dictionary);
  std::vector<std::pair<std::shared_ptr<const inventory::NodeDevices>, NodeUsage>> all;
  for (std::int64_t i = 0; i < nodes; ++i) {
    api::ResourceSlice slice;
    slice.metadata.name = "slice-" + std::to_string(i);
    slice.spec.driver = kDriver;
    slice.spec.pool = {.name = NodeName(i), .generation = 1, .resource_slice_count = 1};
    slice.spec.node_name = NodeName(i);
    slice.spec.devices.emplace();
    for (int d = 0; d < kDevices; ++d) slice.spec.devices->push_back({.name = DeviceName(d)});
    inventory.Put(slice);
    api::Node node;
    node.metadata.name = NodeName(i);
    auto devices = inventory::Gather(inventory.snapshot(), node, inventory::Features::All());
    if (!devices.ok()) {
      state.SkipWithError("cannot be gathered");
      return;
    }
    all.emplace_back(*std::move(devices), NodeUsage());
    all.back().second.Update(all.back().first, cluster.ledger.snapshot());
  }
  const Snapshot snapshot = cluster.ledger.snapshot();
  std::size_t at = 0;
  for (auto _ : state) {
    auto& [devices, usage] = all[at++ % all.size()];
    benchmark::DoNotOptimize(usage.Update(devices, snapshot));
  }
}
BENCHMARK(BM_Ledger_NodeUsageUnchanged)->ArgName("nodes")->Arg(5000);

}  // namespace
}  // namespace dray::ledger
