// SPDX-License-Identifier: Apache-2.0
//
// The allocator's slow reference: plain enumeration in Kubernetes's order, every check written out
// on the API objects, nothing pruned and nothing undone. What is chosen so far is a list; whatever
// a check needs to know it computes from that list.
//
// Spec: docs/spec/allocator.md, with dray's own answers where docs/decisions.md has one. Shares no
// code with the rooms that it is held against.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/resource_claim.h"
#include "model/instance.h"

namespace dray::model {

struct Outcome {
  enum class Kind : std::uint8_t {
    kAllocated,
    kNotPossible,  // this node cannot serve the claims
    kError,
    kBudget,  // stopped before there was an answer
  };
  Kind kind = Kind::kNotPossible;
  bool node_only = false;  // an error that leaves other nodes open
  std::string error;
  std::vector<api::AllocationResult> results;  // one per claim, in their order
  std::uint64_t steps = 0;                     // as Kubernetes counts them
  std::uint64_t work = 0;                      // of the engine: allocator/work.h
};
std::string_view ToString(Outcome::Kind kind);

struct SolveOptions {
  std::uint64_t max_steps = 1'000'000;
};

Outcome Solve(const Instance& instance, const SolveOptions& options = {});

}  // namespace dray::model
