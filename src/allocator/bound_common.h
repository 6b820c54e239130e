// SPDX-License-Identifier: Apache-2.0
//
// The bound of common values. Claims that have not begun and need at least t dedicated devices under a
// matchAttribute each take t devices that have a value in common, and no two of them the same. Join two
// devices when they have a common value, for any of the claims:
// - each claim that needs two or more takes a pair of joined devices, and these pairs are a matching. A
//   maximum matching must have as many pairs as there are such claims.
// - joined devices are joined to all others of the claim, so a claim takes its devices from one connected
//   component: one with n devices serves at most n / t claims that need t or more.
// Which claim may have which device is left out. With lists this is more than counting devices by value,
// because a device counts for all of its values there.
#pragma once

#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "allocator/bound.h"
#include "allocator/fingerprint.h"
#include "allocator/matching.h"

namespace dray::allocator {

class CommonBound final : public Bound {
 public:
  void Reset(const BoundInput& input) override;
  bool Hopeless(const State& state, Demands& demands) override;

 private:
  // A constraint of a claim that has not begun.
  struct Wanted {
    std::size_t claim = 0;
    std::size_t constraint = 0;
    std::uint32_t need = 0;
  };
  void FindWanted(const State& state, Demands& demands);
  bool TooMany(std::span<const Wanted> wanted, Demands& demands);
  // False: there is no work left for it.
  bool Join(std::span<const Wanted> wanted, Demands& demands);
  void FindComponents();

  const Attempt* attempt_ = nullptr;
  const ConstraintValues* values_ = nullptr;
  WorkMeter* work_ = nullptr;
  bool lists_ = false;  // some device has several values
  std::vector<Wanted> wanted_;
  std::vector<Wanted> group_;  // of one attribute
  absl::flat_hash_set<std::size_t> claims_;
  absl::flat_hash_set<Fingerprint> seen_;
  Description description_;
  Matching graph_;
  base::BitSet among_;
  std::vector<std::size_t> components_;  // how many devices each has
  bool cliques_ = true;                  // every component is one
  base::BitSet left_;
  base::BitSet with_;
  base::BitSet part_;
  base::BitSet edge_;
};

}  // namespace dray::allocator
