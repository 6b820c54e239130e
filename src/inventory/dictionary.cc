// SPDX-License-Identifier: Apache-2.0
#include "inventory/dictionary.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/semver.h"
#include "cel/values.h"
#include "inventory/internal/dictionary_tables.h"

namespace dray::inventory {

using namespace internal;  // NOLINT: the tables of this type

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

namespace {

constexpr cel::Error kNoValue{"unsupported attribute value"};

std::size_t HeapBytes(const std::string& text) {
  return text.capacity() > 15 ? text.capacity() + 1 : 0;
}
std::size_t HeapBytes(const std::vector<std::string>& texts) {
  std::size_t bytes = texts.capacity() * sizeof(std::string);
  for (const std::string& text : texts) bytes += HeapBytes(text);
  return bytes;
}
std::size_t HeapBytes(const std::vector<api::DeviceTaint>& taints) {
  std::size_t bytes = taints.capacity() * sizeof(api::DeviceTaint);
  for (const api::DeviceTaint& t : taints) {
    bytes += HeapBytes(t.key) + HeapBytes(t.value) + HeapBytes(t.effect);
  }
  return bytes;
}
std::size_t HeapBytes(const std::vector<api::NodeSelectorRequirement>& requirements) {
  std::size_t bytes = requirements.capacity() * sizeof(api::NodeSelectorRequirement);
  for (const auto& r : requirements) {
    bytes += HeapBytes(r.key) + HeapBytes(r.operator_) + HeapBytes(r.values);
  }
  return bytes;
}
std::size_t HeapBytes(const api::NodeSelector& selector) {
  std::size_t bytes = selector.node_selector_terms.capacity() * sizeof(api::NodeSelectorTerm);
  for (const auto& term : selector.node_selector_terms) {
    bytes += HeapBytes(term.match_expressions) + HeapBytes(term.match_fields);
  }
  return bytes;
}
std::size_t HeapBytes(const api::DeviceCapacity& capacity) {
  if (!capacity.request_policy.has_value()) return 0;
  const api::CapacityRequestPolicy& policy = *capacity.request_policy;
  return sizeof(policy) + policy.valid_values.capacity() * sizeof(base::Quantity) +
         (policy.valid_range.has_value() ? sizeof(api::CapacityRequestPolicyRange) : 0);
}

}  // namespace
}  // namespace internal

struct Dictionary::Impl {
  // Not abseil's: the thread sanitizer cannot see into the packaged library's locks.
  mutable std::shared_mutex mutex;
  std::atomic<std::uint64_t> serial = 0;
  InternedTable<NameTraits> names;
  InternedTable<ElementTraits> elements{Element{}};
  InternedTable<ListTraits> lists{ListRow{}};
  AppendArray<AttributeValue> values;
  // Of an attribute that is there but has none: not the same as no attribute.
  ValueId without_value = ValueId::kNone;
  AppendArray<base::SemVer> versions;
  InternedTable<CapacityTraits> capacities{Capacity{}};
  InternedTable<GroupsTraits> groups{std::span<const NameId>{}};
  InternedTable<ConsumptionTraits> consumptions{std::span<const SetConsumption>{}};
  InternedTable<TaintsTraits> taints{std::vector<api::DeviceTaint>{}};
  InternedTable<ConditionsTraits> conditions{Conditions{}};
  InternedTable<SelectionTraits> selections{api::NodeSelector{}};
  InternedTable<PoolTraits> pools{PoolName{}};
  AppendBytes characters;
  AppendBytes bytes;  // what rows of the other tables point to
  std::size_t text_bytes = 0;
  std::size_t row_heap_bytes = 0;

  Impl() {
    values.Append({.value = cel::StaticError(kNoValue), .elements = {}});
    without_value = static_cast<ValueId>(values.Append(values[0]));
    AddName("");
  }

  NameId AddName(std::string_view text) {
    if (const auto found = names.Find(text)) return NameId(*found);
    text_bytes += text.size();
    return NameId(names.Add(characters.Copy(text)));
  }

