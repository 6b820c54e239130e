// SPDX-License-Identifier: Apache-2.0
//
// Background: where a scheduler's writes are waited for, so that it can go on meanwhile. A cluster
// at the other end of a connection takes its time; in process there is nothing to wait for.
#pragma once

#include <functional>

namespace dray::scheduler {

class Background {
 public:
  virtual ~Background() = default;
  // Runs `work` once, soon, after this call has returned. Never at the same time as the scheduler
  // or as other work: others only have their turn while a call to the cluster is waited for.
  // Called again afterwards, the scheduler has something to conclude (Tick, ScheduleOne).
  virtual void Run(std::function<void()> work) = 0;
};

}  // namespace dray::scheduler
