// SPDX-License-Identifier: Apache-2.0
//
// An order for moves in which each pod has room where it goes when it is its turn.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/kinds.h"
#include "planner/internal/move_search.h"
#include "planner/internal/sandbox.h"
#include "planner/plan.h"

namespace dray::planner::internal {

// One thread. Objects and task outlive it.
class MoveOrder {
 public:
  MoveOrder(const std::vector<api::Object>& objects, const PlanOptions& options,
            const MoveTask& task)
      : task_(task), sandbox_(objects, options) {}

  struct Want {
    std::size_t resident = 0;
    std::string to;
  };
  // Nothing: there is no such order, or those who want a place have none on `places` in the end. The
  // order that is given is tried first.
  std::optional<MoveList> Find(const std::vector<Want>& moves,
                               const std::vector<std::string>& places);
  std::size_t attempts() const { return attempts_; }

 private:
  bool Step(const std::vector<Want>& moves, const std::vector<std::string>& places);
  bool Arrive(const std::vector<std::string>& places);
  std::vector<ClaimUse> DevicesOf(const api::Object& pod);

  const MoveTask& task_;
  Sandbox sandbox_;
  std::vector<bool> done_;
  std::vector<std::size_t> order_;
  std::optional<MoveList> list_;
  std::size_t attempts_ = 0;
  std::size_t limit_ = 0;
};

}  // namespace dray::planner::internal
