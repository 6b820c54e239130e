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
// Spec: kubernetes-allocator.md chapter 4.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "allocator/attempt.h"
#include "allocator/bounds.h"
#include "allocator/residual.h"
#include "allocator/state.h"

namespace dray::allocator {

enum class Policy : std::uint8_t {
  kFirstFit,  // what Kubernetes would choose
  kBestFit,   // tight places first, so that large ones stay whole
};

struct SearchOptions {
  Policy policy = Policy::kFirstFit;
  // Entries into the search; running out is reported as such. Real cases need some hundred.
  std::uint64_t step_budget = 1'000'000;
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

  std::uint64_t steps() const { return steps_; }
  // Whether it looked ahead, how often that ended a branch, and how often memory did.
  bool looked_ahead() const { return ahead_; }
  std::uint64_t cut() const { return cut_; }
  std::uint64_t remembered() const { return remembered_hits_; }

 private:
  // kTooMany: the claim would get more devices than it can have; no other device helps, only
  // another alternative.
  enum class Answer : std::uint8_t { kFound, kFailed, kTooMany, kStopped };
  struct Frame;

  SearchResult InParts();
  SearchResult ResultOf(Answer answer) const;
  bool Wanted(const ClaimPlan& claim) const;  // some request of it is in the part
  Answer Claim(std::size_t claim);
  Answer Request(std::size_t claim, std::size_t request);
  Answer Device(Frame& frame, std::int64_t k, std::size_t start);
  Answer AllDevices(Frame& frame);
  Answer Try(Frame& frame, std::uint32_t device, std::int64_t k, std::size_t next);
  std::size_t FirstFrom(const Frame& frame, std::size_t start) const;
  // A twin of one that has failed in the same place fails too.
  bool TwinFailed(std::span<const std::uint32_t> failed, std::uint32_t device) const;
  bool Step();
  void LookAhead();
  // True: known not to lead anywhere.
  bool DeadEnd(const Position& position);
  void Remember(const Position& position);
  bool TooFew() const;
  void Order(Frame& frame) const;

  const Attempt* attempt_ = nullptr;
  SearchOptions options_;
  State state_;
  State initial_;  // nothing chosen
  Bounds bounds_;
  Residual residual_;
  absl::flat_hash_set<Fingerprint> failed_;
  std::vector<std::uint32_t> chosen_alternatives_;
  PlacedDevice faulty_;
  SearchResult stopped_ = SearchResult::kNone;
  std::uint64_t steps_ = 0;
  std::uint64_t cut_ = 0;
  std::uint64_t remembered_hits_ = 0;
  // Requests that are independent of each other, once it looks ahead; and those searched for now,
  // null: all.
  std::vector<base::BitSet> parts_;
  const base::BitSet* part_ = nullptr;
  bool may_look_ahead_ = false;
  bool ahead_ = false;
};

}  // namespace dray::allocator
