// SPDX-License-Identifier: Apache-2.0
#include "simulator/meter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "allocator/capacity.h"

namespace dray::simulator {
namespace {

using inventory::Amount;

std::int64_t PartsOf(const Amount& part, const Amount& whole) {
  if (whole <= 0) return 0;
  const double share = static_cast<double>(part) / static_cast<double>(whole);
  return std::llround(std::clamp(share, 0.0, 1.0) * static_cast<double>(kWholeDevice));
}

bool Keeps(const api::DeviceTaint& taint) { return taint.effect != api::kTaintEffectNone; }

}  // namespace

double ClassUse::Utilisation() const {
  return used + free == 0 ? 0 : static_cast<double>(used) / static_cast<double>(used + free);
}
double ClassUse::Fragmentation() const {
  return free == 0 ? 0 : 1 - static_cast<double>(servable) / static_cast<double>(free);
}
ClassUse& operator+=(ClassUse& a, const ClassUse& b) {
  a.devices += b.devices;
  a.blocked += b.blocked;
  a.used += b.used;
  a.free += b.free;
  a.servable += b.servable;
  return a;
}
ClassUse& operator-=(ClassUse& a, const ClassUse& b) {
  return a += {-b.devices, -b.blocked, -b.used, -b.free, -b.servable};
}

// What one device adds.
struct Meter::Part {
  bool blocked = false;
  std::int64_t used = 0;
  std::int64_t free = 0;
  std::int64_t slots = 0;  // how many requests for one device it could serve
  std::int64_t share = 0;  // that each of them would take
};

Meter::Meter(scheduler::World& world, std::vector<TypicalRequest> requests)
    : world_(world), requests_(std::move(requests)), total_(requests_.size()) {
  for (TypicalRequest& request : requests_) {
    if (request.mix.empty()) {
      request.mix.push_back({.count = request.count, .capacity = request.capacity});
    }
  }
}

bool Meter::Matches(std::size_t request, const inventory::SliceTable& slice,
                    const inventory::DeviceRow& row) const {
  const auto device_class = world_.FindClass(requests_[request].device_class);
  if (device_class == nullptr) return false;
  return std::ranges::all_of(device_class->spec.selectors, [&](const api::DeviceSelector& s) {
    if (!s.cel) return false;
    const auto expression = world_.expressions().Selector(s.cel->expression);
    return expression->program != nullptr &&
           expression->program->Match(slice, row, nullptr) == inventory::Verdict::kYes;
  });
}

Meter::Part Meter::PartOf(const ledger::NodeUsage& usage, std::size_t index,
                          const api::Map<base::Quantity>& asked) const {
  const inventory::NodeDevices& devices = usage.devices();
  const inventory::NodeDevice& device = devices.devices()[index];
  const inventory::Dictionary& dictionary = devices.dictionary();
  Part part;
  if (usage.taken().Test(index)) {
    part.used = kWholeDevice;
    return part;
  }
  const bool shared = usage.shared().Test(index);
  if (!shared) {
    part.blocked = std::ranges::any_of(dictionary.At(device.taints), Keeps) ||
                   (device.uses > 0 && usage.overdrawn(device.pool));
    for (const inventory::CounterUse& use : devices.counter_uses(device)) {
      part.blocked = part.blocked || usage.counters()[use.counter] < use.amount;
    }
    for (const inventory::SetUse& use : devices.set_uses(device)) {
      part.blocked = part.blocked || !usage.groups()[use.set].Admits(dictionary.At(use.groups));
    }
    if (part.blocked) return part;
  }
  part.slots = 1;
  part.share = kWholeDevice;
  part.free = kWholeDevice;
  if (!device.row->allow_multiple_allocations) return part;

  const std::span<const inventory::CapacityEntry> capacities =
      device.slice->capacities(*device.row);
  const std::span<const Amount> consumed = usage.consumed(index);
  std::int64_t slots = std::numeric_limits<std::int64_t>::max();
  std::int64_t share = 0;
  for (std::size_t c = 0; c < capacities.size(); ++c) {
    const inventory::Capacity& capacity = dictionary.At(capacities[c].capacity);
    const Amount taken = consumed.empty() ? Amount(0) : consumed[c];
    part.used = std::max(part.used, PartsOf(taken, capacity.amount));
    const std::string_view name = dictionary.View(capacities[c].name);
    const base::Quantity* amount = asked.Find(name);
    if (amount == nullptr) {
      amount = asked.Find(std::string(dictionary.View(device.slice->driver())) + "/" +
                          std::string(name));
    }
    const auto takes = allocator::ConsumedAmount(amount, capacity.capacity,
                                                 devices.features().fractional_capacity_range);
    const Amount wanted = takes ? inventory::ToAmount(*takes) : capacity.amount;
    if (wanted <= 0) continue;
    const Amount room = capacity.amount - taken;
    slots = std::min(slots, room < wanted ? 0 : static_cast<std::int64_t>(room / wanted));
    share = std::max(share, PartsOf(wanted, capacity.amount));
  }
  part.free = kWholeDevice - part.used;
  if (share > 0) {
    part.slots = slots;
    part.share = share;
  }
  return part;
}

std::vector<ClassUse> Meter::OfNode(scheduler::NodeInfo& node) const {
  std::vector<ClassUse> uses(requests_.size());
  if (node.node == nullptr || !world_.RefreshDevices(node).ok()) return uses;
  const std::span<const inventory::NodeDevice> devices = node.devices->devices();
  for (std::size_t r = 0; r < requests_.size(); ++r) {
    ClassUse& use = uses[r];
    std::vector<std::size_t> of_class;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      const inventory::NodeDevice& device = devices[d];
      // Others are counted once for all nodes.
      if (!device.slice->node_choice().has_node || !device.on_node) continue;
      if (!Matches(r, *device.slice, *device.row)) continue;
      const Part part = PartOf(node.usage, d, requests_[r].capacity);
      ++use.devices;
      use.blocked += part.blocked ? 1 : 0;
      use.used += part.used;
      use.free += part.free;
      if (part.free > 0) of_class.push_back(d);
    }
    if (of_class.empty()) continue;
    double useful = 0;
    double weight = 0;
    for (const RequestShape& shape : requests_[r].mix) {
      useful += shape.weight * static_cast<double>(UsefulTo(shape, node, of_class));
      weight += shape.weight;
    }
    if (weight > 0) use.servable = std::llround(useful / weight);
  }
  return uses;
}

