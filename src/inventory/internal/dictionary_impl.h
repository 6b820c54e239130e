// SPDX-License-Identifier: Apache-2.0
//
// What a dictionary keeps, and adding to it. Only with its lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/append_store.h"
#include "base/mutex.h"
#include "base/semver.h"
#include "cel/values.h"
#include "inventory/dictionary.h"
#include "inventory/internal/dictionary_tables.h"

namespace dray::inventory {

namespace internal {

inline constexpr cel::Error kNoValue{"unsupported attribute value"};

inline std::size_t HeapBytes(const std::string& text) {
  return text.capacity() > 15 ? text.capacity() + 1 : 0;
}
inline std::size_t HeapBytes(const base::SemVer& version) {
  return HeapBytes(version.prerelease()) + HeapBytes(version.build());
}
inline std::size_t HeapBytes(const std::vector<std::string>& texts) {
  std::size_t bytes = texts.capacity() * sizeof(std::string);
  for (const std::string& text : texts) bytes += HeapBytes(text);
  return bytes;
}
inline std::size_t HeapBytes(const Conditions& conditions) {
  return HeapBytes(conditions.binding) + HeapBytes(conditions.binding_failure);
}
inline std::size_t HeapBytes(const std::vector<api::DeviceTaint>& taints) {
  std::size_t bytes = taints.capacity() * sizeof(api::DeviceTaint);
  for (const api::DeviceTaint& t : taints) {
    bytes += HeapBytes(t.key) + HeapBytes(t.value) + HeapBytes(t.effect);
  }
  return bytes;
}
inline std::size_t HeapBytes(const std::vector<api::NodeSelectorRequirement>& requirements) {
  std::size_t bytes = requirements.capacity() * sizeof(api::NodeSelectorRequirement);
  for (const auto& r : requirements) {
    bytes += HeapBytes(r.key) + HeapBytes(r.operator_) + HeapBytes(r.values);
  }
  return bytes;
}
inline std::size_t HeapBytes(const api::NodeSelector& selector) {
  std::size_t bytes = selector.node_selector_terms.capacity() * sizeof(api::NodeSelectorTerm);
  for (const auto& term : selector.node_selector_terms) {
    bytes += HeapBytes(term.match_expressions) + HeapBytes(term.match_fields);
  }
  return bytes;
}
inline std::size_t HeapBytes(const api::DeviceCapacity& capacity) {
  if (!capacity.request_policy.has_value()) return 0;
  const api::CapacityRequestPolicy& policy = *capacity.request_policy;
  return sizeof(policy) + policy.valid_values.capacity() * sizeof(base::Quantity) +
         (policy.valid_range.has_value() ? sizeof(api::CapacityRequestPolicyRange) : 0);
}

}  // namespace internal

using namespace internal;  // NOLINT: the tables of this type

struct Dictionary::Impl {
  // Held to add to the tables and to look something up by its content; a row that is there is read by
  // its number without.
  mutable base::SharedMutex mutex;
  std::atomic<std::uint64_t> serial = 0;
  InternedTable<NameTraits> names;
  InternedTable<ElementTraits> elements{Element{}};
  InternedTable<ListTraits> lists{ListRow{}};
  base::AppendArray<AttributeValue> values;
  Numbers value_numbers ABSL_GUARDED_BY(mutex);
  // Of an attribute that is there but has none: not the same as no attribute.
  ValueId without_value = ValueId::kNone;
  base::AppendArray<base::SemVer> versions;
  std::vector<base::SemVer*> free_versions ABSL_GUARDED_BY(mutex);
  InternedTable<CapacityTraits> capacities{Capacity{}};
  InternedTable<GroupsTraits> groups{std::span<const NameId>{}};
  InternedTable<ConsumptionTraits> consumptions{std::span<const SetConsumption>{}};
  InternedTable<TaintsTraits> taints{std::vector<api::DeviceTaint>{}};
  InternedTable<ConditionsTraits> conditions{Conditions{}};
  InternedTable<SelectionTraits> selections{api::NodeSelector{}};
  InternedTable<PoolTraits> pools{PoolName{}};
  base::AppendBytes characters ABSL_GUARDED_BY(mutex);
  base::AppendBytes bytes ABSL_GUARDED_BY(mutex);  // what rows of the other tables point to
  std::size_t text_bytes ABSL_GUARDED_BY(mutex) = 0;
  std::size_t row_heap_bytes ABSL_GUARDED_BY(mutex) = 0;
  // Names to how often.
  absl::flat_hash_map<std::uint32_t, std::uint32_t> pins ABSL_GUARDED_BY(mutex);
  std::size_t rows_after_collection ABSL_GUARDED_BY(mutex) = 0;

  Impl() {
    values.Append({.value = cel::StaticError(kNoValue), .elements = {}});
    without_value = static_cast<ValueId>(values.Append(values[0]));
    AddName("");
  }

