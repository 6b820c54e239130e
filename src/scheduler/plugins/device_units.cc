// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/device_units.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "allocator/verdicts.h"
#include "fmt/format.h"

namespace dray::scheduler {

using inventory::NodeDevice;
using inventory::NodeDevices;

namespace {

// Rounded down; what is overdrawn is nothing.
packing::Amount Millionths(const inventory::Amount& amount, const inventory::Amount& total) {
  if (total <= 0 || amount <= 0) return 0;
  if (amount >= total) return packing::kWhole;
  const double share = static_cast<double>(amount) / static_cast<double>(total) * packing::kWhole;
  // Shares that are millionths exactly stay that.
  return static_cast<packing::Amount>(share + 1e-6);
}

std::int32_t Small(std::int64_t amount) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(amount, 0, std::numeric_limits<std::int32_t>::max()));
}

constexpr std::int64_t kMiB = 1 << 20;

std::uint64_t Pair(inventory::NameId a, inventory::NameId b) {
  return (std::uint64_t{a.id()} << 32) | b.id();
}

// Only for this node, by its name.
bool OfThisNode(const NodeDevice& device) { return device.slice->node_choice().has_node; }

// Devices that draw on counters are ways to take from the first set that they draw on.
const inventory::SetUse* SetOf(const NodeDevices& devices, const NodeDevice& device) {
  const auto sets = devices.set_uses(device);
  return sets.empty() ? nullptr : &sets.front();
}

}  // namespace

bool DeviceUnits::IsOf(const Layout& layout, const NodeInfo& node) const {
  return layout.version == version_ && !layout.of.owner_before(node.devices) &&
         !node.devices.owner_before(layout.of);
}

bool DeviceUnits::Tells(inventory::NameId driver, const inventory::AttributeEntry& attribute,
                        bool* changed) {
  auto& values = values_[Pair(driver, attribute.name)];
  if (values.size() > kMostValues) return false;
  values.insert(static_cast<std::uint32_t>(attribute.value));
  if (values.size() <= kMostValues) return true;
  *changed = true;
  return false;
}

bool DeviceUnits::FindNumbering(const NodeDevices& devices) {
  struct Seen {
    std::size_t devices = 0;
    absl::flat_hash_set<std::uint32_t> values;
  };
  absl::flat_hash_map<std::uint64_t, Seen> seen;
  for (const NodeDevice& device : devices.devices()) {
    if (SetOf(devices, device) != nullptr) continue;
    for (const inventory::AttributeEntry& attribute : device.slice->attributes(*device.row)) {
      Seen& of = seen[Pair(device.slice->driver(), attribute.name)];
      ++of.devices;
      of.values.insert(static_cast<std::uint32_t>(attribute.value));
    }
  }
  bool changed = false;
  for (const auto& [attribute, of] : seen) {
    if (of.devices < kAllDifferent || of.values.size() < of.devices) continue;
    auto& values = values_[attribute];
    if (values.size() > kMostValues) continue;
    changed |= !values.empty();
    // As if there had been too many.
    for (std::uint32_t i = 0; values.size() <= kMostValues; ++i) values.insert(i);
  }
  return changed;
}

std::string DeviceUnits::KeyOf(const NodeDevices& devices, const NodeDevice& device,
                               std::string* name, bool* changed) {
  const inventory::Dictionary& dictionary = devices.dictionary();
  const inventory::SliceTable& slice = *device.slice;
  std::string key = fmt::format("d{}", slice.driver().id());
  *name = dictionary.View(slice.driver());
  if (const inventory::SetUse* use = SetOf(devices, device)) {
    // All devices of the set are of its kind, whatever they publish.
    const auto& set = devices.counter_sets()[use->set];
    key += "s";
    for (std::uint32_t c = set.first_counter; c < set.first_counter + set.counters; ++c) {
      const auto& counter = devices.counters()[c];
      key += fmt::format(";{}={}", counter.name.id(), static_cast<double>(counter.value));
    }
    return key;
  }
  key += device.row->allow_multiple_allocations ? "m" : "w";
  for (const inventory::CapacityEntry& capacity : slice.capacities(*device.row)) {
    key += fmt::format(";{}:{}", capacity.name.id(), static_cast<std::uint32_t>(capacity.capacity));
  }
  for (const inventory::AttributeEntry& attribute : slice.attributes(*device.row)) {
    if (!Tells(slice.driver(), attribute, changed)) continue;
    key += fmt::format(",{}:{}", attribute.name.id(), static_cast<std::uint32_t>(attribute.value));
  }
  return key;
}

