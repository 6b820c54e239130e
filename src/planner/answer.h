// SPDX-License-Identifier: Apache-2.0
//
// Answers: why something is pending, in one sentence; and causes, by which many pending pods become
// a few groups. Both are read from explanations, and nothing is decided here.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "planner/plan.h"
#include "scheduler/explanation.h"

namespace dray::planner {

struct Answer {
  // "request gpu needs 16 devices of class gpu on one node, and no node has more than 4 (node n1)"
  std::string sentence;
  // What the cause is, for programs: "count_exceeds_node/gpu". Pods with the same one wait for the
  // same thing; amounts and nodes may differ.
  std::string cause;
  // The cause without what is this pod's own: "more devices of class gpu are needed on one node than
  // any node has".
  std::string cause_sentence;
};
Answer AnswerFor(const scheduler::PodExplanation& why);
// The same of pods that a server would not let be created.
Answer AnswerFor(const MissingPods& missing);

// What is pending for one cause.
struct Cause {
  std::string key;
  std::string sentence;
  std::vector<const PodOutcome*> pods;  // who has been there longest first
  std::vector<const ClaimOutcome*> claims;
  std::vector<const MissingPods*> missing;
  std::optional<base::Time> oldest;  // since when the first of the pods has been there

  std::size_t size() const { return pods.size() + claims.size() + missing.size(); }
};
// Most first, then as they come. What is not pending is left out.
std::vector<Cause> CausesOf(const std::vector<const PodOutcome*>& pods,
                            const std::vector<const ClaimOutcome*>& claims,
                            const std::vector<const MissingPods*>& missing);

}  // namespace dray::planner
