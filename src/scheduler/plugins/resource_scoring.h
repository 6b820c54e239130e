// SPDX-License-Identifier: Apache-2.0
//
// How full a node would be, as a score from 0 to 100.
//
// Spec: kube-scheduler's NodeResourcesFit scoring strategies and NodeResourcesBalancedAllocation.
// Integer arithmetic rounds as it does there, so that equal nodes stay equal.
#pragma once

#include <cstdint>
#include <span>

#include "scheduler/config.h"

namespace dray::scheduler {

// One resource on one node. Resources that the node does not have are left out of all scores.
struct ResourceLoad {
  std::int64_t weight = 1;
  std::int64_t allocatable = 0;  // 0: left out
  std::int64_t used = 0;         // without the pod
  std::int64_t wanted = 0;       // by the pod

  std::int64_t total() const { return used + wanted; }
};

// The emptier the better.
std::int64_t LeastAllocated(std::span<const ResourceLoad> loads);
// The fuller the better.
std::int64_t MostAllocated(std::span<const ResourceLoad> loads);
// A broken line from utilization to score; points are in order of utilization. Resources whose
// score is 0 do not count.
std::int64_t RequestedToCapacityRatio(std::span<const ResourceLoad> loads,
                                      std::span<const ShapePoint> shape);
// How much more alike the shares in use of all resources become by the pod: 75 when nothing
// changes, up to 100 when they become equal, down to 50 when they become as different as can be.
std::int64_t BalancedAllocation(std::span<const ResourceLoad> loads);

}  // namespace dray::scheduler