  ElementId AddElement(const ElementKey& key) {
    if (const auto found = elements.Find(key)) return ElementId(*found);
    Element element;
    if (key.kind == cel::Kind::kInt) {
      element.value = cel::Value::Int(static_cast<std::int64_t>(key.content));
    } else if (key.kind == cel::Kind::kBool) {
      element.value = cel::Value::Bool(key.content != 0);
    } else {
      element.text = static_cast<std::uint32_t>(key.content);
      const std::string_view text = names[element.text];
      element.value = key.kind == cel::Kind::kString ? cel::Value::String(text) : MakeVersion(text);
    }
    return ElementId(elements.Add(element));
  }
  ElementId AddElement(std::int64_t i) {
    return AddElement({cel::Kind::kInt, static_cast<std::uint64_t>(i)});
  }
  ElementId AddElement(bool b) { return AddElement({cel::Kind::kBool, b ? 1U : 0U}); }
  ElementId AddElement(cel::Kind kind, std::string_view text) {
    return AddElement({kind, AddName(text).id()});
  }

  cel::Value MakeVersion(std::string_view text) {
    auto version = base::SemVer::Parse(text);
    if (!version.ok()) {
      const std::string message =
          "parse semantic version: " + std::string(base::Message(version.status()));
      return cel::Value::Pointer(cel::Kind::kError,
                                 bytes.New<cel::Error>(cel::Error{bytes.Copy(message)}));
    }
    row_heap_bytes += HeapBytes(version->prerelease()) + HeapBytes(version->build());
    const std::uint32_t id = versions.Append(*std::move(version));
    return cel::Value::Pointer(cel::Kind::kSemver, &versions[id]);
  }

  ValueId AddScalar(ElementId id) {
    Element& element = elements.Mutable(static_cast<std::uint32_t>(id));
    if (element.as_value == ValueId::kNone) {
      element.as_value = ValueId(values.Append(
          {.value = element.value, .elements = bytes.Copy(std::span<const ElementId>(&id, 1))}));
    }
    return element.as_value;
  }

  ValueId AddList(cel::Kind kind, std::vector<ElementId> ids) {
    if (const auto found = lists.Find({kind, ids})) return lists[*found].value;
    const std::span<const ElementId> ordered = bytes.Copy(std::span<const ElementId>(ids));
    std::vector<cel::Value> items;
    items.reserve(ids.size());
    for (const ElementId id : ids) items.push_back(elements[static_cast<std::uint32_t>(id)].value);
    const auto error = std::ranges::find_if(items, [](auto& item) { return item.is_error(); });
    cel::Value value;
    if (error != items.end()) {
      value = *error;
    } else {
      value = cel::Value::Pointer(cel::Kind::kList,
                                  static_cast<const cel::List*>(bytes.New<cel::ArrayList>(
                                      bytes.Copy(std::span<const cel::Value>(items)))));
    }
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    const std::span<const ElementId> set =
        std::ranges::equal(ids, ordered) ? ordered : bytes.Copy(std::span<const ElementId>(ids));
    const auto id =
        static_cast<ValueId>(values.Append({.value = value,
                                            .elements = set,
                                            .is_list = true,
                                            .list = static_cast<std::uint32_t>(lists.size())}));
    lists.Add({.kind = kind, .value = id, .elements = ordered});
    return id;
  }
  template <typename Items, typename Add>
  ValueId AddListOf(cel::Kind kind, const Items& items, Add add) {
    std::vector<ElementId> ids;
    ids.reserve(items.size());
    for (const auto& item : items) ids.push_back(add(item));
    return AddList(kind, std::move(ids));
  }
  // Kubernetes' form of lists and the proposal's have the same four members.
  ValueId AddLists(const auto& ints, const auto& bools, const auto& strings,
                   const auto& version_texts) {
    if (ints) {
      return AddListOf(cel::Kind::kInt, *ints, [&](std::int64_t i) { return AddElement(i); });
    }
    if (bools) {
      return AddListOf(cel::Kind::kBool, *bools,
                       [&](const api::BoolItem& b) { return AddElement(b.value); });
    }
    for (const auto& [kind, texts] : {std::pair(cel::Kind::kString, strings.get()),
                                      std::pair(cel::Kind::kSemver, version_texts.get())}) {
      if (texts == nullptr) continue;
      return AddListOf(kind, *texts,
                       [&](const std::string& text) { return AddElement(kind, text); });
    }
    return ValueId::kNone;
  }
};

