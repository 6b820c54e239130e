// SPDX-License-Identifier: Apache-2.0
//
// Packer: what it costs the cluster to put a request on a node: what the node could still take of
// requests like those seen so far (Sequences), what is scarce on it (Prices) and what is kept for
// requests that nobody has seen yet (Variety), before and after.
// The node with the least cost is the one to choose.
//
// Exact: what is remembered changes no cost. Depends on what was seen, on the states and on the
// seed, not on what nodes are called.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "packing/history.h"
#include "packing/place.h"
#include "packing/prices.h"
#include "packing/sequences.h"
#include "packing/shape.h"
#include "packing/variety.h"

namespace dray::packing {

struct PackerOptions {
  HistoryOptions history;
  SequenceOptions sequences;
  VarietyOptions variety;
  // Sequences are drawn anew when the history has grown by this factor and so many more; or, once
  // old requests are forgotten as fast as new ones come, has been replaced by so much.
  double growth = 1.3;
  double grown_by = 20;
  // Prices are made anew after so many requests.
  std::uint32_t price_every = 64;
  // States that no node is in are forgotten when there are so many.
  std::size_t states = 1 << 16;
  // Off: nothing is remembered. For comparison.
  bool memory = true;
};

// What a placement costs. Smaller is better, first by `cost`, then by `ease`.
struct Cost {
  // Millionths of a unit, times the number of sequences.
  std::int64_t cost = 0;
  // Free cpu beside each free unit afterwards, as a rank: nodes whose cpu is less needed come
  // first, those without free units before all.
  std::int64_t ease = 0;
  // Where the first unit comes from; nothing when no device is asked for.
  std::optional<Start> start;
};

// One thread.
class Packer {
 public:
  explicit Packer(PackerOptions options = {});

  using NodeNumber = std::uint32_t;  // small numbers; the caller's
  using RequestNumber = std::uint32_t;

  // A request was seen.
  RequestNumber Learn(const Request& request, double times = 1);
  // Only to be asked about.
  RequestNumber Find(const Request& request) { return history_.Find(request); }
  const History& history() const { return history_; }
  // What is known of requests becomes something else: kinds were split. Nodes are to be set again.
  void Replace(RequestNumber number, const Request& request);

  void Set(NodeNumber node, NodeState state);  // normalized or not
  void Remove(NodeNumber node);
  const NodeState* Find(NodeNumber node) const;

  // Nothing: by what is known here it does not fit. A cost above `at_most` may be told too low, but
  // not below that: finding out costs less.
  std::optional<Cost> CostOf(NodeNumber node, RequestNumber request,
                             std::int64_t at_most = std::numeric_limits<std::int64_t>::max());
  // Nodes in equal states cost the same. Each state that nodes are in has a slot, a small number,
  // until the last of them leaves it.
  using Slot = std::uint32_t;
  static constexpr Slot kNoSlot = ~Slot{0};
  Slot SlotOf(NodeNumber node) const {
    return node < nodes_.size() && nodes_[node] != kNone ? states_[nodes_[node]].slot : kNoSlot;
  }
  // The nodes of a slot: a number that is chance, then the node's number, in the order of these.
  struct Member {
    std::uint32_t luck = 0;
    NodeNumber node = 0;
    friend auto operator<=>(const Member&, const Member&) = default;
  };
  static Member MemberOf(NodeNumber node);
  std::span<const Member> MembersOf(Slot slot) const { return members_[slot]; }
  // As CostOf, for any of its nodes.
  std::optional<Cost> CostAt(Slot slot, RequestNumber request,
                             std::int64_t at_most = std::numeric_limits<std::int64_t>::max());
  // For every slot at most the cost of the request there, for little work: what was computed for
  // the state, with prices that have changed since as far as they may have fallen; else what the
  // request takes, less what of the node is of no use for what is seen anyway. kNever: it does not
  // fit (which is not seen of every slot), or nobody has the slot. Valid until something is learned
  // or a node changes.
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  std::span<const std::int64_t> LowerBounds(RequestNumber request);
  // At once, not only when it is time.
  void RenewPrices() { prices_stale_ = true; }
  // Changes when costs may have changed although the node did not.
  std::uint64_t epoch();

  // What the node is worth: V, and V with P and W.
  std::int64_t ValueOf(NodeNumber node);
  std::int64_t WorthOf(NodeNumber node);
  // Of an untouched unit, for each size of sets that it is part of: Variety::Worth when prices were
  // made.
  double unseen() const { return unseen_; }

