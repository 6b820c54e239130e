// SPDX-License-Identifier: Apache-2.0
#include "controllers/reconciler.h"

#include "controllers/observer.h"

namespace dray::controllers {

Status Reconciler::ReconcileObserved(const ObjectKey& key) {
  const std::chrono::nanoseconds waited = queue_.waited();
  const std::chrono::nanoseconds began = clock_.Monotonic();
  Status status = Reconcile(key);
  observer_->OnReconciled(name(), status.ok(), waited, clock_.Monotonic() - began);
  return status;
}

std::size_t Reconciler::Sync() {
  const std::size_t before = view_.writes();
  for (;;) {
    const std::size_t news = view_.Pull();
    auto key = queue_.Pop();
    if (news == 0 && !key.has_value()) return view_.writes() - before;
    for (; key.has_value(); key = queue_.Pop()) {
      ++reconciled_;
      const Status done = observer_ == nullptr ? Reconcile(*key) : ReconcileObserved(*key);
      if (done.ok()) {
        queue_.Forget(*key);
      } else {
        queue_.Retry(*key);
      }
    }
  }
}

}  // namespace dray::controllers
