// SPDX-License-Identifier: Apache-2.0
#include "controllers/reconciler.h"

namespace dray::controllers {

std::size_t Reconciler::Sync() {
  const std::size_t before = view_.writes();
  for (;;) {
    const std::size_t news = view_.Pull();
    auto key = queue_.Pop();
    if (news == 0 && !key.has_value()) return view_.writes() - before;
    for (; key.has_value(); key = queue_.Pop()) {
      ++reconciled_;
      if (Reconcile(*key).ok()) {
        queue_.Forget(*key);
      } else {
        queue_.Retry(*key);
      }
    }
  }
}

}  // namespace dray::controllers
