// SPDX-License-Identifier: Apache-2.0
//
// What the tables of a dictionary hold and when two entries are the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/hash/hash.h"
#include "base/string_map.h"
#include "inventory/dictionary.h"
#include "inventory/internal/interned_table.h"

namespace dray::inventory::internal {

using absl::HashOf;
inline std::size_t HashText(std::string_view text) { return base::StringHash{}(text); }
template <typename T, typename F>
std::size_t HashEach(std::span<const T> items, F hash) {
  std::size_t sum = items.size();
  for (const T& item : items) sum = HashOf(sum, hash(item));
  return sum;
}

struct NameTraits {
  using Row = std::string_view;
  using Key = std::string_view;
  static std::size_t Hash(std::string_view text) { return HashText(text); }
  static bool Same(std::string_view a, std::string_view b) { return a == b; }
};

// A typed scalar. Versions are told apart by their text, so 1.0.0+a is another element than
// 1.0.0+b although they compare as equal.
struct ElementKey {
  cel::Kind kind = cel::Kind::kNull;  // kInt, kBool, kString or kSemver
  std::uint64_t content = 0;          // a number, or a name's
  friend bool operator==(const ElementKey&, const ElementKey&) = default;
};
struct Element {
  cel::Value value;                   // kError for a version that is none
  std::uint32_t text = 0;             // of strings and versions: the name
  ValueId as_value = ValueId::kNone;  // the value that is this scalar, once it was seen

  ElementKey key() const {
    switch (value.kind()) {
      case cel::Kind::kBool:
      case cel::Kind::kInt:
        return {value.kind(), value.as_uint()};
      case cel::Kind::kString:
        return {value.kind(), text};
      default:
        return {cel::Kind::kSemver, text};
    }
  }
};
static_assert(sizeof(Element) == 24);
struct ElementTraits {
  using Row = Element;
  using Key = ElementKey;
  static std::size_t Hash(const Key& key) {
    return HashOf(static_cast<std::uint8_t>(key.kind), key.content);
  }
  static std::size_t Hash(const Row& row) { return Hash(row.key()); }
  static bool Same(const Row& row, const Key& key) { return row.key() == key; }
};

struct ListKey {
  cel::Kind kind = cel::Kind::kNull;  // of its elements: an empty list has a type too
  std::span<const ElementId> elements;
};
struct ListRow {
  cel::Kind kind = cel::Kind::kNull;
  ValueId value = ValueId::kNone;
  std::span<const ElementId> elements;  // in the published order
};
struct ListTraits {
  using Row = ListRow;
  using Key = ListKey;
  static std::size_t Hash(const Key& key) {
    return HashOf(static_cast<std::uint8_t>(key.kind),
                  HashEach(key.elements, [](ElementId e) { return HashOf(e); }));
  }
  static std::size_t Hash(const Row& row) { return Hash(Key{row.kind, row.elements}); }
  static bool Same(const Row& row, const Key& key) {
    return row.kind == key.kind && std::ranges::equal(row.elements, key.elements);
  }
};

// The same for every expression: by value, in format, and in whether Kubernetes would call it an
// integer.
inline bool Identical(const base::Quantity& a, const base::Quantity& b) {
  return a.IdenticalTo(b) && a.AsInt64() == b.AsInt64() &&
         a.AsApproximateDouble() == b.AsApproximateDouble();
}
inline bool Identical(const std::optional<base::Quantity>& a,
                      const std::optional<base::Quantity>& b) {
  return a.has_value() == b.has_value() && (!a.has_value() || Identical(*a, *b));
}
bool Identical(const api::DeviceCapacity& a, const api::DeviceCapacity& b);

struct CapacityTraits {
  using Row = Capacity;
  using Key = api::DeviceCapacity;
  static std::size_t Hash(const Key& key) {
    return HashOf(key.value.ClampedNano(), static_cast<std::uint8_t>(key.value.format()),
                  key.request_policy.has_value());
  }
  static std::size_t Hash(const Row& row) { return Hash(row.capacity); }
  static bool Same(const Row& row, const Key& key) { return Identical(row.capacity, key); }
};

struct GroupsTraits {
  using Row = std::span<const NameId>;
  using Key = std::span<const NameId>;
  static std::size_t Hash(Key key) {
    return HashEach(key, [](NameId name) { return HashOf(name); });
  }
  static bool Same(Row row, Key key) { return std::ranges::equal(row, key); }
};

struct ConsumptionTraits {
  using Row = std::span<const SetConsumption>;
  using Key = std::span<const SetConsumption>;
  static std::size_t Hash(Key key) {
    return HashEach(key, [](const SetConsumption& set) {
      return HashOf(set.counter_set, set.groups, HashEach(set.counters, [](const CounterAmount& c) {
                      return HashOf(c.counter, c.amount);
                    }));
    });
  }
  static bool Same(Row row, Key key) {
    return std::ranges::equal(row, key, [](const SetConsumption& a, const SetConsumption& b) {
      return a.counter_set == b.counter_set && a.groups == b.groups &&
             std::ranges::equal(a.counters, b.counters,
                                [](const CounterAmount& x, const CounterAmount& y) {
                                  return x.counter == y.counter && x.amount == y.amount;
                                });
    });
  }
};

struct TaintsTraits {
  using Row = std::vector<api::DeviceTaint>;
  using Key = std::span<const api::DeviceTaint>;
  static std::size_t Hash(const Key& key) {
    return HashEach(key, [](const api::DeviceTaint& t) {
      return HashOf(HashText(t.key), HashText(t.value), HashText(t.effect));
    });
  }
  static std::size_t Hash(const Row& row) { return Hash(Key(row)); }
  static bool Same(const Row& row, const Key& key) { return std::ranges::equal(row, key); }
};

struct ConditionsTraits {
  using Row = Conditions;
  using Key = Conditions;
  static std::size_t Hash(const Key& key) {
    return HashOf(HashEach(std::span(key.binding), HashText),
                  HashEach(std::span(key.binding_failure), HashText));
  }
  static bool Same(const Row& row, const Key& key) {
    return row.binding == key.binding && row.binding_failure == key.binding_failure;
  }
};

struct SelectionTraits {
  using Row = api::NodeSelector;
  using Key = api::NodeSelector;
  static std::size_t Hash(const Key& key) {
    return HashEach(std::span(key.node_selector_terms), [](const api::NodeSelectorTerm& term) {
      return HashOf(HashEach(std::span(term.match_expressions), HashRequirement),
                    HashEach(std::span(term.match_fields), HashRequirement));
    });
  }
  static bool Same(const Row& row, const Key& key) { return row == key; }

 private:
  static std::size_t HashRequirement(const api::NodeSelectorRequirement& r) {
    return HashOf(HashText(r.key), HashText(r.operator_), HashEach(std::span(r.values), HashText));
  }
};

struct PoolTraits {
  using Row = PoolName;
  using Key = PoolName;
  static std::size_t Hash(const Key& key) { return HashOf(key.driver, key.pool); }
  static bool Same(const Row& row, const Key& key) {
    return row.driver == key.driver && row.pool == key.pool;
  }
};

}  // namespace dray::inventory::internal