std::uint16_t DeviceUnits::KindOf(std::string key, std::string name, NodeIndex node) {
  if (const auto known = kind_numbers_.find(key); known != kind_numbers_.end()) {
    kinds_[known->second].example = node;
    return known->second;
  }
  // Where there are more kinds than one can count the last one is all that are left.
  if (kinds_.size() == packing::kMaxKinds) {
    return static_cast<std::uint16_t>(packing::kMaxKinds - 1);
  }
  const auto number = static_cast<std::uint16_t>(kinds_.size());
  kind_numbers_.emplace(key, number);
  kinds_.push_back({.key = std::move(key), .name = std::move(name), .example = node});
  return number;
}

std::uint16_t DeviceUnits::GroupOf(const NodeDevice& device,
                                   std::vector<inventory::ValueId>& values) const {
  if (!matched_) return 0;
  const auto bare = matched_->domain == device.slice->driver() ? matched_->bare : std::nullopt;
  const inventory::ValueId value = device.slice->FindAttribute(*device.row, matched_->name, bare);
  const auto found = std::ranges::find(values, value);
  const auto group = static_cast<std::uint16_t>(found - values.begin() + 1);
  // Without the attribute a device matches nobody.
  if (found == values.end() || value == inventory::ValueId::kNone) values.push_back(value);
  return value == inventory::ValueId::kNone ? static_cast<std::uint16_t>(values.size()) : group;
}

void DeviceUnits::MakeLayout(Layout& layout, const NodeInfo& node) {
  const NodeDevices& devices = *node.devices;
  bool changed = FindNumbering(devices);
  std::vector<std::int32_t> unit_of_set(devices.counter_sets().size(), -1);
  std::vector<inventory::ValueId> values;
  layout = {.of = node.devices, .version = version_};
  layout.unit_of.assign(devices.devices().size(), -1);
  for (std::uint32_t d = 0; d < devices.devices().size(); ++d) {
    const NodeDevice& device = devices.devices()[d];
    if (!OfThisNode(device) || !device.on_node || device.counters_off) continue;
    const inventory::SetUse* use = SetOf(devices, device);
    if (use != nullptr && unit_of_set[use->set] >= 0) {
      layout.unit_of[d] = unit_of_set[use->set];
      continue;
    }
    if (layout.units.size() == packing::kMaxUnits) continue;
    UnitLayout unit{.group = GroupOf(device, values)};
    std::string name;
    std::string key = KeyOf(devices, device, &name, &changed);
    unit.kind = KindOf(std::move(key), std::move(name), node.index);
    const std::size_t dims = use != nullptr ? devices.counter_sets()[use->set].counters
                             : device.row->allow_multiple_allocations
                                 ? device.slice->capacities(*device.row).size()
                                 : 1;
    unit.set = use != nullptr;
    unit.index = use != nullptr ? use->set : d;
    unit.dims = static_cast<std::uint16_t>(std::clamp<std::size_t>(dims, 1, kMostDims));
    const auto number = static_cast<std::int32_t>(layout.units.size());
    layout.unit_of[d] = number;
    if (use != nullptr) unit_of_set[use->set] = number;
    layout.units.push_back(unit);
  }
  if (!changed) return;
  // An attribute does not tell kinds apart any more: they are counted anew.
  kinds_.clear();
  kind_numbers_.clear();
  ++version_;
  ++kinds_version_;
  MakeLayout(layout, node);
}

