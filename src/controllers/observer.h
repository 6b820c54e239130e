// SPDX-License-Identifier: Apache-2.0
//
// Observer: is told what controllers do, and how long it takes. Controllers do not know who
// listens, and do the same whether anybody does.
#pragma once

#include <chrono>
#include <string_view>

namespace dray::controllers {

// Called on the controllers' thread, in the middle of their work: quick, and calls nothing of
// theirs.
class Observer {
 public:
  virtual ~Observer() = default;

  // One object was looked at: how long it was in the queue, and what it took.
  virtual void OnReconciled(std::string_view controller, bool ok, std::chrono::nanoseconds waited,
                            std::chrono::nanoseconds took) = 0;
  // A pod was deleted because of a tainted device, so long after its time was up.
  virtual void OnTaintEviction(std::chrono::nanoseconds late) = 0;
};

}  // namespace dray::controllers
