// SPDX-License-Identifier: Apache-2.0
//
// Components: devices that have to do with each other. Two devices are linked when they are of one
// symmetry class, draw on one counter set, or have a value of a constrained attribute in common
// that can decide something; linked devices make a component.
//
// A component is described by its classes in the order of devices, with values and counter sets
// numbered inside of it, so that the description of one NUMA node's devices is that of any other
// with the same content. Components with one description correspond device by device, value by
// value and set by set; no rule compares anything across components except equality of values,
// which devices of two components never have (in values that can decide something). So what is
// chosen in one could as well have been chosen in the other, as long as both are in the same state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/fingerprint.h"
#include "allocator/symmetry.h"

namespace dray::allocator {

struct Component {
  Fingerprint type;
  std::vector<std::uint32_t> classes;  // counted
  std::vector<std::uint32_t> devices;  // looked at one by one: they are more than free or not
  std::vector<std::uint32_t> sets;     // by their numbers inside
};

// One thread. Reused.
class Components {
 public:
  struct Place {
    std::uint32_t component = 0;
    std::uint32_t number = 0;  // inside of it
  };

  void Reset(const Attempt& attempt, const State& initial, const Symmetry& symmetry,
             WorkMeter& work);
  std::span<const Component> all() const { return components_; }
  // Where a value is; null: nobody has it, or it decides nothing.
  const Place* Find(const AttributeElement& element) const {
    const auto it = places_.find(element);
    return it == places_.end() ? nullptr : &it->second;
  }
  // Whether devices of a class are looked at one by one.
  bool OneByOne(std::uint32_t device) const {
    return symmetry_->admin() || attempt_->multi(device);
  }

 private:
  void Link();
  void Describe(const State& initial);

  const Attempt* attempt_ = nullptr;
  const Symmetry* symmetry_ = nullptr;
  WorkMeter* work_ = nullptr;
  std::vector<std::uint32_t> root_;  // by device
  std::vector<Component> components_;
  absl::flat_hash_map<AttributeElement, Place> places_;
};

// Requests that have nothing to do with each other: no component, no constraint and no limit of a
// claim in common. What is chosen for one set of them changes nothing for another, so the first
// solution of the whole is made of the first solutions of the sets, and there is none when one of
// the sets has none.
std::vector<base::BitSet> IndependentRequests(const Attempt& attempt, const Symmetry& symmetry,
                                              const Components& components, WorkMeter& work);

}  // namespace dray::allocator