packing::NodeState DeviceUnits::StateOf(const NodeInfo& node) {
  packing::NodeState state;
  state.left[packing::kCpu] = Small(node.allocatable.milli_cpu - node.requested.milli_cpu);
  state.left[packing::kMemory] = Small((node.allocatable.memory - node.requested.memory) / kMiB);
  state.left[packing::kPods] = Small(node.allocatable.pods - node.requested.pods);
  if (node.devices == nullptr) return state;
  if (layouts_.size() <= node.index) layouts_.resize(node.index + 1);
  Layout& layout = layouts_[node.index];
  if (!IsOf(layout, node)) MakeLayout(layout, node);
  const NodeDevices& devices = *node.devices;
  for (const UnitLayout& unit : layout.units) {
    state.units.push_back(
        {unit.kind, unit.group, static_cast<std::uint16_t>(state.free.size()), unit.dims});
    if (unit.set) {
      const auto& set = devices.counter_sets()[unit.index];
      for (std::uint16_t d = 0; d < unit.dims; ++d) {
        const std::uint32_t counter = set.first_counter + d;
        state.free.push_back(
            Millionths(node.usage.counters()[counter], devices.counters()[counter].value));
      }
      continue;
    }
    const NodeDevice& device = devices.devices()[unit.index];
    const bool gone = node.usage.taken().Test(unit.index) ||
                      device.taints != inventory::TaintsId::kNone || device.operations_missing;
    const auto consumed = node.usage.consumed(unit.index);
    const auto capacities = device.slice->capacities(*device.row);
    for (std::uint16_t d = 0; d < unit.dims; ++d) {
      if (gone || consumed.empty() || capacities.empty()) {
        state.free.push_back(gone ? 0 : packing::kWhole);
        continue;
      }
      const inventory::Amount total = devices.dictionary().At(capacities[d].capacity).amount;
      state.free.push_back(Millionths(total - consumed[d], total));
    }
  }
  return state;
}

void DeviceUnits::Forget(NodeIndex node) {
  if (node < layouts_.size()) layouts_[node] = {};
}

std::optional<std::uint32_t> DeviceUnits::UnitOf(const NodeInfo& node, std::uint32_t device) const {
  if (node.index >= layouts_.size() || !IsOf(layouts_[node.index], node)) return std::nullopt;
  const std::int32_t unit = layouts_[node.index].unit_of[device];
  return unit < 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(unit));
}

void DeviceUnits::Track(const allocator::Plan& plan) {
  if (matched_) return;
  for (const allocator::ConstraintPlan& constraint : plan.constraints()) {
    if (constraint.type == nullptr ||
        constraint.type->promise() != allocator::Promise::kCommonElement) {
      continue;
    }
    matched_ = {.attribute = constraint.attribute,
                .name = constraint.name,
                .domain = constraint.domain,
                .bare = constraint.bare};
    ++version_;
    return;
  }
}

const NodeInfo* DeviceUnits::ExampleOf(std::uint16_t kind) {
  const auto has = [&](NodeIndex index) -> const NodeInfo* {
    const NodeInfo* node = index < layouts_.size() ? world_.node(index) : nullptr;
    if (node == nullptr || node->devices == nullptr || !IsOf(layouts_[index], *node))
      return nullptr;
    return std::ranges::find(layouts_[index].units, kind, &UnitLayout::kind) !=
                   layouts_[index].units.end()
               ? node
               : nullptr;
  };
  if (const NodeInfo* node = has(kinds_[kind].example)) return node;
  // That one is gone, or has other devices now.
  for (NodeIndex index = 0; index < layouts_.size(); ++index) {
    const NodeInfo* node = has(index);
    if (node == nullptr) continue;
    kinds_[kind].example = index;
    return node;
  }
  return nullptr;
}

