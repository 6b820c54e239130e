// SPDX-License-Identifier: Apache-2.0
//
// Prices: what a node is worth because few others could do the same. Requests for one model, for
// several devices at once or for a matched set can go to few nodes; requests that can go anywhere
// had better not take these.
//
// A class is what demands have in common: the kinds that will do, whole units or parts, how many.
// Its price is its share in what was asked for, times how much rarer room for it is than room at
// all among the kinds that anybody takes in their place: d * max(0, B / S - 1). Who can go anywhere
// has the price 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "packing/history.h"
#include "packing/shape.h"

namespace dray::packing {

struct DemandClass {
  Kinds kinds = 0;
  std::uint32_t count = 1;  // of whole units; parts have one class for all counts
  bool whole = false;
  bool matched = false;
  friend bool operator==(const DemandClass&, const DemandClass&) = default;
};
DemandClass ClassOf(const Demand& demand);

// Room for the class on the node, in millionths of a unit: all that is free (parts), or whole units
// in complete sets of `count`, of one group each when they must match.
std::int64_t RoomFor(const DemandClass& demand, const NodeState& state);
// What is free (parts) or untouched (whole) of these kinds.
std::int64_t RoomOf(Kinds kinds, bool whole, const NodeState& state);

// One thread.
class Prices {
 public:
  // Takes the classes from the history. The sums are zero then: each node is to be added again.
  void Reset(const History& history);
  // Their shares as they are now; false: there are other classes, and Reset is due.
  bool Update(const History& history);
  // A node with this state came (1) or went (-1).
  void Count(const NodeState& state, int sign);
  // Makes prices of the sums as they are.
  void Renew();

  struct Priced {
    DemandClass demand;
    double price = 0;
  };
  // Those that are not 0.
  std::span<const Priced> priced() const { return priced_; }
  // In millionths of a unit.
  double WorthOf(const NodeState& state) const;

 private:
  struct Class {
    DemandClass demand;
    Kinds among = 0;        // kinds that somebody takes in place of these, these included
    double share = 0;       // of what was asked for
    std::int64_t room = 0;  // of all nodes
    std::int64_t rest = 0;  // of all nodes: RoomOf(among)
  };
  void Shares(const History& history);

  std::vector<Class> classes_;
  std::vector<std::vector<std::uint32_t>> of_entry_;  // by place in the history: its classes
  std::vector<Priced> priced_;
  std::uint64_t version_ = 0;
};

}  // namespace dray::packing
