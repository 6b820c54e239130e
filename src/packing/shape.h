// SPDX-License-Identifier: Apache-2.0
//
// What packing knows of nodes and pods: numbers. A node is what is left on it, a pod is what it
// takes. Whoever translates devices into these decides what a unit is:
//
// - a device that goes as a whole, or whose capacities are shared: a dimension per capacity;
// - a set of counters that devices (partitions) draw on: a dimension per counter.
//
// Units that no request tells apart are of one kind. Amounts are millionths of what the unit has
// in the dimension, rounded down, so that what fits in fact fits here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace dray::packing {

using Amount = std::int32_t;  // millionths of a unit
inline constexpr Amount kWhole = 1'000'000;

// Kinds are numbers below this, so that a set of them is a word.
inline constexpr std::size_t kMaxKinds = 64;
using Kinds = std::uint64_t;
inline constexpr Kinds KindBit(std::size_t kind) { return Kinds{1} << kind; }
// Of one node; further ones are not looked at.
inline constexpr std::size_t kMaxUnits = 128;

// What pods take of a node beside devices: cpu in thousandths, memory in MiB, pods; rounded down.
enum Scalar : std::uint8_t { kCpu, kMemory, kPods };
inline constexpr std::size_t kScalars = 3;
using Scalars = std::array<std::int32_t, kScalars>;

struct Unit {
  std::uint16_t kind = 0;
  // Equal for units that one matched set may have (the value of the attribute that must match).
  std::uint16_t group = 0;
  std::uint16_t first = 0;  // of NodeState::free
  std::uint16_t dims = 1;
  friend bool operator==(const Unit&, const Unit&) = default;
};

// What is left on a node. Normalized (Normalize): equal states are equal values, whatever the
// devices are called.
struct NodeState {
  Scalars left = {};
  absl::InlinedVector<Unit, 8> units;
  absl::InlinedVector<Amount, 8> free;  // dimension by dimension, unit by unit

  void Add(std::uint16_t kind, std::uint16_t group, std::initializer_list<Amount> amounts) {
    units.push_back({kind, group, static_cast<std::uint16_t>(free.size()),
                     static_cast<std::uint16_t>(amounts.size())});
    for (const Amount amount : amounts) free.push_back(amount);
  }
  friend bool operator==(const NodeState&, const NodeState&) = default;
};

// One way in which a demand can be met by a unit of a kind.
struct Option {
  std::uint16_t kind = 0;
  // Nobody else may have anything of the unit. `amounts` are all kWhole then.
  bool whole = false;
  absl::InlinedVector<Amount, 2> amounts;  // by the dimensions of the kind
  friend bool operator==(const Option&, const Option&) = default;
};

struct Demand {
  absl::InlinedVector<Option, 2> options;
  std::uint32_t count = 1;
  // Demands of a request with the same number get units of one group, each by itself too. -1: any.
  std::int8_t match = -1;
  friend bool operator==(const Demand&, const Demand&) = default;
};

// What a pod takes.
struct Request {
  Scalars needs = {};
  absl::InlinedVector<Demand, 1> demands;
  friend bool operator==(const Request&, const Request&) = default;
};

// The mean over the dimensions: what all requests that fit together take of a unit is at most what
// was left of it.
Amount WeightOf(const Option& option);
// All units of a demand, by its heaviest option; all demands of a request.
std::int64_t WeightOf(const Demand& demand);
std::int64_t WeightOf(const Request& request);
// By the lightest options: what it takes at least.
std::int64_t LeastWeightOf(const Request& request);
Kinds KindsOf(const Demand& demand);

Amount FreeOf(const NodeState& state, const Unit& unit);  // the mean, rounded up
bool Untouched(const NodeState& state, const Unit& unit);
std::int64_t FreeOf(const NodeState& state);  // all units

// Sorts the units: by kind, then group, then what is left.
void Normalize(NodeState& state);

template <typename H>
H AbslHashValue(H h, const NodeState& s) {
  for (const Unit& unit : s.units) h = H::combine(std::move(h), unit.kind, unit.group, unit.dims);
  for (const Amount amount : s.free) h = H::combine(std::move(h), amount);
  return H::combine(std::move(h), s.left);
}
template <typename H>
H AbslHashValue(H h, const Option& o) {
  return H::combine(std::move(h), o.kind, o.whole, o.amounts);
}
template <typename H>
H AbslHashValue(H h, const Demand& d) {
  return H::combine(std::move(h), d.options, d.count, d.match);
}
template <typename H>
H AbslHashValue(H h, const Request& r) {
  return H::combine(std::move(h), r.needs, r.demands);
}

}  // namespace dray::packing
