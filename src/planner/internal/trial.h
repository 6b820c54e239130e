// SPDX-License-Identifier: Apache-2.0
//
// Trial: would a pod be scheduled if some objects were others? The scheduler itself answers, on a
// cluster in memory that is as it was again afterwards, so that many changes can be tried without
// loading everything anew.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "api/memory_cluster.h"
#include "planner/cures.h"
#include "planner/internal/sandbox.h"
#include "planner/plan.h"

namespace dray::planner::internal {

// One thread.
class Trial {
 public:
  // Pods that have no node are left out: each trial is about one pod. The options outlive it.
  Trial(const std::vector<api::Object>& objects, const PlanOptions& options)
      : sandbox_(objects, options) {}

  struct Answer {
    bool placed = false;
    std::string node;
    scheduler::PodExplanation why;  // unless it is placed
  };
  // Nobody is sent away for the pod. Objects of `changes` replace those of their kind and name.
  Answer Try(api::Object pod, const Changes& changes);
  std::size_t tries() const { return tries_; }

  // As it is without any change.
  const api::Object* Find(const api::KindInfo& kind, std::string_view namespace_,
                          std::string_view name) const {
    return sandbox_.Find(kind, namespace_, name);
  }
  std::vector<const api::Object*> List(const api::KindInfo& kind) const {
    return sandbox_.List(kind);
  }
  const api::MemoryCluster& cluster() { return sandbox_.cluster(); }

 private:
  Sandbox sandbox_;
  std::size_t tries_ = 0;
};

}  // namespace dray::planner::internal
