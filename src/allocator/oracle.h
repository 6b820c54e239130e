// SPDX-License-Identifier: Apache-2.0
//
// Oracle: whether a partial choice can be completed at all. A complete search of its own for some
// completion, no matter which, and so free in its order: what is tightest comes first (fail-first),
// which alternative a request gets is settled before which devices, equal requests are taken in
// one order only, and it starts anew with what it has learned when it gets lost.
//
// Why it may reorder: with neither admin access nor lists where lists do not count, whether a set
// of devices satisfies all claims does not depend on the order in which they are placed. Counters,
// capacities and the number of devices of a claim are sums; groups have a common one or they do
// not; values have a common one, or are disjoint, or they do not. And what fits in the end has
// fitted at every step, in any order, since every rule is monotonic.
//
// Why its answer can be believed: "yes" comes with the completion, which State has accepted step by
// step. "No" is the answer of a depth-first search that leaves out only what a relaxation, a
// nogood, or the exchange of twins or of equal requests excludes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "allocator/bounds.h"
#include "allocator/residual.h"
#include "allocator/state.h"
#include "allocator/work.h"

namespace dray::allocator {

class LinearBound;

// One thread. Reused.
class Oracle {
 public:
  Oracle();
  ~Oracle();

  // kUnknown: the work ran out.
  enum class Answer : std::uint8_t { kYes, kNo, kUnknown };

  // What is given must outlive the questions. `failed` are the nogoods, which are added to.
  void Reset(const Attempt& attempt, Bounds& bounds, Residual& residual,
             absl::flat_hash_set<Fingerprint>& failed, WorkMeter& work);

  // `state` is as before when it returns.
  Answer Ask(State& state, const Position& position);

  // After kYes: what completes the position, by request.
  std::uint32_t alternative(std::size_t request) const { return settled_[request]; }
  bool Has(std::uint32_t alternative, std::uint32_t device) const {
    return completion_.contains(Key(alternative, device));
  }

 private:
  // kOpen: there is a new level on top; kLost: too many dead ends in this run.
  enum class Outcome : std::uint8_t { kFound, kFailed, kOpen, kLost, kOut };
  enum class Kind : std::uint8_t {
    kDecide,  // which alternative a request gets
    kBegin,   // a request whose alternative is settled
    kFill,    // one more device for it
  };
  struct Level {
    Kind kind = Kind::kDecide;
    std::size_t request = 0;
    std::uint32_t next_alternative = 0;
    std::int64_t remaining = 0;
    base::BitSet after;      // devices that were not tried yet
    std::size_t placed = 0;  // one device, or all of mode All
    absl::InlinedVector<std::uint32_t, 8> failed;
    Fingerprint fingerprint;  // of what failed when everything has been tried
    bool remember = true;
    bool resumed = false;  // the request that was begun before the question
  };

  static std::uint64_t Key(std::uint32_t alternative, std::uint32_t device) {
    return std::uint64_t{alternative} << 32 | device;
  }
  Outcome Run(const Position& position);
  // Looks at what is open, and opens the level of what should come next.
  Outcome Enter(bool first = false);
  // The request that was begun before the question, if its turn has not come yet.
  const Position* PutOff() const { return pending_ ? &put_off_ : nullptr; }
  Outcome EnterFill(std::size_t request, std::int64_t remaining, const base::BitSet& after,
                    bool known);
  Outcome Next(Level& level);
  Outcome NextAlternative(Level& level);
  Outcome Begin(Level& level);
  Outcome NextDevice(Level& level);
  // Whether the request that was put off may take either of two devices, or neither.
  bool AlikeForPutOff(std::uint32_t a, std::uint32_t b) const;
  // All devices of mode All. `placed` are those that it got to, all of them if true.
  bool PlaceAll(std::uint32_t alternative, std::size_t& placed);
  // The device of `among` that the linear relaxation likes most.
  std::size_t Favourite(std::uint32_t alternative, const base::BitSet& among) const;
  // Does as the linear relaxation likes, without looking left or right. False: that does not work.
  bool Follow();
  bool FollowFor(std::size_t request);
  bool FillAsLiked(std::uint32_t alternative, std::int64_t need, const base::BitSet& among);
  // What the linear relaxation says of the demands that the bounds have left.
  bool LinearlyHopeless(bool first);
  bool LinearFirst() const;
  void TakeBack(Level& level);
  Outcome Leave(Level& level);
  // True: known not to lead anywhere. Otherwise the level's fingerprint is set.
  bool DeadEnd(const Position& position, Fingerprint& fingerprint, bool first = false);
  std::size_t Tightest() const;
  void FindSizes();
  Level& Push();

  const Attempt* attempt_ = nullptr;
  Bounds* bounds_ = nullptr;
  std::unique_ptr<LinearBound> linear_;
  // What answers have cost, with the linear relaxation and without.
  struct Way {
    std::uint64_t spent = 0;
    std::uint64_t answers = 0;
  };
  Way with_linear_;
  Way without_linear_;
  bool linear_on_ = false;
  std::uint64_t linear_limit_ = 0;
  std::uint64_t linear_spent_ = 0;
  std::uint64_t linear_asked_ = 0;
  std::uint64_t linear_said_no_ = 0;
  Residual* residual_ = nullptr;
  absl::flat_hash_set<Fingerprint>* failed_ = nullptr;
  WorkMeter* work_ = nullptr;
  State* state_ = nullptr;
  base::BitSet open_;
  Position put_off_;
  std::size_t put_off_request_ = 0;
  bool pending_ = false;
  std::vector<std::uint32_t> decided_;   // by request
  std::vector<std::uint32_t> settled_;   // the same, of the last completion
  std::vector<std::uint32_t> claim_of_;  // by request
  std::vector<std::uint64_t> weight_;    // by request: how often it was to blame
  std::vector<std::uint64_t> size_;  // by alternative: the least share of a device that it takes
  std::deque<Level> levels_;
  std::size_t depth_ = 0;
  std::uint64_t dead_ends_ = 0;
  std::uint64_t patience_ = 0;
  absl::flat_hash_set<std::uint64_t> completion_;
  std::vector<std::pair<double, std::uint32_t>> liked_;
};

}  // namespace dray::allocator
