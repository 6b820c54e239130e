// SPDX-License-Identifier: Apache-2.0
#include "inventory/slice_table.h"

#include <algorithm>

namespace dray::inventory {
namespace {

// An explicitly empty node name is none, as everywhere in the API.
template <typename Name, typename Selector>
NodeChoice ChoiceOf(const Name& node_name, std::optional<bool> all_nodes, const Selector& selector,
                    Dictionary& dictionary) {
  NodeChoice choice;
  if (node_name.has_value() && !node_name->empty()) {
    choice.node = dictionary.Intern(*node_name);
    choice.has_node = true;
  }
  choice.all_nodes = all_nodes.value_or(false);
  if (selector.has_value()) choice.selector = dictionary.Intern(*selector);
  return choice;
}

std::vector<CounterAmount> AmountsOf(const api::CounterSet& set, Dictionary& dictionary) {
  std::vector<CounterAmount> amounts;
  amounts.reserve(set.counters.size());
  for (const auto& [name, counter] : set.counters) {
    amounts.push_back({dictionary.Intern(name.view()), ToAmount(counter.value)});
  }
  std::ranges::sort(amounts, {}, &CounterAmount::counter);
  return amounts;
}

// The value at place `i` of the other device's map if its key is `name`, or null.
template <typename T>
const T* SameKey(const api::Device* other, api::Map<T> api::Device::*map, std::size_t i,
                 const base::Text& name) {
  if (other == nullptr || i >= (other->*map).size()) return nullptr;
  const auto& [key, value] = (other->*map).entry(i);
  return key == name ? &value : nullptr;
}

template <typename T>
std::size_t HeapBytes(const std::vector<T>& vector) {
  return vector.capacity() * sizeof(T);
}

}  // namespace

// The devices of a slice resemble each other: most names and values are those of the device before,
// and comparing is cheaper than looking up.
struct SliceTable::Before {
  const api::Device* device = nullptr;
  std::vector<AttributeEntry> attributes;  // in key order, as published
};

std::shared_ptr<const SliceTable> SliceTable::Create(const api::ResourceSlice& slice,
                                                     Dictionary& dictionary) {
  const api::ResourceSliceSpec& spec = slice.spec;
  // Not make_shared: the constructor is private.
  std::shared_ptr<SliceTable> table(new SliceTable());
  table->serial_ = dictionary.NextSerial();
  table->object_name_ = slice.metadata.name;
  table->driver_ = dictionary.Intern(spec.driver);
  table->pool_ = dictionary.InternPool(spec.driver, spec.pool.name);
  table->generation_ = spec.pool.generation;
  table->slice_count_ = spec.pool.resource_slice_count;
  table->node_choice_ = ChoiceOf(spec.node_name, spec.all_nodes, spec.node_selector, dictionary);
  table->mentions_per_device_ = spec.per_device_node_selection.has_value();
  table->per_device_node_selection_ = spec.per_device_node_selection.value_or(false);
  table->skip_node_operations_ = spec.skip_node_operations;
  if (spec.devices.has_value()) table->AddDevices(*spec.devices, dictionary);
  if (spec.shared_counters.has_value()) table->AddCounterSets(*spec.shared_counters, dictionary);
  return table;
}

void SliceTable::AddDevices(std::span<const api::Device> devices, Dictionary& dictionary) {
  std::size_t attributes = 0;
  std::size_t capacities = 0;
  for (const api::Device& device : devices) {
    attributes += device.attributes.size();
    capacities += device.capacity.size();
  }
  devices_.reserve(devices.size());
  attributes_.reserve(attributes);
  capacities_.reserve(capacities);
  if (per_device_node_selection_) device_choices_.reserve(devices.size());
  Before before;
  for (const api::Device& device : devices) {
    AddDevice(device, before, dictionary);
    before.device = &device;
  }
}

void SliceTable::AddDevice(const api::Device& device, Before& before, Dictionary& dictionary) {
  DeviceRow row;
  row.name = dictionary.Intern(device.name);
  row.allow_multiple_allocations = device.allow_multiple_allocations.value_or(false);
  row.binds_to_node = device.binds_to_node.value_or(false);
  AddAttributes(device, before, row, dictionary);
  AddCapacities(device, before, row, dictionary);

  if (!device.consumes_counters.empty()) {
    row.consumption = dictionary.Intern(std::span(device.consumes_counters));
    row.has_groups = std::ranges::any_of(device.consumes_counters, [](const auto& consumption) {
      return !consumption.compatibility_groups.empty();
    });
    has_groups_ |= row.has_groups;
    has_consumption_ = true;
  }
  if (!device.taints.empty()) row.taints = dictionary.Intern(std::span(device.taints));
  if (!device.binding_conditions.empty() || !device.binding_failure_conditions.empty()) {
    row.conditions =
        dictionary.Intern(Conditions{device.binding_conditions, device.binding_failure_conditions});
  }
  row.has_binding_conditions = !device.binding_conditions.empty();
  has_binding_conditions_ |= row.has_binding_conditions;
  if (per_device_node_selection_) {
    row.node_choice = static_cast<std::uint32_t>(device_choices_.size());
    device_choices_.push_back(
        ChoiceOf(device.node_name, device.all_nodes, device.node_selector, dictionary));
  }
  if (!device.node_allocatable_resources.empty()) {
    node_allocatable_.push_back(
        {static_cast<std::uint32_t>(devices_.size()), device.node_allocatable_resources});
  }
  devices_.push_back(row);
}

void SliceTable::AddAttributes(const api::Device& device, Before& before, DeviceRow& row,
                               Dictionary& dictionary) {
  row.first_attribute = static_cast<std::uint32_t>(attributes_.size());
  row.attributes = static_cast<std::uint32_t>(device.attributes.size());
  for (std::size_t i = 0; i < device.attributes.size(); ++i) {
    const auto& [name, attribute] = device.attributes.entry(i);
    const auto* same = SameKey(before.device, &api::Device::attributes, i, name);
    const AttributeEntry entry{
        same != nullptr ? before.attributes[i].name : dictionary.Intern(name.view()),
        same != nullptr && *same == attribute ? before.attributes[i].value
                                              : dictionary.Intern(attribute)};
    row.unreadable |= dictionary.At(entry.value).value.is_error();
    attributes_.push_back(entry);
  }
  const auto first = attributes_.begin() + row.first_attribute;
  before.attributes.assign(first, attributes_.end());
  std::ranges::sort(first, attributes_.end(), {}, &AttributeEntry::name);
}

void SliceTable::AddCapacities(const api::Device& device, const Before& before, DeviceRow& row,
                               Dictionary& dictionary) {
  row.first_capacity = static_cast<std::uint32_t>(capacities_.size());
  row.capacities = static_cast<std::uint32_t>(device.capacity.size());
  for (std::size_t i = 0; i < device.capacity.size(); ++i) {
    const auto& [name, capacity] = device.capacity.entry(i);
    const auto* same = SameKey(before.device, &api::Device::capacity, i, name);
    if (same == nullptr) {
      capacities_.push_back({dictionary.Intern(name.view()), dictionary.Intern(capacity)});
      continue;
    }
    const CapacityEntry& entry = capacities_[devices_.back().first_capacity + i];
    capacities_.push_back(
        {entry.name, *same == capacity ? entry.capacity : dictionary.Intern(capacity)});
  }
}

void SliceTable::AddCounterSets(std::span<const api::CounterSet> sets, Dictionary& dictionary) {
  has_shared_counters_ = !sets.empty();
  std::size_t counters = 0;
  for (const api::CounterSet& set : sets) counters += set.counters.size();
  counters_.reserve(counters);  // rows point into it: it must not grow
  counter_sets_.reserve(sets.size());
  for (const api::CounterSet& set : sets) {
    const std::vector<CounterAmount> amounts = AmountsOf(set, dictionary);
    const auto first = counters_.insert(counters_.end(), amounts.begin(), amounts.end());
    counter_sets_.push_back({dictionary.Intern(set.name), std::span(first, counters_.end())});
  }
}

std::span<const AttributeEntry> SliceTable::attributes(const DeviceRow& row) const {
  return std::span(attributes_).subspan(row.first_attribute, row.attributes);
}

std::span<const CapacityEntry> SliceTable::capacities(const DeviceRow& row) const {
  return std::span(capacities_).subspan(row.first_capacity, row.capacities);
}

const NodeChoice& SliceTable::choice(const DeviceRow& row) const {
  return per_device_node_selection_ ? device_choices_[row.node_choice] : node_choice_;
}

ValueId SliceTable::FindAttribute(const DeviceRow& row, NameId name) const {
  const std::span<const AttributeEntry> entries = attributes(row);
  const auto it = std::ranges::lower_bound(entries, name, {}, &AttributeEntry::name);
  return it != entries.end() && it->name == name ? it->value : ValueId::kNone;
}

ValueId SliceTable::FindAttribute(const DeviceRow& row, NameId name,
                                  std::optional<NameId> bare) const {
  const ValueId found = FindAttribute(row, name);
  return found == ValueId::kNone && bare.has_value() ? FindAttribute(row, *bare) : found;
}

const api::Map<api::NodeAllocatableResource>* SliceTable::FindNodeAllocatable(
    const DeviceRow& row) const {
  const auto index = static_cast<std::uint32_t>(&row - devices_.data());
  const auto at = std::ranges::lower_bound(node_allocatable_, index, {}, &NodeAllocatable::row);
  return at == node_allocatable_.end() || at->row != index ? nullptr : &at->resources;
}

bool SliceTable::SameContent(const SliceTable& other) const {
  const auto same_set = [](const CounterSetRow& a, const CounterSetRow& b) {
    const auto same_counter = [](const CounterAmount& x, const CounterAmount& y) {
      return x.counter == y.counter && x.amount == y.amount;
    };
    return a.name == b.name && std::ranges::equal(a.counters, b.counters, same_counter);
  };
  return object_name_ == other.object_name_ && pool_ == other.pool_ &&
         generation_ == other.generation_ && slice_count_ == other.slice_count_ &&
         node_choice_ == other.node_choice_ && mentions_per_device_ == other.mentions_per_device_ &&
         per_device_node_selection_ == other.per_device_node_selection_ &&
         skip_node_operations_ == other.skip_node_operations_ && devices_ == other.devices_ &&
         attributes_ == other.attributes_ && capacities_ == other.capacities_ &&
         device_choices_ == other.device_choices_ && node_allocatable_ == other.node_allocatable_ &&
         std::ranges::equal(counter_sets_, other.counter_sets_, same_set);
}

void SliceTable::Mark(Marker& marker) const {
  const auto mark_choice = [&](const NodeChoice& choice) {
    if (choice.has_node) marker.Mark(choice.node);
    marker.Mark(choice.selector);
  };
  marker.Mark(driver_);
  marker.Mark(pool_);
  mark_choice(node_choice_);
  std::ranges::for_each(device_choices_, mark_choice);
  for (const DeviceRow& row : devices_) {
    marker.Mark(row.name);
    marker.Mark(row.consumption);
    marker.Mark(row.taints);
    marker.Mark(row.conditions);
  }
  for (const AttributeEntry& entry : attributes_) {
    marker.Mark(entry.name);
    marker.Mark(entry.value);
  }
  for (const CapacityEntry& entry : capacities_) {
    marker.Mark(entry.name);
    marker.Mark(entry.capacity);
  }
  for (const CounterSetRow& set : counter_sets_) marker.Mark(set.name);
  for (const CounterAmount& counter : counters_) marker.Mark(counter.counter);
}

std::size_t SliceTable::MemoryBytes() const {
  std::size_t bytes = sizeof(*this) + HeapBytes(devices_) + HeapBytes(attributes_) +
                      HeapBytes(capacities_) + HeapBytes(device_choices_) +
                      HeapBytes(counter_sets_) + HeapBytes(counters_) +
                      HeapBytes(skip_node_operations_) + HeapBytes(node_allocatable_);
  if (object_name_.capacity() >= sizeof(std::string)) bytes += object_name_.capacity() + 1;
  for (const std::string& operation : skip_node_operations_) {
    if (operation.capacity() >= sizeof(std::string)) bytes += operation.capacity() + 1;
  }
  return bytes;
}

}  // namespace dray::inventory