std::int64_t Meter::UsefulTo(const RequestShape& shape, scheduler::NodeInfo& node,
                             const std::vector<std::size_t>& devices) const {
  const scheduler::Resources& has = node.allocatable;
  const scheduler::Resources& taken = node.requested;
  if (shape.milli_cpu > has.milli_cpu - taken.milli_cpu ||
      shape.memory > has.memory - taken.memory) {
    return 0;
  }
  std::int64_t slots = 0;
  std::int64_t useful = 0;
  for (const std::size_t d : devices) {
    const Part part = PartOf(node.usage, d, shape.capacity);
    slots += part.slots > 0 ? 1 : 0;  // a request never gets a device twice
    useful += part.slots > 0 ? part.free : 0;
  }
  return slots >= shape.count ? useful : 0;
}

// A pool without a node takes the place of one: its devices are in use or not.
std::vector<ClassUse> Meter::OfUnbound() const {
  std::vector<ClassUse> uses(requests_.size());
  const ledger::Snapshot& taken = world_.ledger().snapshot();
  for (std::size_t r = 0; r < requests_.size(); ++r) {
    std::map<inventory::PoolId, std::int64_t> free;
    const std::vector<RequestShape>& mix = requests_[r].mix;
    for (const auto& slice : world_.inventory().snapshot().Unbound()) {
      const ledger::PoolUsage* usage = taken.Find(slice->pool());
      for (const inventory::DeviceRow& row : slice->devices()) {
        if (!Matches(r, *slice, row)) continue;
        ++uses[r].devices;
        if (usage != nullptr && usage->Find(row.name) != nullptr) {
          uses[r].used += kWholeDevice;
        } else {
          uses[r].free += kWholeDevice;
          ++free[slice->pool()];
        }
      }
    }
    double weight = 0;
    for (const RequestShape& shape : mix) weight += shape.weight;
    for (const auto& [pool, devices] : free) {
      double of_use = 0;
      for (const RequestShape& shape : mix) of_use += devices >= shape.count ? shape.weight : 0;
      if (weight > 0) {
        uses[r].servable +=
            std::llround(static_cast<double>(devices * kWholeDevice) * of_use / weight);
      }
    }
  }
  return uses;
}

void Meter::Forget(std::size_t node) {
  for (std::size_t r = 0; r < nodes_[node].size(); ++r) total_[r] -= nodes_[node][r];
  nodes_[node].clear();
}

const std::vector<ClassUse>& Meter::Measure() {
  const auto changed = world_.ChangedSince(version_);
  const bool all = first_ || changed.all || world_.nodes_version() != nodes_version_;
  first_ = false;
  version_ = world_.version();
  nodes_version_ = world_.nodes_version();
  nodes_.resize(std::max(nodes_.size(), world_.node_indices()));
  const auto look = [&](std::size_t index) {
    Forget(index);
    scheduler::NodeInfo* node = world_.node(static_cast<scheduler::NodeIndex>(index));
    if (node == nullptr) return;
    nodes_[index] = OfNode(*node);
    for (std::size_t r = 0; r < requests_.size(); ++r) total_[r] += nodes_[index][r];
  };
  if (all) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) look(i);
  } else {
    std::vector<scheduler::NodeIndex> nodes = changed.nodes;
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    for (const scheduler::NodeIndex index : nodes) look(index);
  }
  measured_ = total_;
  if (!world_.inventory().snapshot().Unbound().empty()) {
    const std::vector<ClassUse> unbound = OfUnbound();
    for (std::size_t r = 0; r < measured_.size(); ++r) measured_[r] += unbound[r];
  }
  return measured_;
}

}  // namespace dray::simulator
