// SPDX-License-Identifier: Apache-2.0
//
// Dictionary: everything that devices have in common, stored once and known by a number: names,
// attribute values, capacities, consumptions, taints. A device is then a short row of numbers, and
// two devices are alike where their numbers are.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

// What somebody still has the number of, told to Dictionary::Collect. What a thing is made of is
// marked with it.
class Marker {
 public:
  void Mark(NameId name);
  void Mark(ValueId id);
  void Mark(CapacityId id);
  void Mark(ConsumptionId id);
  void Mark(GroupsId id);
  void Mark(TaintsId id);
  void Mark(ConditionsId id);
  void Mark(SelectionId id);
  void Mark(PoolId id);

 private:
  friend class Dictionary;
  struct Impl;
  explicit Marker(Impl& impl) : impl_(impl) {}
  Impl& impl_;
};

// Looking something up by number needs no lock and what is returned stays where it is; adding and
// finding take one. Equal content has equal numbers. At() of a kNone is empty. Thread-safe, but for
// Collect: then nobody else may use the dictionary, or keep what At and View have returned.
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

  // Names come with slices, claims and expressions, and those go. Whoever owns the dictionary asks
  // now and then whether enough has been added since the last time, and collects when nobody else
  // is at work: `mark` marks everything that somebody has the number of, Pins aside, and the rest
  // is forgotten, its numbers given again. What is marked keeps its number. Costs what is there, so
  // with CollectionDue a constant share of what was added.
  bool CollectionDue() const;
  void Collect(const std::function<void(Marker&)>& mark);
  // Another one after each Collect. Who remembers something by numbers that he does not mark has to
  // forget it then.
  std::uint32_t epoch() const { return epoch_.load(std::memory_order_relaxed); }

  // Bytes of what is remembered by its numbers, counted by those who do (evaluation.h): together
  // they stay within a limit.
  std::atomic<std::size_t>& projection_bytes() { return projection_bytes_; }

  std::size_t MemoryBytes() const;
  // Of these the characters of names and values, which many devices share.
  std::size_t StringBytes() const;

 private:
  friend class Pins;
  friend class Marker;
  struct Impl;
  std::atomic<std::uint32_t> epoch_ = 0;
  std::atomic<std::size_t> projection_bytes_ = 0;
  std::unique_ptr<Impl> impl_;
};

// Names that somebody needs although no slice or claim may have them: those that an expression
// reads, those of constraints. They are kept as long as this lives. Thread-compatible.
class Pins {
 public:
  explicit Pins(std::shared_ptr<Dictionary> dictionary) : dictionary_(std::move(dictionary)) {}
  ~Pins();
  Pins(Pins&&) noexcept = default;
  Pins& operator=(Pins&&) = delete;

  NameId Intern(std::string_view text);

 private:
  std::shared_ptr<Dictionary> dictionary_;
  std::vector<NameId> names_;
};

}  // namespace dray::inventory
