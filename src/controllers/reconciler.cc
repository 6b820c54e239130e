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

Status Reconciler::ReconcileObserved(const ObjectKey& key) {
  const std::chrono::nanoseconds waited = queue_.waited();
  const std::chrono::nanoseconds began = clock_.Monotonic();
  Status status = Reconcile(key);
  observer_->OnReconciled(name(), status.ok(), waited, clock_.Monotonic() - began);
  return status;
}

std::optional<std::chrono::nanoseconds> Reconciler::NextDue() const {
  const auto due = queue_.NextDue();
  if (!due.has_value() || view_.Followed()) return due;
  return std::max(*due, clock_.Monotonic() + kLookAgain);
}

std::size_t Reconciler::Sync() {
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
      ++reconciled_;
      const Status done = observer_ == nullptr ? Reconcile(*key) : ReconcileObserved(*key);
      if (done.ok()) {
        queue_.Forget(*key);
      } else {
        queue_.Retry(*key);
      }
    }
  }
  return view_.writes() - before;
}

}  // namespace dray::controllers
