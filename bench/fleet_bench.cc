// SPDX-License-Identifier: Apache-2.0
//
// The picture of a large fleet: 10,000 nodes with 16 devices each, three quarters of them held. How
// large it is, what making it costs, and what a change costs until it is a line for the page.
// Memory and time grow with devices, a change with what it touches (`looked_at`).
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "api/node.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "fleet/fleet.h"
#include "fleet/fleet_json.h"
#include "fleet/usage.h"
#include "fmt/format.h"

namespace dray::fleet {
namespace {

constexpr std::int64_t kDevices = 16;

api::ResourceSlice SliceOf(std::int64_t node) {
  api::ResourceSlice slice;
  slice.metadata.name = fmt::format("node-{:05}-gpu", node);
  slice.spec.driver = "gpu.example.com";
  slice.spec.node_name = fmt::format("node-{:05}", node);
  slice.spec.pool = {.name = *slice.spec.node_name, .generation = 1, .resource_slice_count = 1};
  auto& devices = slice.spec.devices.emplace();
  for (std::int64_t i = 0; i < kDevices; ++i) {
    api::Device& device = devices.emplace_back();
    device.name = fmt::format("gpu-{}", i);
    const auto text = [&](std::string_view name, const std::string& value) {
      device.attributes[name].string_value = base::OptionalText(value);
    };
    text("model", "H100");
    text("architecture", "Hopper");
    text("uuid", fmt::format("GPU-{:08x}-{:04x}", node, i));
    text("resource.kubernetes.io/pcieRoot", fmt::format("pci0000:{:02x}", i / 4));
    device.attributes["numa"].int_value = i / 8;
    device.attributes["index"].int_value = i;
    device.capacity["memory"].value = *base::Quantity::Parse("80Gi");
  }
  return slice;
}

api::ResourceClaim ClaimOf(std::int64_t node, std::int64_t device, bool allocated = true) {
  api::ResourceClaim claim;
  claim.metadata.namespace_ = fmt::format("team-{}", node % 50);
  claim.metadata.name = fmt::format("claim-{:05}-{}", node, device);
  claim.metadata.uid = claim.metadata.name;
  claim.spec.devices.requests.push_back({.name = "gpu"});
  claim.spec.devices.requests.back().exactly.emplace().device_class_name = "gpu.example.com";
  if (allocated) {
    claim.status.allocation.emplace().devices.results.push_back(
        {.request = "gpu",
         .driver = "gpu.example.com",
         .pool = fmt::format("node-{:05}", node),
         .device = fmt::format("gpu-{}", device)});
    claim.status.reserved_for.push_back(
        {.resource = "pods", .name = fmt::format("pod-{:05}-{}", node, device)});
  }
  return claim;
}

void Put(Fleet& fleet, api::Object object) {
  fleet.Apply({api::Change::Kind::kAdded, std::move(object)});
}

std::unique_ptr<Fleet> Make(std::int64_t nodes) {
  auto fleet = std::make_unique<Fleet>(FleetOptions{});
  for (std::int64_t i = 0; i < nodes; ++i) {
    api::Node node;
    node.metadata.name = fmt::format("node-{:05}", i);
    node.metadata.labels["topology.kubernetes.io/zone"] = fmt::format("zone-{}", i % 3);
    node.metadata.labels["kubernetes.io/hostname"] = node.metadata.name;
    Put(*fleet, api::Object::Of(std::move(node)));
    Put(*fleet, api::Object::Of(SliceOf(i)));
    for (std::int64_t d = 0; d < kDevices; ++d) {
      if ((i + d) % 4 != 0) Put(*fleet, api::Object::Of(ClaimOf(i, d)));
    }
  }
  fleet->Settle();
  return fleet;
}

// One for all, since making it takes a while.
Fleet& Large(std::int64_t nodes) {
  static std::int64_t made = 0;
  static std::unique_ptr<Fleet> fleet;
  if (made != nodes) fleet = Make(made = nodes);
  return *fleet;
}

void BM_Fleet_Load(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Make(state.range(0)));
  state.SetItemsProcessed(state.iterations() * state.range(0) * kDevices);
}
BENCHMARK(BM_Fleet_Load)->Arg(1000)->Unit(benchmark::kMillisecond);

void BM_Fleet_Snapshot(benchmark::State& state) {
  const Fleet& fleet = Large(state.range(0));
  std::size_t bytes = 0;
  for (auto _ : state) bytes = FleetJson(fleet, "epoch", base::Time()).size();
  state.counters["bytes"] = static_cast<double>(bytes);
  state.counters["bytes_per_device"] =
      static_cast<double>(bytes) / static_cast<double>(fleet.live_devices());
  state.counters["holders_bytes"] = static_cast<double>(HoldersJson(fleet, "epoch").size());
}
BENCHMARK(BM_Fleet_Snapshot)->Arg(10'000)->Unit(benchmark::kMillisecond);

// A claim that is allocated or gives its device back, until the line is there.
void BM_Fleet_Change(benchmark::State& state) {
  Fleet& fleet = Large(state.range(0));
  const std::uint64_t looked = fleet.looked_at();
  std::int64_t i = 0;
  for (auto _ : state) {
    const std::uint64_t before = fleet.revision();
    Put(fleet, api::Object::Of(ClaimOf(i % state.range(0), 1, i / state.range(0) % 2 != 0)));
    fleet.Settle();
    benchmark::DoNotOptimize(ChangesJson(fleet, before, base::Time()));
    ++i;
  }
  state.counters["looked_at"] =
      static_cast<double>(fleet.looked_at() - looked) / static_cast<double>(state.iterations());
}
BENCHMARK(BM_Fleet_Change)->Arg(1000)->Arg(10'000)->Unit(benchmark::kMicrosecond);

void BM_Fleet_Measure(benchmark::State& state) {
  const Fleet& fleet = Large(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(Measure(fleet, base::Time()));
}
BENCHMARK(BM_Fleet_Measure)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dray::fleet
