// SPDX-License-Identifier: Apache-2.0
//
// The search for moves: as few as possible, then those of the least important pods.
//
// A pod that wants a place is tried on every node: as the node is, then with as few of its pods gone
// as will do (no set is tried that holds one that is enough). Who is gone wants a place in turn, and
// may send others away. So with k moves allowed every solution with k moves is met whose pods leave
// because somebody comes to their node; with k from 0 on, the first found is the shortest. What is
// found is then put in an order in which each move has room.
//
// Not met: that somebody moves only so that others can pass each other, that a pod moves twice or to
// other devices of its node, that a pod leaves one node for what another node may then do (pools that
// several nodes share, affinity between pods). Where such things may matter, nothing is called the
// shortest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/kinds.h"
#include "planner/plan.h"

namespace dray::planner::internal {

// A pod on a node that may be moved.
struct Resident {
  api::Object pod;
  std::string node;
  std::int32_t priority = 0;
  std::size_t devices = 0;
};

// A node on which there is nobody who may not be moved but daemons, and who there is.
struct Emptiable {
  std::string node;
  std::vector<std::size_t> residents;
};

struct MoveTask {
  std::vector<api::Object> wanted;  // without a node
  std::vector<Resident> residents;
  std::vector<std::string> nodes;
  std::vector<Emptiable> emptied;  // these
  std::vector<Emptiable> any_of;   // and so many of these
  std::size_t any_count = 0;
  std::size_t max_moves = 0;
  std::size_t budget = 0;
  bool apart = true;  // what happens on one node changes nothing on others
};

struct MoveList {
  struct Step {
    std::size_t resident = 0;
    std::string to;
    std::vector<ClaimUse> claims;  // its devices there
  };
  struct Place {
    std::string node;
    std::vector<ClaimUse> claims;
  };
  std::vector<Step> steps;    // in an order in which each has room
  std::vector<Place> places;  // of those that wanted one
  std::vector<std::string> free_nodes;
};

struct MovesFound {
  std::optional<MoveList> list;
  bool shortest = false;
  bool cheapest = false;
  bool gave_up = false;
  bool rejected = false;  // some list had to be dropped: for its order, or by `accept`
  std::vector<std::size_t>
      hopeless;  // who wants a place and has none with everybody gone who may go
  std::size_t attempts = 0;
};

// `accept` has the last word on a list. The objects hold no pod without a node that matters.
MovesFound SearchMoves(const std::vector<api::Object>& objects, const PlanOptions& options,
                       const MoveTask& task, const std::function<bool(const MoveList&)>& accept);

}  // namespace dray::planner::internal
