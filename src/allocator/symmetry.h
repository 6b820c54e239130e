// SPDX-License-Identifier: Apache-2.0
//
// Symmetry: devices and requests that nothing tells apart.
//
// Devices of one symmetry class are candidates of the same alternatives, have the same values of
// every constrained attribute, draw the same amounts on the same counter sets with the same groups,
// and consume the same. Let a and b be of one class and let both be in the same state: free or not,
// shared or not, with as much left to share. Exchanging a and b in a completion gives a completion,
// since every rule reads only what they agree in. So
// - when a has failed in a place, b fails there too (twins), and
// - of a class only the number of free devices matters (fingerprints).
//
// Requests of one class are of one claim, under the same constraints, and have alternatives that
// ask for the same number of the same devices. Exchanging what two of them get keeps a solution a
// solution, so of requests that are still to be met only the number per class matters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/constraint_values.h"
#include "allocator/fingerprint.h"
#include "allocator/state.h"
#include "allocator/work.h"
#include "base/bit_set.h"

namespace dray::allocator {

// A value of one attribute; the same value of another one has nothing to do with it.
struct AttributeElement {
  inventory::NameId attribute;
  ElementId element;
  friend bool operator==(const AttributeElement&, const AttributeElement&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const AttributeElement& e) {
    return H::combine(std::move(h), e.attribute.id(), e.element);
  }
};

// One thread. Reused.
class Symmetry {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // Numbers of values and counter sets inside of a component, in the order in which they are met:
  // names that do not depend on which of several equal components it is.
  struct Local {
    absl::flat_hash_map<AttributeElement, std::uint32_t> elements;
    absl::flat_hash_map<std::uint32_t, std::uint32_t> sets;
  };

  // What it cost may be more than there is: then nothing of it must be asked.
  void Reset(const Attempt& attempt, const State& initial, const ConstraintValues& values,
             WorkMeter& work);

  // kNone: no request could have the device.
  std::uint32_t class_of(std::uint32_t device) const { return class_of_[device]; }
  std::size_t classes() const { return members_.size(); }
  const base::BitSet& members(std::uint32_t of) const { return members_[of]; }
  std::uint32_t request_class(std::size_t request) const { return request_class_[request]; }
  // The classes of devices that a request could have.
  const base::BitSet& wanted_by(std::size_t request) const {
    return wanted_by_[request_class_[request]];
  }
  // Some request has admin access: then what is chosen for it is no longer free for others, but not
  // the other way round, and the order of requests matters.
  bool admin() const { return admin_; }
  // Values that can decide something, of any constraint.
  bool Linking(const AttributeElement& element) const { return linking_.contains(element); }
  inventory::NameId attribute(std::size_t alternative, std::size_t use) const {
    return attributes_[alternative][use];
  }
  // Alternatives that devices can be told apart by: one of each kind.
  std::span<const std::uint32_t> representatives() const { return representatives_; }
  std::uint32_t representative(std::size_t alternative) const {
    return representatives_[representative_of_[alternative]];
  }

  // An amount without the remainder that nobody can use, because everything that draws on it draws
  // multiples of one unit.
  Amount CounterLeft(const State& state, std::uint32_t counter) const;
  Amount ShareLeft(const State& state, std::uint32_t device, std::size_t capacity) const;
  // Whether what two devices of one class have left is the same for all that may come.
  bool SameLeft(const State& state, std::uint32_t a, std::uint32_t b) const;
  // Devices of one class, in the same state: see above.
  bool Twins(const State& state, std::uint32_t a, std::uint32_t b) const;

  // Everything about a device that can matter; with `local` values and counter sets go by their
  // numbers there.
  void Describe(std::uint32_t device, const State& initial, Local* local, Description& into) const;

 private:
  void FindRepresentatives();
  void FindDeviceClasses(const State& initial);
  void FindRequestClasses();
  void FindUnits();
  static Amount Rounded(const Amount& left, const Amount& unit);

  const Attempt* attempt_ = nullptr;
  WorkMeter* work_ = nullptr;
  bool admin_ = false;
  std::vector<std::uint32_t> representatives_;
  std::vector<std::uint32_t> representative_of_;  // by alternative: its place in the list
  std::vector<base::BitSet> wanted_of_;           // by representative: classes of devices
  // By alternative: the attributes of its constraints, as Alternative::constraints has them.
  std::vector<std::vector<inventory::NameId>> attributes_;
  absl::flat_hash_map<AttributeElement, bool> linking_;
  std::vector<std::uint32_t> class_of_;  // by device
  std::vector<base::BitSet> members_;    // by class
  std::vector<std::uint32_t> request_class_;
  std::vector<base::BitSet> wanted_by_;           // by class of requests: classes of devices
  std::vector<Amount> counter_units_;             // by counter
  std::vector<std::vector<Amount>> class_units_;  // by class, for devices to share: by capacity
  Description scratch_;
};

}  // namespace dray::allocator
