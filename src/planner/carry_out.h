// SPDX-License-Identifier: Apache-2.0
//
// Carrying out a list of moves on a cluster that lives: one eviction after the other, each awaited,
// and an end at the first surprise. Nothing is assumed of what others do meanwhile: after each move
// the planner is asked whether the rest of the list still leads to what was asked for.
//
// The scheduler decides where a pod goes that is made again. So that it does not go back, the nodes
// that shall have room are closed to new pods (cordoned) until the moves have been made.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "base/clock.h"
#include "base/status.h"
#include "planner/defrag.h"
#include "planner/plan.h"

namespace dray::planner {

// The cluster, as far as moves need it. Errors are those of api::Cluster; a write with an unknown
// outcome is looked after.
class MoveServer {
 public:
  virtual ~MoveServer() = default;
  // Everything that decisions depend on.
  virtual StatusOr<std::vector<api::Object>> Read() = 0;
  virtual StatusOr<std::vector<api::Object>> Pods(std::string_view namespace_) = 0;
  // Through the eviction API. ResourceExhausted: a budget lets nobody go now.
  virtual Status Evict(const PodName& pod, std::string_view uid) = 0;
  virtual Status Cordon(const std::string& node, bool closed) = 0;
  // A moment, until something may have changed.
  virtual void Wait() = 0;
};

struct CarryOutOptions {
  DefragGoal goal;
  PlanOptions plan;
  DefragOptions defrag;
  std::chrono::nanoseconds timeout = std::chrono::minutes(5);  // of each thing that is waited for
  bool cordon = true;
};

struct MadeMove {
  Move move;
  std::string replacement;  // the pod that was made in its stead
  std::string node;         // where it is
};

struct CarriedOut {
  bool done = false;
  std::vector<MadeMove> made;
  std::vector<std::string> closed;  // nodes that were closed here, and still are
  std::string surprise;             // not done: what was seen, in sentences
};

// `list` is what FindMoves found for the goal. `tell` is told what happens, a line each. On a surprise
// the nodes are open again as before; once nodes were to be freed and are, these stay closed.
CarriedOut CarryOut(const Defrag& list, MoveServer& server, const base::Clock& clock,
                    const CarryOutOptions& options,
                    const std::function<void(const std::string&)>& tell);

}  // namespace dray::planner
