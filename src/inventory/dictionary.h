// SPDX-License-Identifier: Apache-2.0
//
// Dictionary: everything that devices have in common, stored once and known by a number: names,
// attribute values, capacities, consumptions, taints. A device is then a short row of numbers, and
// two devices are alike where their numbers are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/numeric/int128.h"
#include "api/resource_slice.h"
#include "base/interner.h"
#include "base/quantity.h"
#include "cel/value.h"

namespace dray::inventory {

using NameId = base::Symbol;  // any text: drivers, pools, devices, attribute keys, counter sets

// Own types, so that one is never passed for another. 0 is "none" in each.
enum class ValueId : std::uint32_t { kNone = 0 };        // an attribute's value
enum class ElementId : std::uint32_t { kNone = 0 };      // one scalar of a value, with its type
enum class CapacityId : std::uint32_t { kNone = 0 };     // value and request policy
enum class ConsumptionId : std::uint32_t { kNone = 0 };  // a device's whole consumesCounters
enum class GroupsId : std::uint32_t { kNone = 0 };       // a set of compatibility groups, not empty
enum class TaintsId : std::uint32_t { kNone = 0 };       // a list of taints, not empty
enum class ConditionsId : std::uint32_t { kNone = 0 };   // binding and binding failure conditions
enum class SelectionId : std::uint32_t { kNone = 0 };    // a node selector
enum class PoolId : std::uint32_t { kNone = 0 };         // driver and pool name

// Exact amounts in units of 10^-9. What does not fit is clamped: an amount of that size never fits
// anywhere, a capacity of that size is merely very large.
using Amount = absl::int128;
Amount ToAmount(const base::Quantity& quantity);

// There are more of these than of anything else, so the published form is not kept: Attribute()
// makes it again.
struct AttributeValue {
  // Ready for expressions. kError when there is no value or the version is none; the message does
  // not name the attribute, since many may have this value.
  cel::Value value;
  // As a set: a scalar is one element; sorted, unique. Empty: no value or an empty list.
  std::span<const ElementId> elements;
  bool is_list = false;
  std::uint32_t list = 0;  // the dictionary's own, with is_list
};
static_assert(sizeof(AttributeValue) == 40);

struct Capacity {
  api::DeviceCapacity capacity;
  cel::Value value;
  Amount amount;
};

struct CounterAmount {
  NameId counter;
  Amount amount;
};
struct SetConsumption {
  NameId counter_set;
  GroupsId groups = GroupsId::kNone;
  std::span<const CounterAmount> counters;  // sorted by NameId
};

struct Conditions {
  std::vector<std::string> binding;
  std::vector<std::string> binding_failure;
};

struct PoolName {
  NameId driver;
  NameId pool;
};

// Only grows. Looking something up by number needs no lock and what is returned stays where it is;
// adding and finding take one. Equal content has equal numbers. At() of a kNone is empty.
// Thread-safe.
class Dictionary {
 public:
  Dictionary();
  ~Dictionary();
  Dictionary(const Dictionary&) = delete;
  Dictionary& operator=(const Dictionary&) = delete;

  NameId Intern(std::string_view text);
  std::optional<NameId> Find(std::string_view text) const;
  std::string_view View(NameId name) const;

  ValueId Intern(const api::DeviceAttribute& attribute);
  const AttributeValue& At(ValueId id) const;
  // With the value that `id` was made from. A list is given in Kubernetes' form, also if it came
  // in the proposal's: as values the two are the same.
  api::DeviceAttribute Attribute(ValueId id) const;

  CapacityId Intern(const api::DeviceCapacity& capacity);
  const Capacity& At(CapacityId id) const;

  ConsumptionId Intern(std::span<const api::DeviceCounterConsumption> consumption);
  std::span<const SetConsumption> At(ConsumptionId id) const;

  GroupsId InternGroups(std::span<const std::string> groups);
  std::span<const NameId> At(GroupsId id) const;  // sorted by number

  TaintsId Intern(std::span<const api::DeviceTaint> taints);
  std::span<const api::DeviceTaint> At(TaintsId id) const;

  ConditionsId Intern(const Conditions& conditions);
  const Conditions& At(ConditionsId id) const;

  SelectionId Intern(const api::NodeSelector& selector);
  const api::NodeSelector& At(SelectionId id) const;

  PoolId InternPool(std::string_view driver, std::string_view pool);
  std::optional<PoolId> FindPool(std::string_view driver, std::string_view pool) const;
  PoolName At(PoolId id) const;
  std::size_t pools() const;  // ids are 1 to this

  // A number that was never given before.
  std::uint64_t NextSerial();

  std::size_t MemoryBytes() const;
  // Of these the characters of names and values, which many devices share.
  std::size_t StringBytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dray::inventory