// With the devices of one node that has the kind.
void DeviceUnits::AddOptions(packing::Demand& demand, const allocator::Plan& plan,
                             const allocator::Alternative& alternative,
                             std::span<const allocator::ConstraintPlan> constraints,
                             std::uint16_t kind) {
  const NodeInfo* node = ExampleOf(kind);
  if (node == nullptr) return;
  const Layout& layout = layouts_[node->index];
  const NodeDevices& devices = *node->devices;
  const inventory::SliceTable* judged = nullptr;
  std::shared_ptr<const allocator::Verdicts> verdicts;
  const UnitLayout* unit = nullptr;
  for (std::uint32_t d = 0; d < devices.devices().size(); ++d) {
    if (layout.unit_of[d] < 0) continue;
    const UnitLayout& of = layout.units[static_cast<std::size_t>(layout.unit_of[d])];
    if (of.kind != kind || (unit != nullptr && &of != unit)) continue;
    unit = &of;
    const NodeDevice& device = devices.devices()[d];
    if (device.slice != judged) {
      judged = device.slice;
      verdicts = allocator::Judge(alternative, plan, constraints, *judged, devices.dictionary());
    }
    const std::size_t row = d - devices.slices()[device.range].first_device;
    if (!verdicts->pass.Test(row)) continue;
    packing::Option option{.kind = kind};
    option.amounts.assign(of.dims, 0);
    if (of.set) {
      const auto& set = devices.counter_sets()[of.index];
      for (const inventory::CounterUse& use : devices.counter_uses(device)) {
        const std::uint32_t dim = use.counter - set.first_counter;
        if (use.counter < set.first_counter || dim >= of.dims) continue;
        option.amounts[dim] = Millionths(use.amount, devices.counters()[use.counter].value);
      }
    } else if (device.row->allow_multiple_allocations) {
      const inventory::Amount* const consumed = verdicts->consumed(row);
      const auto capacities = device.slice->capacities(*device.row);
      for (std::uint16_t dim = 0; dim < of.dims && dim < capacities.size(); ++dim) {
        option.amounts[dim] =
            Millionths(consumed[dim], devices.dictionary().At(capacities[dim].capacity).amount);
      }
    } else {
      option.amounts.assign(of.dims, packing::kWhole);
    }
    option.whole = std::ranges::all_of(
        option.amounts, [](packing::Amount amount) { return amount == packing::kWhole; });
    if (std::ranges::find(demand.options, option) == demand.options.end()) {
      demand.options.push_back(std::move(option));
    }
    if (!of.set) return;  // one device stands for all of the kind
  }
}

packing::Request DeviceUnits::RequestOf(const PodInfo& pod, const allocator::Plan* plan) {
  packing::Request request;
  request.needs[packing::kCpu] = Small(pod.requests.milli_cpu);
  request.needs[packing::kMemory] = Small(pod.requests.memory / kMiB);
  request.needs[packing::kPods] = 1;
  if (plan == nullptr) return request;
  Track(*plan);
  std::int8_t next_match = 0;
  for (const allocator::ClaimPlan& claim : plan->claims()) {
    const auto constraints = plan->constraints(claim);
    std::vector<std::int8_t> match_of(constraints.size(), -1);
    for (const allocator::RequestPlan& asked : plan->requests(claim)) {
      for (const allocator::Alternative& alternative : plan->alternatives(asked)) {
        if (alternative.all || alternative.admin || !alternative.error.ok()) continue;
        packing::Demand demand;
        demand.count = static_cast<std::uint32_t>(
            std::clamp<std::int64_t>(alternative.count, 1, allocator::kMaxDevicesPerClaim));
        for (std::uint16_t kind = 0; kind < kinds_.size(); ++kind) {
          AddOptions(demand, *plan, alternative, constraints, kind);
        }
        if (demand.options.empty()) continue;  // the next alternative of a list may do
        for (const allocator::ConstraintUse& use : alternative.constraints) {
          if (!matched_ || constraints[use.constraint].name != matched_->name ||
              use.type->promise() != allocator::Promise::kCommonElement) {
            continue;
          }
          if (match_of[use.constraint] < 0) {
            match_of[use.constraint] = next_match;
            next_match = static_cast<std::int8_t>(std::min(next_match + 1, 100));
          }
          demand.match = match_of[use.constraint];
        }
        request.demands.push_back(std::move(demand));
        break;
      }
    }
  }
  return request;
}

}  // namespace dray::scheduler