  struct Statistics {
    std::uint64_t values = 0;      // states whose value was computed, or begun
    std::uint64_t sequences = 0;   // that were run for them
    std::uint64_t successors = 0;  // placements that were tried
    std::uint64_t redraws = 0;
    std::size_t states = 0;  // known now
  };
  Statistics statistics() const;
  std::uint32_t sequences() const { return options_.sequences.count; }

 private:
  using StateNumber = std::uint32_t;
  static constexpr StateNumber kNone = ~StateNumber{0};
  struct State {
    NodeState state;
    std::int64_t free = 0;
    PartialValue value;
    std::int64_t scarcity = 0;      // P and W
    std::uint64_t value_epoch = 0;  // when `value` was computed
    std::uint64_t price_epoch = 0;  // when `scarcity` was
    Slot slot = kNoSlot;            // while nodes are in it
  };
  struct Next {
    StateNumber state = kNone;
    std::optional<Start> start;
  };
  using NextList = absl::InlinedVector<Next, 2>;
  struct Known {  // the answer for a slot
    std::uint64_t epoch = 0;
    StateNumber state = kNone;
    bool fits = false;
    // Otherwise the cost is above this; what it is was not found out.
    bool exact = false;
    Cost cost;
  };

  // What is known of a request in slots, as far as it outlives prices: what V loses at least, and P
  // at prices of the scale 1. Side by side: all of it is read for every decision.
  struct Losses {
    std::uint64_t epoch = 0;  // value_epoch_
    std::uint64_t scales = 0;
    std::vector<StateNumber> states;   // by slot; kNone: nothing is known
    std::vector<std::int64_t> values;  // kNever: it does not fit
    std::vector<double> scarcities;
  };

  // What a request takes at least, and what a state has at most: where this is not enough, it does
  // not fit, which is seen without a look at units. Side by side as Losses are.
  struct Extent {
    Scalars scalars = {};
    Amount amount = 0;            // in the first dimension of some unit
    std::uint32_t untouched = 0;  // units
    Kinds kinds = 0;  // of units; of a request: one of them will do for its first demand
  };
  static Extent ExtentOf(const Request& request);
  static Extent ExtentOf(const NodeState& state);

  void Refresh();  // sequences and prices, when they are due
  void RenewScale(std::span<const Prices::Priced> before, double unseen_before);
  Losses& LossesOf(RequestNumber request);
  void NewVersion(RequestNumber request);
  void Enter(NodeNumber node, StateNumber number);
  void Leave(NodeNumber node);
  void ValueIsDue(Slot slot);
  void Purge();
  StateNumber Intern(NodeState state);
  const NextList& NextOf(StateNumber state, RequestNumber request);
  // At most this, and just this if it is `at_least`.
  std::int64_t Value(StateNumber state, std::int64_t at_least);
  std::int64_t Scarcity(StateNumber state);
  std::int64_t EaseOf(const State& state) const;

  PackerOptions options_;
  History history_;
  std::unique_ptr<Sequences> sequences_;
  Prices prices_;
  Variety variety_;
  double unseen_ = 0;
  std::vector<State> states_;
  absl::flat_hash_map<NodeState, StateNumber> numbers_;
  std::vector<StateNumber> nodes_;            // by node
  std::vector<StateNumber> slots_;            // by slot; kNone: free
  std::vector<std::vector<Member>> members_;  // by slot; sorted
  std::vector<Slot> free_slots_;
  absl::flat_hash_map<std::uint64_t, NextList> next_;  // by state and request
  std::vector<std::vector<Known>> known_;              // by request, by slot
  std::vector<std::uint32_t> versions_;                // by request: of the history
  std::vector<Losses> losses_;                         // by request
  std::vector<std::int64_t> slot_values_;              // by slot: V of its state
  std::vector<std::int64_t> slot_free_;                // by slot: State::free
  std::vector<Extent> slot_extents_;                   // by slot
  std::uint64_t slot_values_epoch_ = 0;  // value_epoch_ of slot_values_; 0: all are due
  std::vector<Slot> slot_values_due_;    // those that have changed since
  std::vector<std::int64_t> bounds_;     // LowerBounds
  // What prices have fallen to since `scales_` began, each of them at least.
  double scale_ = 1;
  std::uint64_t scales_ = 1;
  double seen_ = 0;         // requests, not decayed
  double next_draw_ = 0;    // of seen_
  double next_prices_ = 0;  // of seen_
  std::uint64_t value_epoch_ = 1;
  std::uint64_t price_epoch_ = 1;
  std::uint64_t round_ = 0;
  bool prices_stale_ = true;
  Statistics statistics_;
};

}  // namespace dray::packing