  NameId AddName(std::string_view text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (const auto found = names.Find(text)) return NameId(*found);
    text_bytes += text.size();
    return NameId(names.Add(characters.Copy(text)));
  }

  ElementId AddElement(const ElementKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
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
  ElementId AddElement(std::int64_t i) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return AddElement({cel::Kind::kInt, static_cast<std::uint64_t>(i)});
  }
  ElementId AddElement(bool b) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return AddElement({cel::Kind::kBool, b ? 1U : 0U});
  }
  ElementId AddElement(cel::Kind kind, std::string_view text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return AddElement({kind, AddName(text).id()});
  }

  cel::Value MakeVersion(std::string_view text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    auto version = base::SemVer::Parse(text);
    if (!version.ok()) {
      const std::string message =
          "parse semantic version: " + std::string(base::Message(version.status()));
      return cel::Value::Pointer(cel::Kind::kError,
                                 bytes.New<cel::Error>(cel::Error{bytes.Copy(message)}));
    }
    row_heap_bytes += HeapBytes(*version);
    base::SemVer* row = nullptr;
    if (free_versions.empty()) {
      row = &versions.Mutable(versions.Append(*std::move(version)));
    } else {
      row = free_versions.back();
      free_versions.pop_back();
      *row = *std::move(version);
    }
    return cel::Value::Pointer(cel::Kind::kSemver, row);
  }

  ValueId AddScalar(ElementId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Element& element = elements.Mutable(static_cast<std::uint32_t>(id));
    if (element.as_value == ValueId::kNone) {
      element.as_value = ValueId(value_numbers.Take(
          values, AttributeValue{.value = element.value,
                                 .elements = bytes.Copy(std::span<const ElementId>(&id, 1))}));
    }
    return element.as_value;
  }

  // A list of these elements as expressions see it.
  cel::Value MakeList(std::span<const ElementId> ids) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::vector<cel::Value> items;
    items.reserve(ids.size());
    for (const ElementId id : ids) items.push_back(elements[static_cast<std::uint32_t>(id)].value);
    const auto error = std::ranges::find_if(items, [](auto& item) { return item.is_error(); });
    if (error != items.end()) return *error;
    return cel::Value::Pointer(cel::Kind::kList,
                               static_cast<const cel::List*>(bytes.New<cel::ArrayList>(
                                   bytes.Copy(std::span<const cel::Value>(items)))));
  }

  ValueId AddList(cel::Kind kind, std::vector<ElementId> ids) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (const auto found = lists.Find({kind, ids})) return lists[*found].value;
    const std::span<const ElementId> ordered = bytes.Copy(std::span<const ElementId>(ids));
    const cel::Value value = MakeList(ids);
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    const std::span<const ElementId> set =
        std::ranges::equal(ids, ordered) ? ordered : bytes.Copy(std::span<const ElementId>(ids));
    const std::uint32_t id = value_numbers.Take(
        values, AttributeValue{.value = value, .elements = set, .is_list = true});
    values.Mutable(id).list = lists.Add({.kind = kind, .value = ValueId(id), .elements = ordered});
    return ValueId(id);
  }
  ElementId AddItem(cel::Kind, std::int64_t i) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return AddElement(i);
  }
  ElementId AddItem(cel::Kind, const api::BoolItem& b) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return AddElement(b.value);
  }
  ElementId AddItem(cel::Kind kind, const std::string& text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return AddElement(kind, text);
  }
  ValueId AddListOf(cel::Kind kind, const auto& items) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::vector<ElementId> ids;
    ids.reserve(items.size());
    for (const auto& item : items) ids.push_back(AddItem(kind, item));
    return AddList(kind, std::move(ids));
  }
  // Kubernetes' form of lists and the proposal's have the same four members.
  ValueId AddLists(const auto& ints, const auto& bools, const auto& strings,
                   const auto& version_texts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (ints) return AddListOf(cel::Kind::kInt, *ints);
    if (bools) return AddListOf(cel::Kind::kBool, *bools);
    for (const auto& [kind, texts] : {std::pair(cel::Kind::kString, strings.get()),
                                      std::pair(cel::Kind::kSemver, version_texts.get())}) {
      if (texts == nullptr) continue;
      return AddListOf(kind, *texts);
    }
    return ValueId::kNone;
  }

  // Rows of all tables.
  std::size_t Rows() const ABSL_SHARED_LOCKS_REQUIRED(mutex) {
    return names.live() + elements.live() + lists.live() + values.size() - value_numbers.free() +
           capacities.live() + groups.live() + consumptions.live() + taints.live() +
           conditions.live() + selections.live() + pools.live();
  }

  // dictionary_collect.cc
  void Sweep(const Marker::Impl& marks) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void Compact() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
};

}  // namespace dray::inventory
