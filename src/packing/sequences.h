// SPDX-License-Identifier: Apache-2.0
//
// Sequences: random requests one after the other, drawn from what has been seen. A node is worth
// what it can still take of them: of each sequence what fits is placed and the rest is skipped,
// until it has asked for a multiple of what the node has left. So a node with free devices and no
// cpu beside them is worth little, and so is one where only odd remainders are free.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "packing/history.h"
#include "packing/shape.h"

namespace dray::packing {

struct SequenceOptions {
  std::uint32_t count = 96;
  // A sequence ends when it has asked for `times` what is free on the node and half a unit more.
  std::int64_t times = 5;
  Amount more = kWhole / 2;
  // Or after so many requests: those without devices ask for nothing.
  std::size_t longest = 256;
  std::uint64_t seed = 1;
};

// Random numbers that are the same everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next();

 private:
  std::uint64_t state_;
};

// The least that a request takes that takes a unit, of some of them.
struct Least {
  static constexpr std::int32_t kNothing = std::numeric_limits<std::int32_t>::max();
  bool any = false;
  Scalars needs = {kNothing, kNothing, kNothing};
  std::int64_t weight = kNothing;
  Amount amount = kNothing;
};

// A value that is being computed: some sequences are run already.
struct PartialValue {
  std::int64_t placed = 0;
  std::uint32_t done = 0;  // of the sequences
  Least least;             // of the requests that fit, once some are run
};

// One thread: sequences are drawn as far as they are needed.
class Sequences {
 public:
  // Of the history as it is now; `round` makes them others than those of another round.
  Sequences(const History& history, const SequenceOptions& options, std::uint64_t round);

  // What the node can take of all sequences together, in millionths of a unit.
  std::int64_t ValueOf(const NodeState& state);
  // Goes on until all are run, or it is certain that the value is below `at_least`.
  void Continue(const NodeState& state, std::int64_t at_least, PartialValue& value);
  // The same as ValueOf, step by step as Place does it. For comparison.
  std::int64_t SlowValueOf(const NodeState& state);
  std::uint32_t count() const { return options_.count; }
  // One after the other, as on any processor. For comparison.
  void WithoutLanes() { lanes_ = false; }

 private:
  // Several sequences are run at a time, one in each lane of a vector: which request fits where
  // cannot be foreseen, so branches would be taken wrongly all the time. Where the processor has no
  // such vectors (AVX2) they are run one after the other.
  static constexpr std::size_t kLanes = 8;
  static constexpr std::size_t kMostUnits = kMaxUnits;
  // The requests that the sequences of a block ask for at one step.
  using Numbers = std::array<std::int32_t, kLanes>;
  struct Step {
    Numbers cpu, memory, pods;
    Numbers weight, amount, count;
    Numbers kinds_low, kinds_high;
    std::int32_t most_count = 0;  // the largest of `count`
  };
  // A request as the fast way needs it.
  struct Row {
    Scalars needs;
    std::int64_t weight = 0;
    Kinds kinds = 0;
    Amount amount = 0;
    std::uint32_t count = 0;
    // At most one demand, of one dimension, the same of all kinds, without a match, and for whole
    // units if for several.
    bool simple = true;
  };
  struct Sequence {
    Dice dice{0};
    std::vector<std::uint16_t> requests;  // of rows_
  };

  std::uint16_t At(Sequence& sequence, std::size_t step);
  void Extend(std::size_t block, std::size_t steps);
  bool FastFor(const NodeState& state) const;
  Least LeastFor(const NodeState& state) const;
  std::int64_t RunLanes(const NodeState& state, std::size_t block, std::int32_t free,
                        std::int32_t limit, const Least& least);
  std::int64_t RunOne(const NodeState& state, Sequence& sequence, std::int64_t free,
                      std::int64_t limit, const Least& least);
  std::int64_t RunSlowly(NodeState state, Sequence& sequence, std::int64_t limit);

  SequenceOptions options_;
  std::vector<Row> rows_;
  std::vector<Row> alike_;  // those that take the same units once, with the least needs of them
  std::vector<Request> requests_;  // by row
  std::vector<double> up_to_;      // by row: the shares of it and those before it
  std::vector<Sequence> sequences_;
  std::vector<std::vector<Step>> blocks_;
  bool simple_ = true;
  bool lanes_ = false;  // the processor has them
};

}  // namespace dray::packing
