// SPDX-License-Identifier: Apache-2.0
#include "inventory/dictionary.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "inventory/internal/dictionary_impl.h"

namespace dray::inventory {

Amount ToAmount(const base::Quantity& quantity) { return quantity.ClampedNano(); }

namespace internal {

bool Identical(const api::DeviceCapacity& a, const api::DeviceCapacity& b) {
  if (!Identical(a.value, b.value) || a.unknown != b.unknown) return false;
  if (a.request_policy.has_value() != b.request_policy.has_value()) return false;
  if (!a.request_policy.has_value()) return true;
  const api::CapacityRequestPolicy& p = *a.request_policy;
  const api::CapacityRequestPolicy& q = *b.request_policy;
  if (!Identical(p.default_value, q.default_value) || p.unknown != q.unknown ||
      p.valid_range.has_value() != q.valid_range.has_value()) {
    return false;
  }
  if (!std::ranges::equal(p.valid_values, q.valid_values,
                          [](const auto& x, const auto& y) { return Identical(x, y); })) {
    return false;
  }
  return !p.valid_range.has_value() || (Identical(p.valid_range->min, q.valid_range->min) &&
                                        Identical(p.valid_range->max, q.valid_range->max) &&
                                        Identical(p.valid_range->step, q.valid_range->step) &&
                                        p.valid_range->unknown == q.valid_range->unknown);
}

}  // namespace internal

Dictionary::Dictionary() : impl_(std::make_unique<Impl>()) {}
Dictionary::~Dictionary() = default;

NameId Dictionary::Intern(std::string_view text) {
  base::WriterLock lock(impl_->mutex);
  return impl_->AddName(text);
}

std::optional<NameId> Dictionary::Find(std::string_view text) const {
  base::ReaderLock lock(impl_->mutex);
  const auto found = impl_->names.Find(text);
  if (!found) return std::nullopt;
  return NameId(*found);
}

std::string_view Dictionary::View(NameId name) const { return impl_->names[name.id()]; }

// Which member counts when several are set, against the rules, is as for expressions
// (cel/device_values.cc).
ValueId Dictionary::Intern(const api::DeviceAttribute& attribute) {
  Impl& d = *impl_;
  base::WriterLock lock(d.mutex);
  if (attribute.lists.has_value()) {
    const api::AttributeLists& lists = *attribute.lists;
    ValueId id =
        d.AddLists(lists.int_values, lists.bool_values, lists.string_values, lists.version_values);
    if (id == ValueId::kNone && lists.list_value.has_value()) {
      const api::ListAttribute& list = *lists.list_value;
      id = d.AddLists(list.int_value, list.bool_value, list.string_value, list.version_value);
    }
    if (id != ValueId::kNone) return id;
  }
  if (attribute.int_value) return d.AddScalar(d.AddElement(*attribute.int_value));
  if (attribute.bool_value) return d.AddScalar(d.AddElement(*attribute.bool_value));
  if (attribute.string_value) {
    return d.AddScalar(d.AddElement(cel::Kind::kString, attribute.string_value->view()));
  }
  if (attribute.version_value) {
    return d.AddScalar(d.AddElement(cel::Kind::kSemver, attribute.version_value->view()));
  }
  return d.without_value;
}

const AttributeValue& Dictionary::At(ValueId id) const {
  return impl_->values[static_cast<std::uint32_t>(id)];
}

api::DeviceAttribute Dictionary::Attribute(ValueId id) const {
  const AttributeValue& value = At(id);
  const auto element = [&](ElementId e) -> const Element& {
    return impl_->elements[static_cast<std::uint32_t>(e)];
  };
  const auto text = [&](ElementId e) { return std::string(impl_->names[element(e).text]); };
  api::DeviceAttribute out;
  if (value.is_list) {
    const ListRow& list = impl_->lists[value.list];
    api::AttributeLists& lists = out.MutableLists();
    if (list.kind == cel::Kind::kInt) lists.int_values.emplace();
    if (list.kind == cel::Kind::kBool) lists.bool_values.emplace();
    if (list.kind == cel::Kind::kString) lists.string_values.emplace();
    if (list.kind == cel::Kind::kSemver) lists.version_values.emplace();
    for (const ElementId e : list.elements) {
      if (lists.int_values) lists.int_values->push_back(element(e).value.as_int());
      if (lists.bool_values) lists.bool_values->push_back({element(e).value.as_bool()});
      if (lists.string_values) lists.string_values->push_back(text(e));
      if (lists.version_values) lists.version_values->push_back(text(e));
    }
  } else if (!value.elements.empty()) {
    const ElementId e = value.elements.front();
    const cel::Kind kind = element(e).key().kind;
    if (kind == cel::Kind::kInt) out.int_value = element(e).value.as_int();
    if (kind == cel::Kind::kBool) out.bool_value = element(e).value.as_bool();
    if (kind == cel::Kind::kString) out.string_value = base::OptionalText(text(e));
    if (kind == cel::Kind::kSemver) out.version_value = base::OptionalText(text(e));
  }
  return out;
}

CapacityId Dictionary::Intern(const api::DeviceCapacity& capacity) {
  Impl& d = *impl_;
  base::WriterLock lock(d.mutex);
  if (const auto found = d.capacities.Find(capacity)) return CapacityId(*found);
  const std::uint32_t id =
      d.capacities.Add({.capacity = capacity, .amount = ToAmount(capacity.value)});
  Capacity& row = d.capacities.Mutable(id);
  row.value = cel::Value::Pointer(cel::Kind::kQuantity, &row.capacity.value);
  d.row_heap_bytes += HeapBytes(row.capacity);
  return CapacityId(id);
}

const Capacity& Dictionary::At(CapacityId id) const {
  return impl_->capacities[static_cast<std::uint32_t>(id)];
}

ConsumptionId Dictionary::Intern(std::span<const api::DeviceCounterConsumption> consumption) {
  if (consumption.empty()) return ConsumptionId::kNone;
  std::vector<GroupsId> groups;
  for (const auto& set : consumption) groups.push_back(InternGroups(set.compatibility_groups));
  Impl& d = *impl_;
  base::WriterLock lock(d.mutex);
  std::vector<std::vector<CounterAmount>> counters(consumption.size());
  std::vector<SetConsumption> sets;
  for (std::size_t i = 0; i < consumption.size(); ++i) {
    for (const auto& [name, counter] : consumption[i].counters) {
      counters[i].push_back({d.AddName(name), ToAmount(counter.value)});
    }
    std::ranges::sort(counters[i], {}, &CounterAmount::counter);
    sets.push_back({d.AddName(consumption[i].counter_set), groups[i], counters[i]});
  }
  if (const auto found = d.consumptions.Find(sets)) return ConsumptionId(*found);
  for (SetConsumption& set : sets) set.counters = d.bytes.Copy(set.counters);
  return ConsumptionId(d.consumptions.Add(d.bytes.Copy(std::span<const SetConsumption>(sets))));
}

std::span<const SetConsumption> Dictionary::At(ConsumptionId id) const {
  return impl_->consumptions[static_cast<std::uint32_t>(id)];
}

GroupsId Dictionary::InternGroups(std::span<const std::string> groups) {
  if (groups.empty()) return GroupsId::kNone;
  Impl& d = *impl_;
  base::WriterLock lock(d.mutex);
  std::vector<NameId> names;
  for (const std::string& group : groups) names.push_back(d.AddName(group));
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (const auto found = d.groups.Find(names)) return GroupsId(*found);
  return GroupsId(d.groups.Add(d.bytes.Copy(std::span<const NameId>(names))));
}

std::span<const NameId> Dictionary::At(GroupsId id) const {
  return impl_->groups[static_cast<std::uint32_t>(id)];
}

TaintsId Dictionary::Intern(std::span<const api::DeviceTaint> taints) {
  if (taints.empty()) return TaintsId::kNone;
  Impl& d = *impl_;
  base::WriterLock lock(d.mutex);
  if (const auto found = d.taints.Find(taints)) return TaintsId(*found);
  const std::uint32_t id = d.taints.Add({taints.begin(), taints.end()});
  d.row_heap_bytes += HeapBytes(d.taints[id]);
  return TaintsId(id);
}

std::span<const api::DeviceTaint> Dictionary::At(TaintsId id) const {
  return impl_->taints[static_cast<std::uint32_t>(id)];
}

ConditionsId Dictionary::Intern(const Conditions& conditions) {
  if (conditions.binding.empty() && conditions.binding_failure.empty()) return ConditionsId::kNone;
  Impl& d = *impl_;
  base::WriterLock lock(d.mutex);
  if (const auto found = d.conditions.Find(conditions)) return ConditionsId(*found);
  d.row_heap_bytes += HeapBytes(conditions);
  return ConditionsId(d.conditions.Add(conditions));
}

const Conditions& Dictionary::At(ConditionsId id) const {
  return impl_->conditions[static_cast<std::uint32_t>(id)];
}

SelectionId Dictionary::Intern(const api::NodeSelector& selector) {
  Impl& d = *impl_;
  base::WriterLock lock(d.mutex);
  if (const auto found = d.selections.Find(selector)) return SelectionId(*found);
  d.row_heap_bytes += HeapBytes(selector);
  return SelectionId(d.selections.Add(selector));
}

const api::NodeSelector& Dictionary::At(SelectionId id) const {
  return impl_->selections[static_cast<std::uint32_t>(id)];
}

PoolId Dictionary::InternPool(std::string_view driver, std::string_view pool) {
  Impl& d = *impl_;
  base::WriterLock lock(d.mutex);
  const PoolName name{d.AddName(driver), d.AddName(pool)};
  if (const auto found = d.pools.Find(name)) return PoolId(*found);
  return PoolId(d.pools.Add(name));
}

std::optional<PoolId> Dictionary::FindPool(std::string_view driver, std::string_view pool) const {
  base::ReaderLock lock(impl_->mutex);
  const auto driver_name = impl_->names.Find(driver);
  const auto pool_name = impl_->names.Find(pool);
  if (!driver_name || !pool_name) return std::nullopt;
  const auto found = impl_->pools.Find({NameId(*driver_name), NameId(*pool_name)});
  if (!found) return std::nullopt;
  return PoolId(*found);
}

PoolName Dictionary::At(PoolId id) const { return impl_->pools[static_cast<std::uint32_t>(id)]; }

std::size_t Dictionary::pools() const {
  base::ReaderLock lock(impl_->mutex);
  return impl_->pools.size() - 1;
}

std::uint64_t Dictionary::NextSerial() {
  return impl_->serial.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::size_t Dictionary::MemoryBytes() const {
  const Impl& d = *impl_;
  base::ReaderLock lock(d.mutex);
  return sizeof(Impl) + d.names.MemoryBytes() + d.elements.MemoryBytes() + d.lists.MemoryBytes() +
         d.values.MemoryBytes() + d.versions.MemoryBytes() + d.capacities.MemoryBytes() +
         d.groups.MemoryBytes() + d.consumptions.MemoryBytes() + d.taints.MemoryBytes() +
         d.conditions.MemoryBytes() + d.selections.MemoryBytes() + d.pools.MemoryBytes() +
         d.characters.MemoryBytes() + d.bytes.MemoryBytes() + d.row_heap_bytes +
         d.value_numbers.MemoryBytes() + d.free_versions.capacity() * sizeof(base::SemVer*) +
         d.pins.capacity() * (sizeof(std::pair<std::uint32_t, std::uint32_t>) + 1);
}

std::size_t Dictionary::StringBytes() const {
  base::ReaderLock lock(impl_->mutex);
  return impl_->text_bytes;
}

}  // namespace dray::inventory
