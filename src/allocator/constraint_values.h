// SPDX-License-Identifier: Apache-2.0
//
// ConstraintValues: which devices have which values of a constrained attribute, found once per
// attempt for the relaxations and for recognising states.
//
// Lists can bring thousands of values, most of them on one device. Of those only the ones that can
// still decide something are kept:
// - matchAttribute: a solution has at least `least` devices under the constraint, and all of them
//   have the value that is common in the end. Unless a device can be given several times, they are
//   different devices, so a value that fewer than `least` candidates have is never the common one.
// - distinctAttribute: a value keeps two devices from being chosen together, so one that a single
//   dedicated device has decides nothing between devices. It still stands for its device where
//   devices are matched to values; such values are kept, but not `linking`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/attempt.h"
#include "allocator/fingerprint.h"
#include "allocator/state.h"
#include "allocator/work.h"
#include "base/bit_set.h"

namespace dray::allocator {

// One thread. Reused.
class ConstraintValues {
 public:
  // The values of one constraint, as the alternatives that it covers see them.
  struct Carriers {
    // What alternatives with the same candidates and values see, once for all of them.
    struct View {
      const Candidates* candidates = nullptr;  // of one of them
      std::size_t use = 0;
      // By element: the devices that have it. The same for all constraints that see the same.
      std::shared_ptr<std::vector<base::BitSet>> with;
    };
    std::vector<ElementId> elements;  // sorted
    base::BitSet linking;             // of elements: can decide between devices
    std::vector<View> views;
    absl::flat_hash_map<const Candidates*, std::uint32_t> view_of;
    // Of Plan::constraints(): the first that sees the same, this one if none does.
    std::size_t same_as = 0;

    // Whether the constraint covers them; true before anything has been listed, too.
    bool Covers(const Candidates* candidates) const { return view_of.contains(candidates); }
    const std::vector<base::BitSet>* Find(const Candidates* candidates) const {
      const auto it = view_of.find(candidates);
      return it == view_of.end() ? nullptr : views[it->second].with.get();
    }
    // Where an element is; elements.size() if it is not kept.
    std::size_t IndexOf(ElementId element) const;
  };

  // What it cost may be more than there is: then nothing of it must be asked.
  void Reset(const Attempt& attempt, WorkMeter& work);
  // False: there is a list where lists do not count. It is accepted only from the first device, so
  // the order of devices matters, which no relaxation and no fingerprint knows.
  bool usable() const { return usable_; }
  const Carriers& operator[](std::size_t constraint) const { return carriers_[constraint]; }

 private:
  void Add(const ClaimPlan& claim, std::size_t i);
  void AddViews(const ClaimPlan& claim, std::size_t i, Carriers& carriers) const;
  // The first constraint that sees the same; itself if none does.
  std::size_t FirstLike(std::size_t constraint, std::int64_t least);
  void ListCarriers(Carriers& carriers) const;
  // Fills element_of_: which device has which element in the view of at least one alternative.
  void ListElements(const Carriers& carriers);
  std::int64_t LeastNeeded(const ClaimPlan& claim, const Carriers& carriers) const;

  const Attempt* attempt_ = nullptr;
  WorkMeter* work_ = nullptr;
  bool usable_ = true;
  std::vector<Carriers> carriers_;                               // by constraint
  std::vector<std::pair<ElementId, std::uint32_t>> element_of_;  // element, device; sorted
  absl::flat_hash_map<Fingerprint, std::size_t> first_like_;     // constraints
  Description description_;
};

}  // namespace dray::allocator
