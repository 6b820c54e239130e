// SPDX-License-Identifier: Apache-2.0
//
// Residual: what a partial choice leaves, written so that two choices that leave the same for what
// is still to come have the same fingerprint, whichever of several equal devices they took. What
// failed once (a nogood) is then not searched again under other names.
//
// What is left is, per component, how many devices of each class are free, what its counters have
// left, which groups are placed and which of its values the constraints have met; of components
// with equal descriptions only the collection counts, not which is which. Together with what is
// still to be found that decides which completions there are:
// - Exactness: every rule of State reads, of what was chosen before, only whether a device is free,
//   counters, capacities, groups, and the values that a constraint has met. All of these are in the
//   fingerprint, except remainders that nobody can draw (Symmetry::CounterLeft), values that can
//   never decide anything (ConstraintValues), and classes of devices that nothing still to come
//   could have.
// - Names: classes, values and sets go by numbers inside of a component; equal collections of
//   component descriptions give a bijection of components, and so of devices, that carries
//   completions over (symmetry.h, components.h).
// So equal fingerprints have equal futures, up to a collision of 128 bits. Different fingerprints
// may have equal futures as well; then something is searched twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "allocator/bounds.h"
#include "allocator/components.h"
#include "allocator/fingerprint.h"
#include "allocator/state.h"
#include "allocator/symmetry.h"
#include "allocator/work.h"

namespace dray::allocator {

// One thread. Reused.
class Residual {
 public:
  void Reset(const Attempt& attempt, const State& initial, const ConstraintValues& values,
             WorkMeter& work);
  // False: constraints are such that states cannot be recognised (ConstraintValues::usable).
  bool usable() const { return usable_; }

  Fingerprint Of(const State& state, const Position& position);

  std::size_t request_of(std::uint32_t alternative) const { return request_of_[alternative]; }

  const Symmetry& symmetry() const { return symmetry_; }
  const Components& components() const { return components_; }

 private:
  void DescribeRequests(const State& state, const Position& position);
  void ListMet(const State& state);
  void DescribePutOff(const base::BitSet& members);
  void DescribeDevices(const Component& component, const State& state);
  Fingerprint DescribeComponent(std::uint32_t index, const State& state);

  const Attempt* attempt_ = nullptr;
  WorkMeter* work_ = nullptr;
  bool usable_ = true;
  Symmetry symmetry_;
  Components components_;
  std::vector<std::uint32_t> claim_of_;    // by request
  std::vector<std::uint32_t> request_of_;  // by alternative
  std::vector<bool> limited_;              // by claim: it may get too many devices
  std::vector<std::uint32_t> claims_;      // that something is still to be found for
  base::BitSet wanted_;                    // classes
  base::BitSet available_;                 // devices that the current request may still take
  base::BitSet put_off_;                   // and that the one that was put off may
  base::BitSet both_;
  bool several_ = false;
  // Component and what a constraint has met there: constraint, number of the value.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> met_;
  std::vector<ElementId> decisive_;
  Description whole_;
  Description part_;
  Description device_;
  std::vector<Fingerprint> parts_;
  std::vector<Fingerprint> devices_;
};

}  // namespace dray::allocator
