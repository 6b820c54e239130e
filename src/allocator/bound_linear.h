// SPDX-License-Identifier: Apache-2.0
//
// The linear bound. All rules together, but with fractions: which part of a request has which
// alternative, which part of it has which device, which part of a claim has settled on which value.
// A completion is a solution of these inequalities in whole numbers, so when there is none in fractions
// there is no completion. What one rule leaves another one needs: no other bound sees two
// distinctAttribute at once, or that alternatives which a claim's constraint excludes send its
// requests to devices that others need.
//
// For a class k of equal requests (many of them), its alternatives a and groups g of equal devices:
//   y(k, a)     how many of the class have the alternative
//   x(k, a, g)  how many devices of the group they have for it
//   z(c, v)     whether the claim's matchAttribute c settles on the value v
// What is maximised is the number of requests that are met, the sum of all y. Rows, each of which holds
// for every completion:
// - the sum over a of y(k, a) <= many(k);
// - need(a) * y(k, a) <= the sum over g of x(k, a, g);
// - x(k, a, g) <= min(need(a), size(g)) * y(k, a): a request has a device once at most;
// - a group: the sum of x <= its size, or the shares that its devices have left;
// - distinctAttribute: of all devices with a value one, and one of any devices that exclude each other
//   in pairs;
// - matchAttribute: the sum over v of z(c, v) <= 1, and x of devices that have the values V is at most
//   their number times the sum over V of z(c, v);
// - an amount, of a counter or of a group's capacity: the sum of what x draws <= what is left; and since
//   numbers are whole, the sum of floor((n + 1) * draws / (left + 1)) * x <= n for any n <= left, by
//   dividing and rounding down (Chvatal and Gomory);
// - a claim: the devices of all its requests <= 32.
// Equal requests and devices may be summed up, because adding up the inequalities of each gives those of
// the sum. Devices for multiple allocations pay counters once, so these rows leave them out. Amounts are
// scaled to small whole numbers, which are rounded down, so that a solution stays one.
//
// Rows that few solutions break are added when one does, for some rounds. The proof is exact
// (linear_program.h); the solution that is left when there is none is a hint where to look.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/bound.h"
#include "allocator/linear_program.h"
#include "allocator/symmetry.h"

namespace dray::allocator {

// One thread. Reused.
class LinearBound {
 public:
  void Reset(const BoundInput& input, const Symmetry& symmetry);
  // As Bound::Hopeless. `limit`: the work that it may take, about.
  bool Hopeless(const State& state, Demands& demands, std::uint64_t limit);

  // False: the last call could not come to its end.
  bool ended() const { return ended_; }
  // Whether there is a solution to like things by.
  bool solved() const { return solved_; }
  void Forget() { solved_ = false; }

  // What the last solution of a call that was not hopeless likes: how much of the alternative, of
  // Plan::alternatives(), and of a device for it. Zero: nothing, or not known.
  double Likes(std::uint32_t alternative) const;
  double Likes(std::uint32_t alternative, std::uint32_t device) const;

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  // More than this is not looked at.
  static constexpr std::size_t kMostColumns = 6'000;
  static constexpr int kRounds = 8;

  struct Choice {
    const Candidates* candidates = nullptr;
    std::uint32_t of = 0;  // class
    std::uint32_t need = 0;
    std::uint32_t column = 0;     // y
    std::uint32_t row = 0;        // what it needs
    std::uint32_t first_use = 0;  // by group: x, of uses_
  };
  struct Class {
    const Demand* demand = nullptr;  // one of them
    std::uint32_t many = 0;
    std::uint32_t first_choice = 0;
    std::uint32_t choices = 0;
    std::uint32_t largest = 0;  // what an alternative needs at most
  };
  struct Group {
    std::uint32_t device = 0;  // one of them
    std::uint32_t size = 0;
    std::uint32_t shares = 0;  // of all together
    bool multi = false;
  };
  // A column x.
  struct Use {
    std::uint32_t column = kNone;
    std::uint32_t choice = 0;
    std::uint32_t group = 0;
  };
  struct Drawn {
    std::uint32_t column = 0;
    Amount amount;
  };
  // `times` places with `left` each.
  struct Knapsack {
    std::vector<Drawn> drawn;
    Amount left;
    std::uint32_t times = 1;
  };
  // What a constraint has to do with the columns.
  struct Limits {
    bool begun = false;
    std::vector<ElementId> known;  // met by a distinct one; alive of a match that has begun. Sorted
    absl::flat_hash_map<ElementId, std::uint32_t> settled;             // match: z
    absl::flat_hash_map<ElementId, std::vector<std::uint32_t>> users;  // distinct: x
    absl::flat_hash_map<Fingerprint, std::uint32_t> sets;              // match: sets of values
    std::uint32_t sum = kNone;                                         // match: row of z
  };
  // Match: x of devices that have the same values.
  struct ValueSet {
    std::vector<std::uint32_t> settled;                         // z
    std::vector<std::pair<std::uint32_t, std::uint32_t>> uses;  // choice, of uses_
  };

  bool Build(const State& state, const Demands& demands);
  void FindClasses(const Demands& demands);
  void FindGroups(const State& state);
  bool AddUses(const State& state);
  bool Fits(const Choice& choice, std::uint32_t device) const;
  void AddConstrained(const Choice& choice, const Use& use, std::uint32_t at);
  void AddMatchRows();
  void AddDistinctRows();
  void AddAmounts(const State& state);
  void AddAmountRow(const Knapsack& knapsack);
  void AddClaimRows(const State& state);
  void FindLimits(const State& state);
  std::size_t Separate();
  std::size_t SeparateRounded(const Knapsack& knapsack);
  std::size_t SeparateCliques();
  void Blame(Demands& demands) const;

  const Attempt* attempt_ = nullptr;
  const ConstraintValues* values_ = nullptr;
  const Supply* supply_ = nullptr;
  WorkMeter* work_ = nullptr;
  const Symmetry* symmetry_ = nullptr;
  std::vector<bool> limited_;  // by claim: it may get too many devices

  LinearProgram program_;
  std::vector<Class> classes_;
  std::vector<Choice> choices_;
  std::vector<Group> groups_;
  std::vector<Use> uses_;
  std::vector<Knapsack> knapsacks_;
  std::vector<Limits> limits_;  // by constraint
  std::vector<ValueSet> sets_;
  std::vector<std::vector<std::uint32_t>> requests_;  // by class
  std::vector<std::uint32_t> choice_of_;              // by alternative
  std::vector<std::uint32_t> group_of_;               // by device
  std::vector<bool> linked_;                          // by use: its row against y is there
  absl::flat_hash_map<Fingerprint, std::uint32_t> known_;
  absl::flat_hash_map<Fingerprint, bool> rows_known_;
  Description description_;
  std::int64_t target_ = 0;
  bool solved_ = false;
  bool ended_ = true;
};

}  // namespace dray::allocator
