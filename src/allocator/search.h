// SPDX-License-Identifier: Apache-2.0
//
// Search: the first solution in Kubernetes's order, or the proof that there is none.
//
// The order is that of a plain depth-first search over claims, requests, alternatives and devices,
// and as long as nothing goes wrong it is just that. With the first dead end it begins to look
// ahead (Bounds) and to remember (Residual): both only leave out what cannot succeed. Requests that
// have nothing to do with each other are then searched for one after the other, from the start, so
// that trouble with one is not met again for every choice of another. Where an expression fails on
// some device, whether the plain search would have come across it is part of the answer, and
// nothing is left out.
//
// Spec: docs/spec/allocator.md chapter 4.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "allocator/attempt.h"
#include "allocator/bounds.h"
#include "allocator/oracle.h"
#include "allocator/policy.h"
#include "allocator/residual.h"
#include "allocator/state.h"
#include "allocator/work.h"

namespace dray::allocator {

struct SearchOptions {
  Policy policy = Policy::kFirstFit;
  // Not null: instead of the policy's order. Outlives the search.
  const DevicePreference* preference = nullptr;
  // What it may cost (work.h); running out is reported as such.
  std::uint64_t work_budget = kDefaultWork;
  // Off: the plain search, for comparison.
  bool look_ahead = true;
};

enum class SearchResult : std::uint8_t { kFound, kNone, kFault, kBudget };

// One thread. Reused: a search that has grown allocates nothing in common cases.
class Search {
 public:
  SearchResult Run(const Attempt& attempt, const SearchOptions& options);

  // In the order in which they were made.
  std::span<const PlacedDevice> placed() const { return state_.placed(); }
  // The alternative that was chosen for each request: of Plan::alternatives().
  std::span<const std::uint32_t> chosen_alternatives() const { return chosen_alternatives_; }
  // With kFault: where an expression failed.
  const PlacedDevice& faulty() const { return faulty_; }

  // Entries into requests and devices.
  std::uint64_t steps() const { return steps_; }
  // What it cost (work.h).
  std::uint64_t work() const { return work_.spent(); }
  // Whether it looked ahead, how often that ended a branch, and how often memory did.
  bool looked_ahead() const { return ahead_; }
  std::uint64_t cut() const { return cut_; }
  std::uint64_t remembered() const { return remembered_hits_; }

 private:
  // kTooMany: the claim would get more devices than it can have; no other device helps, only
  // another alternative. kOpen: not known yet, there is a new level on top.
  enum class Answer : std::uint8_t { kFound, kFailed, kTooMany, kStopped, kOpen };
  // What is being decided on the way down: a request's alternative, or one of its devices. Levels
  // are on a stack of their own, so that no number of claims or devices can exhaust the thread's.
  struct Level {
    std::size_t claim = 0;
    std::size_t request = 0;  // of Plan::requests()
    bool device = false;      // otherwise the request itself
    // A request: the next alternative to try, and how many devices of mode All are placed.
    std::uint32_t next_alternative = 0;
    std::size_t placed = 0;
    // With a policy that has an order: the candidates of the alternative as it says.
    std::vector<std::uint32_t> order;
    // A device: which alternative it is for, how many of that are placed already, the place from
    // which on devices are tried and the next one to try. Places are devices, or with a policy that
    // has an order what `order` of the request's level says.
    std::uint32_t alternative = 0;
    std::size_t request_level = 0;
    std::int64_t k = 0;
    std::size_t start = 0;
    std::size_t next = 0;
    bool looked = false;
    bool has_after = false;
    base::BitSet after;
    absl::InlinedVector<std::uint32_t, 8> failed;
  };

  SearchResult InParts();
  // One part, or all requests: from the start, and once more with the oracle when that gets lost.
  Answer ExplorePart();
  // With the oracle: some claim cannot be met even if it were alone, or it is not known.
  Answer ClaimsAlone();
  SearchResult ResultOf(Answer answer) const;
  bool Wanted(const ClaimPlan& claim) const;  // some request of it is in the part
  // The whole search: enters the first claim and goes on until the stack is empty.
  Answer Explore();
  Answer EnterClaim(std::size_t claim, bool known);
  // `known`: the oracle has said that this can be completed.
  Answer EnterRequest(std::size_t claim, std::size_t request, bool known);
  Answer EnterDevice(std::size_t request_level, std::int64_t k, std::size_t start, bool known);
  // Tries what comes next at the top level; leaves the level when nothing does.
  Answer NextAlternative(Level& level);
  Answer NextDevice(Level& level);
  // What was tried at the top level has failed. kOpen: something else may be tried.
  Answer TakeBack(Level& level, Answer answer);
  bool PlaceAll(Level& level, std::uint32_t alternative);
  void ExpectNotToRunOut() const;
  // What a failed device means for the others of the level. True: nothing there can succeed.
  bool AfterFailure(Level& level, std::uint32_t device);
  Position PositionOf(Level& level) const;
  bool LookFrom(Level& level);
  bool ordered() const { return policy_->order != nullptr || options_.preference != nullptr; }
  std::size_t FirstFrom(const Level& level, std::size_t start) const;
  std::uint32_t DeviceAt(const Level& level, std::size_t place) const;
  // A twin of one that has failed in the same place fails too.
  bool TwinFailed(std::span<const std::uint32_t> failed, std::uint32_t device) const;
  Level& Push();
  bool Step();
  void LookAhead();
  // True: known not to lead anywhere.
  bool DeadEnd(const Position& position);
  void Remember(const Position& position);
  bool TooFew() const;

  const Attempt* attempt_ = nullptr;
  SearchOptions options_;
  const PolicyRow* policy_ = nullptr;
  State state_;
  State initial_;  // nothing chosen
  Bounds bounds_;
  Residual residual_;
  Oracle oracle_;
  absl::flat_hash_set<Fingerprint> failed_;  // nogoods
  base::BitSet open_;                        // requests that are not begun
  std::vector<std::uint32_t> chosen_alternatives_;
  PlacedDevice faulty_;
  SearchResult stopped_ = SearchResult::kNone;
  WorkMeter work_;
  // Only `depth_` are in use; the others are kept for their memory.
  std::vector<std::unique_ptr<Level>> levels_;
  std::size_t depth_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t cut_ = 0;
  std::uint64_t remembered_hits_ = 0;
  // Requests that are independent of each other, once it looks ahead; and those searched for now,
  // null: all.
  std::vector<base::BitSet> parts_;
  const base::BitSet* part_ = nullptr;
  bool may_look_ahead_ = false;
  bool ahead_ = false;
  // After so many dead ends that another way to the answer is better: every place that is entered
  // is one that the oracle has completed.
  bool exact_ = false;
  bool lost_ = false;       // starts anew with the oracle
  bool completed_ = false;  // the oracle's last completion is of where the search is
  std::uint64_t dead_ends_ = 0;
};

}  // namespace dray::allocator
