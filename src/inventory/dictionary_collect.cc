// SPDX-License-Identifier: Apache-2.0
//
// Dictionary: forgetting. Mark and sweep rather than counting references: slices, claims and nodes
// keep millions of numbers, and counting each of them would cost on every change what marking costs
// once in a while. Numbers of what stays do not change, so nothing that keeps them is touched.
#include <utility>

#include "inventory/internal/dictionary_impl.h"

namespace dray::inventory {
namespace {

// Collecting costs what is there. A quarter of it may have been added before, so that a row that is
// added pays for four that are looked at, and what is dead is never more than that quarter.
constexpr std::size_t kGrowth = 4;
constexpr std::size_t kFewRows = 16 * 1024;

}  // namespace

struct Marker::Impl {
  explicit Impl(const Dictionary::Impl& dictionary)
      : d(dictionary),
        names(d.names.size()),
        elements(d.elements.size()),
        lists(d.lists.size()),
        values(d.values.size()),
        capacities(d.capacities.size()),
        groups(d.groups.size()),
        consumptions(d.consumptions.size()),
        taints(d.taints.size()),
        conditions(d.conditions.size()),
        selections(d.selections.size()),
        pools(d.pools.size()) {}

  const Dictionary::Impl& d;
  Marked names, elements, lists, values, capacities, groups, consumptions, taints, conditions,
      selections, pools;
};

void Marker::Mark(NameId name) { impl_.names.Set(name.id()); }
void Marker::Mark(ValueId id) {
  if (!impl_.values.Set(static_cast<std::size_t>(id))) return;
  const AttributeValue& value = impl_.d.values[static_cast<std::size_t>(id)];
  if (value.is_list) impl_.lists.Set(value.list);
  for (const ElementId element : value.elements) {
    if (!impl_.elements.Set(static_cast<std::size_t>(element))) continue;
    impl_.names.Set(impl_.d.elements[static_cast<std::uint32_t>(element)].text);
  }
}
void Marker::Mark(CapacityId id) { impl_.capacities.Set(static_cast<std::size_t>(id)); }
void Marker::Mark(ConsumptionId id) {
  if (!impl_.consumptions.Set(static_cast<std::size_t>(id))) return;
  for (const SetConsumption& set : impl_.d.consumptions[static_cast<std::uint32_t>(id)]) {
    Mark(set.counter_set);
    Mark(set.groups);
    for (const CounterAmount& counter : set.counters) Mark(counter.counter);
  }
}
void Marker::Mark(GroupsId id) {
  if (!impl_.groups.Set(static_cast<std::size_t>(id))) return;
  for (const NameId group : impl_.d.groups[static_cast<std::uint32_t>(id)]) Mark(group);
}
void Marker::Mark(TaintsId id) { impl_.taints.Set(static_cast<std::size_t>(id)); }
void Marker::Mark(ConditionsId id) { impl_.conditions.Set(static_cast<std::size_t>(id)); }
void Marker::Mark(SelectionId id) { impl_.selections.Set(static_cast<std::size_t>(id)); }
void Marker::Mark(PoolId id) {
  if (!impl_.pools.Set(static_cast<std::size_t>(id))) return;
  const PoolName& pool = impl_.d.pools[static_cast<std::uint32_t>(id)];
  Mark(pool.driver);
  Mark(pool.pool);
}

bool Dictionary::CollectionDue() const {
  base::ReaderLock lock(impl_->mutex);
  const std::size_t before = impl_->rows_after_collection;
  return impl_->Rows() > before + std::max(kFewRows, before / kGrowth);
}

void Dictionary::Collect(const std::function<void(Marker&)>& mark) {
  Impl& d = *impl_;
  Marker::Impl marks(d);
  Marker marker(marks);
  mark(marker);
  base::WriterLock lock(d.mutex);
  for (const auto& [name, count] : d.pins) marks.names.Set(name);
  d.Sweep(marks);
  d.Compact();
  d.rows_after_collection = d.Rows();
  epoch_.fetch_add(1, std::memory_order_relaxed);
}

// What is found by content has to be there until it is taken out of the index, so tables are swept
// before those that they are made of.
void Dictionary::Impl::Sweep(const Marker::Impl& marks) {
  constexpr std::uint32_t kNone = 1;  // number 0 of each table stays
  const auto drop_heap = [this](const auto& row) {
    mutex.AssertHeld();
    row_heap_bytes -= HeapBytes(row);
  };
  const auto nothing = [](const auto&) {};
  pools.Sweep(marks.pools, kNone, nothing);
  selections.Sweep(marks.selections, kNone, drop_heap);
  conditions.Sweep(marks.conditions, kNone, drop_heap);
  taints.Sweep(marks.taints, kNone, drop_heap);
  capacities.Sweep(marks.capacities, kNone, [&](const Capacity& row) { drop_heap(row.capacity); });
  consumptions.Sweep(marks.consumptions, kNone, nothing);
  groups.Sweep(marks.groups, kNone, nothing);
  lists.Sweep(marks.lists, kNone, nothing);
  value_numbers.Sweep(values, marks.values, static_cast<std::uint32_t>(without_value) + 1, nothing);
  elements.Sweep(marks.elements, kNone, [&](const Element& row) {
    if (!row.value.is(cel::Kind::kSemver)) return;
    // Ours: it lies in `versions`.
    auto& version = const_cast<base::SemVer&>(row.value.as<base::SemVer>());
    drop_heap(version);
    version = {};
    mutex.AssertHeld();
    free_versions.push_back(&version);
  });
  elements.ForEach([&](Element& row) {
    if (!marks.values.Has(static_cast<std::size_t>(row.as_value))) row.as_value = ValueId::kNone;
  });
  names.Sweep(marks.names, kNone, nothing);
}

// What the tables point to is copied together, and the rest of the old memory goes.
void Dictionary::Impl::Compact() {
  const base::AppendBytes old_characters = std::exchange(characters, {});
  const base::AppendBytes old_bytes = std::exchange(bytes, {});
  text_bytes = 0;
  names.ForEach([&](std::string_view& name) {
    mutex.AssertHeld();
    name = characters.Copy(name);
    text_bytes += name.size();
  });
  elements.ForEach([&](Element& row) {
    if (row.value.is(cel::Kind::kString)) {
      row.value = cel::Value::String(names[row.text]);
    } else if (row.value.is_error()) {
      mutex.AssertHeld();
      row.value = cel::Value::Pointer(
          cel::Kind::kError,
          bytes.New<cel::Error>(cel::Error{bytes.Copy(row.value.as<cel::Error>().message)}));
    }
  });
  value_numbers.ForEach(values, [&](AttributeValue& row) {
    if (row.is_list || row.elements.empty()) return;
    mutex.AssertHeld();
    row.value = elements[static_cast<std::uint32_t>(row.elements.front())].value;
    row.elements = bytes.Copy(row.elements);
  });
  lists.ForEach([&](ListRow& row) {
    if (row.value == ValueId::kNone) return;
    mutex.AssertHeld();
    AttributeValue& value = values.Mutable(static_cast<std::uint32_t>(row.value));
    const bool same = value.elements.data() == row.elements.data();
    row.elements = bytes.Copy(row.elements);
    value.elements = same ? row.elements : bytes.Copy(value.elements);
    value.value = MakeList(row.elements);
  });
  groups.ForEach([&](std::span<const NameId>& row) {
    mutex.AssertHeld();
    row = bytes.Copy(row);
  });
  consumptions.ForEach([&](std::span<const SetConsumption>& row) {
    mutex.AssertHeld();
    std::vector<SetConsumption> sets(row.begin(), row.end());
    for (SetConsumption& set : sets) set.counters = bytes.Copy(set.counters);
    row = bytes.Copy(std::span<const SetConsumption>(sets));
  });
}

NameId Pins::Intern(std::string_view text) {
  Dictionary::Impl& d = *dictionary_->impl_;
  base::WriterLock lock(d.mutex);
  const NameId name = d.AddName(text);
  ++d.pins[name.id()];
  names_.push_back(name);
  return name;
}

Pins::~Pins() {
  if (names_.empty()) return;
  Dictionary::Impl& d = *dictionary_->impl_;
  base::WriterLock lock(d.mutex);
  for (const NameId name : names_) {
    const auto pin = d.pins.find(name.id());
    if (--pin->second == 0) d.pins.erase(pin);
  }
}

}  // namespace dray::inventory
