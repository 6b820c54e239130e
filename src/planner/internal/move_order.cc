// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/move_order.h"

#include <utility>

#include "api/pod.h"
#include "controllers/object_key.h"
#include "planner/internal/moving.h"
#include "planner/internal/outcomes.h"

namespace dray::planner::internal {
namespace {

// Of one list: all orders of five moves, and some of more.
constexpr std::size_t kMaxAttempts = 2000;

}  // namespace

std::optional<MoveList> MoveOrder::Find(const std::vector<Want>& moves,
                                        const std::vector<std::string>& places) {
  done_.assign(moves.size(), false);
  order_.clear();
  list_.reset();
  limit_ = attempts_ + kMaxAttempts;
  const std::size_t mark = sandbox_.Mark();
  Step(moves, places);
  sandbox_.UndoTo(mark);
  return std::move(list_);
}

bool MoveOrder::Step(const std::vector<Want>& moves, const std::vector<std::string>& places) {
  if (order_.size() == moves.size()) {
    if (!Arrive(places)) return false;
    for (const std::size_t i : order_) {
      const api::Object& pod = task_.residents[moves[i].resident].pod;
      list_->steps.push_back(
          {.resident = moves[i].resident, .to = moves[i].to, .claims = DevicesOf(pod)});
    }
    return true;
  }
  for (std::size_t i = 0; i < moves.size() && attempts_ < limit_; ++i) {
    if (done_[i]) continue;
    const api::Object& pod = task_.residents[moves[i].resident].pod;
    const std::size_t mark = sandbox_.Mark();
    TakeOff(sandbox_, pod);
    ++attempts_;
    if (PlaceOn(sandbox_, Unplaced(pod), moves[i].to)) {
      done_[i] = true;
      order_.push_back(i);
      if (Step(moves, places)) return true;
      order_.pop_back();
      done_[i] = false;
    }
    sandbox_.UndoTo(mark);
  }
  return false;
}

bool MoveOrder::Arrive(const std::vector<std::string>& places) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    ++attempts_;
    if (!PlaceOn(sandbox_, task_.wanted[i], places[i])) return false;
  }
  list_.emplace();
  for (std::size_t i = 0; i < places.size(); ++i) {
    list_->places.push_back({.node = places[i], .claims = DevicesOf(task_.wanted[i])});
  }
  return true;
}

std::vector<ClaimUse> MoveOrder::DevicesOf(const api::Object& pod) {
  const auto now = sandbox_.cluster().Stored(controllers::KindOf<api::Pod>(),
                                             pod.metadata().namespace_, pod.metadata().name);
  return now ? ClaimsOf(*now->As<api::Pod>(), sandbox_.cluster()) : std::vector<ClaimUse>();
}

}  // namespace dray::planner::internal