Dictionary::Dictionary() : impl_(std::make_unique<Impl>()) {}
Dictionary::~Dictionary() = default;

NameId Dictionary::Intern(std::string_view text) {
  std::unique_lock lock(impl_->mutex);
  return impl_->AddName(text);
}

std::optional<NameId> Dictionary::Find(std::string_view text) const {
  std::shared_lock lock(impl_->mutex);
  const auto found = impl_->names.Find(text);
  if (!found) return std::nullopt;
  return NameId(*found);
}

std::string_view Dictionary::View(NameId name) const { return impl_->names[name.id()]; }

// Which member counts when several are set, against the rules, is as for expressions
// (cel/device_values.cc).
ValueId Dictionary::Intern(const api::DeviceAttribute& attribute) {
  Impl& d = *impl_;
  std::unique_lock lock(d.mutex);
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
  std::unique_lock lock(d.mutex);
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
  std::unique_lock lock(d.mutex);
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
  std::unique_lock lock(d.mutex);
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
  std::unique_lock lock(d.mutex);
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
  std::unique_lock lock(d.mutex);
  if (const auto found = d.conditions.Find(conditions)) return ConditionsId(*found);
  d.row_heap_bytes += HeapBytes(conditions.binding) + HeapBytes(conditions.binding_failure);
  return ConditionsId(d.conditions.Add(conditions));
}

const Conditions& Dictionary::At(ConditionsId id) const {
  return impl_->conditions[static_cast<std::uint32_t>(id)];
}

SelectionId Dictionary::Intern(const api::NodeSelector& selector) {
  Impl& d = *impl_;
  std::unique_lock lock(d.mutex);
  if (const auto found = d.selections.Find(selector)) return SelectionId(*found);
  d.row_heap_bytes += HeapBytes(selector);
  return SelectionId(d.selections.Add(selector));
}

const api::NodeSelector& Dictionary::At(SelectionId id) const {
  return impl_->selections[static_cast<std::uint32_t>(id)];
}

PoolId Dictionary::InternPool(std::string_view driver, std::string_view pool) {
  Impl& d = *impl_;
  std::unique_lock lock(d.mutex);
  const PoolName name{d.AddName(driver), d.AddName(pool)};
  if (const auto found = d.pools.Find(name)) return PoolId(*found);
  return PoolId(d.pools.Add(name));
}

std::optional<PoolId> Dictionary::FindPool(std::string_view driver, std::string_view pool) const {
  std::shared_lock lock(impl_->mutex);
  const auto driver_name = impl_->names.Find(driver);
  const auto pool_name = impl_->names.Find(pool);
  if (!driver_name || !pool_name) return std::nullopt;
  const auto found = impl_->pools.Find({NameId(*driver_name), NameId(*pool_name)});
  if (!found) return std::nullopt;
  return PoolId(*found);
}

PoolName Dictionary::At(PoolId id) const { return impl_->pools[static_cast<std::uint32_t>(id)]; }

std::size_t Dictionary::pools() const {
  std::shared_lock lock(impl_->mutex);
  return impl_->pools.size() - 1;
}

std::uint64_t Dictionary::NextSerial() {
  return impl_->serial.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::size_t Dictionary::MemoryBytes() const {
  const Impl& d = *impl_;
  std::shared_lock lock(d.mutex);
  return sizeof(Impl) + d.names.MemoryBytes() + d.elements.MemoryBytes() + d.lists.MemoryBytes() +
         d.values.MemoryBytes() + d.versions.MemoryBytes() + d.capacities.MemoryBytes() +
         d.groups.MemoryBytes() + d.consumptions.MemoryBytes() + d.taints.MemoryBytes() +
         d.conditions.MemoryBytes() + d.selections.MemoryBytes() + d.pools.MemoryBytes() +
         d.characters.MemoryBytes() + d.bytes.MemoryBytes() + d.row_heap_bytes;
}

std::size_t Dictionary::StringBytes() const {
  std::shared_lock lock(impl_->mutex);
  return impl_->text_bytes;
}

}  // namespace dray::inventory
