// SPDX-License-Identifier: Apache-2.0
//
// Residual: what a partial choice leaves, written so that two choices that leave the same for what
// is still to come have the same fingerprint, whichever of several equal devices they took. What
// failed once is then not searched again under other names.
//
// Devices are linked when they draw on one counter set or have a value of a constrained attribute
// in common; linked devices make a component. A component is described by its devices in order,
// with values and counter sets numbered inside of it, so that the description of one NUMA node's
// devices is that of any other with the same content. What is left is then, per component, how many
// devices of each class are free, what its counters have left and which of its values are met; and
// of components with equal descriptions only the collection counts, not which is which.
//
// Exact in one direction, the one that matters: equal fingerprints mean equal futures (up to a
// collision of 128 bits).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/bounds.h"
#include "allocator/state.h"

namespace dray::allocator {

struct Fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  void Add(std::uint64_t word);
  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Fingerprint& f) {
    return H::combine(std::move(h), f.high, f.low);
  }
};

// One thread. Reused.
class Residual {
 public:
  void Reset(const Attempt& attempt, const State& initial);
  // False: constraints are such that states cannot be recognised.
  bool usable() const { return usable_; }

  Fingerprint Of(const State& state, const Position& position);

  // Requests that have nothing to do with each other: no device, counter set or constraint in
  // common. What is chosen for one set of them changes nothing for another.
  std::vector<base::BitSet> IndependentRequests() const;
  // From now on only these requests are searched for.
  void SetPart(const base::BitSet& requests);

  // Devices of one class can stand for each other as long as both are free.
  std::uint32_t class_of(std::uint32_t device) const { return class_of_[device]; }
  // Whether what is left of two devices of one class to share is the same for all that may come.
  bool SameLeft(const State& state, std::uint32_t a, std::uint32_t b) const;

 private:
  // What remainders of an amount cannot be used: everything that draws on it draws multiples of
  // `unit`.
  static Amount Usable(const Amount& left, const Amount& unit);

  // A value of one attribute; the same value of another one has nothing to do with it.
  struct Element {
    inventory::NameId attribute;
    ElementId element;
    friend bool operator==(const Element&, const Element&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Element& e) {
      return H::combine(std::move(h), e.attribute.id(), e.element);
    }
  };
  struct Component {
    Fingerprint type;
    std::vector<std::uint32_t> classes;  // counted
    std::vector<std::uint32_t>
        devices;  // looked at one by one: their state is more than free or not
    std::vector<std::uint32_t> sets;
    std::vector<Element> elements;
  };
  // Numbers inside of a component, in the order in which things are met.
  struct Local {
    absl::flat_hash_map<Element, std::uint32_t> elements;
    absl::flat_hash_map<std::uint32_t, std::uint32_t> sets;
  };

  bool Relevant(std::uint32_t device) const;
  bool OneByOne(std::uint32_t device) const { return admin_ || attempt_->multi(device); }
  // Everything about a device that can matter; with `local` values and counter sets go by their
  // numbers there.
  Fingerprint Signature(std::uint32_t device, const State& initial, Local* local) const;
  void FindClasses(const State& initial);
  void FindUnits();
  void FindComponents();
  void Describe(const State& initial);
  Fingerprint Part(const Component& component, const State& state, const Position& position,
                   const base::BitSet& wanted) const;
  void AddDevices(const Component& component, const State& state, Fingerprint& part) const;
  void AddConstraints(const Component& component, const State& state, const Position& position,
                      Fingerprint& part) const;

  const Attempt* attempt_ = nullptr;
  bool usable_ = true;
  bool admin_ = false;
  std::vector<std::uint32_t> class_of_;  // by device; the same number for twins
  std::vector<base::BitSet> members_;    // by class
  std::vector<std::uint32_t> root_;      // by device: of its component, while these are found
  std::vector<Component> components_;
  std::vector<Fingerprint> parts_;
  base::BitSet available_;
  // By alternative: the attributes of its constraints, as Alternative::constraints has them.
  std::vector<std::vector<inventory::NameId>> attributes_;
  std::vector<Amount> counter_units_;             // by counter
  std::vector<std::vector<Amount>> class_units_;  // by class, for devices to share: by capacity
  std::vector<base::BitSet> wanted_by_;           // by request: classes
  std::vector<base::BitSet> wanted_from_;  // by request: classes that it or a later one wants
  base::BitSet wanted_;
};

}  // namespace dray::allocator
