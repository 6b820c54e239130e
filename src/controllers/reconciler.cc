// SPDX-License-Identifier: Apache-2.0
#include "controllers/reconciler.h"

#include <algorithm>

#include "controllers/observer.h"

namespace dray::controllers {
namespace {

// More than any chain of changes that follow from each other takes. One that never ends must not
// keep all others, or the end of the process, waiting; NextDue says that there is more.
constexpr int kMaxRounds = 64;
// While nothing may be decided: how often to look whether it may again.
constexpr std::chrono::seconds kLookAgain{1};

}  // namespace

void Reconciler::Bring(const ObjectKey& key, std::chrono::nanoseconds waited) {
  ++reconciled_;
  const std::chrono::nanoseconds began =
      observer_ == nullptr ? std::chrono::nanoseconds(0) : clock_.Monotonic();
  const Status done = Reconcile(key);
  if (observer_ != nullptr) {
    observer_->OnReconciled(name(), done.ok(), waited, clock_.Monotonic() - began);
  }
  if (done.ok()) {
    queue_.Forget(key);
  } else {
    queue_.Retry(key);
  }
}

void Reconciler::Overlap(const Launch& launch, std::size_t most) {
  if (!MayOverlap()) return;
  launch_ = launch;
  most_under_way_ = most;
}

// How many works were begun. Of one object there is never more than one.
std::size_t Reconciler::Begin() {
  view_.Pull();
  std::size_t begun = 0;
  while (under_way_.size() < most_under_way_ && view_.Followed()) {
    const auto key = queue_.Ready() > 0 ? queue_.Pop() : std::nullopt;
    if (!key.has_value()) break;
    if (!under_way_.insert(*key).second) {
      again_.insert(*key);
      continue;
    }
    ++begun;
    launch_([this, key = *key, waited = queue_.waited()] {
      // What was known when it was begun need not be so any more.
      if (view_.Followed()) {
        Bring(key, waited);
      } else {
        again_.insert(key);
      }
      under_way_.erase(key);
      if (again_.erase(key) > 0) queue_.Add(key);
    });
  }
  return begun;
}

std::optional<std::chrono::nanoseconds> Reconciler::NextDue() const {
  // The end of a work is waited for, which whoever launches them makes known.
  if (launch_ != nullptr && under_way_.size() >= most_under_way_) return std::nullopt;
  const auto due = queue_.NextDue();
  if (!due.has_value() || view_.Followed()) return due;
  return std::max(*due, clock_.Monotonic() + kLookAgain);
}

std::size_t Reconciler::Sync() {
  if (launch_ != nullptr) return Begin();
  const std::size_t before = view_.writes();
  const auto wrote_much = [&] { return view_.writes() - before >= most_writes_; };
  for (int round = 0; round < kMaxRounds && !wrote_much(); ++round) {
    const std::size_t news = view_.Pull();
    if (!view_.Followed()) break;
    const std::size_t ready = queue_.Ready();
    if (news == 0 && ready == 0) break;
    // What is added meanwhile is for the next round.
    for (std::size_t i = 0; i < ready && !wrote_much(); ++i) {
      const auto key = queue_.Pop();
      if (!key.has_value()) break;
      Bring(*key, queue_.waited());
    }
  }
  return view_.writes() - before;
}

}  // namespace dray::controllers
