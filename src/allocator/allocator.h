// SPDX-License-Identifier: Apache-2.0
//
// The allocator: devices for claims on one node, or why not.
//
//   Expressions expressions(dictionary);              // shared by everybody
//   const auto plan = MakePlan(claims, classes, features, expressions);
//   Allocator allocator;                              // one per thread
//   const Decision decision = allocator.Decide(*plan, usage, {});
//   if (decision.kind == Decision::Kind::kFits) results = allocator.Build(share_ids);
//   else if (decision.kind == Decision::Kind::kRefused) why = Explain(*plan, usage);  // explain.h
//
// Pure: the answer depends on the arguments alone. What an Allocator keeps between calls saves time
// and changes nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "allocator/attempt.h"
#include "allocator/plan.h"
#include "allocator/search.h"
#include "api/resource_claim.h"
#include "ledger/node_usage.h"

namespace dray::allocator {

// Makes the ids of shares. Injected, so that the same input gives the same output.
class ShareIds {
 public:
  virtual std::string Next() = 0;

 protected:
  ~ShareIds() = default;
};

struct Decision {
  enum class Kind : std::uint8_t {
    kFits,
    kRefused,  // this node cannot satisfy the claims; another one may
    kFault,    // see `fault`
    kBudget,   // the search was given up; nothing is known
  };
  Kind kind = Kind::kRefused;
  Fault fault;
  bool searched = false;  // otherwise the fault was there before
  std::uint64_t steps = 0;
  std::uint64_t work = 0;  // work.h
};

// One thread; any number of allocators may work on the same plans, devices and snapshots. Keeps
// verdicts by the numbers of one dictionary: all plans and devices that it is given must be of it.
class Allocator {
 public:
  Decision Decide(const Plan& plan, const ledger::NodeUsage& usage, const SearchOptions& options) {
    return Decide(plan, usage, options, cache_);
  }
  // With verdicts that somebody else keeps, and lets nobody else use until this allocator decides
  // about something else.
  // `scopes`, by claim, outlive what is asked of the decision.
  Decision Decide(const Plan& plan, const ledger::NodeUsage& usage, const SearchOptions& options,
                  VerdictCache& verdicts, std::span<const ClaimScope> scopes = {});

  // Makes ready what a decision that is known was made from, without searching again; for
  // explanations. A fault that was there before the search is one again.
  Decision Repeat(const Plan& plan, const ledger::NodeUsage& usage, Decision::Kind decided) {
    return Repeat(plan, usage, decided, cache_);
  }
  Decision Repeat(const Plan& plan, const ledger::NodeUsage& usage, Decision::Kind decided,
                  VerdictCache& verdicts);

  // The results of the last decision, which must have been kFits, one per claim in their order.
  // An error, the claims' own, when a node selector of a chosen device cannot be put into one.
  StatusOr<std::vector<api::AllocationResult>> Build(ShareIds& share_ids) const;

  const Search& search() const { return search_; }
  const Attempt& attempt() const { return attempt_; }
  VerdictCache& verdicts() { return cache_; }

 private:
  VerdictCache cache_;
  Attempt attempt_;
  Search search_;
};

}  // namespace dray::allocator
