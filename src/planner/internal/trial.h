// SPDX-License-Identifier: Apache-2.0
//
// Trial: would a pod be scheduled if some objects were others? The scheduler itself answers, on a
// cluster in memory that is as it was again afterwards, so that many changes can be tried without
// loading everything anew.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/container/btree_map.h"
#include "api/kinds.h"
#include "api/memory_cluster.h"
#include "planner/cures.h"
#include "planner/internal/rehearsal.h"
#include "planner/internal/write_guard.h"
#include "planner/plan.h"

namespace dray::planner::internal {

// One thread.
class Trial {
 public:
  // Pods that have no node are left out: each trial is about one pod. The options outlive it.
  Trial(const std::vector<api::Object>& objects, const PlanOptions& options);

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
                          std::string_view name) const;
  std::vector<const api::Object*> List(const api::KindInfo& kind) const;
  const api::MemoryCluster& cluster() { return rehearsal_.cluster(); }

 private:
  using Key = std::tuple<const api::TypeInfo*, std::string, std::string>;
  static Key KeyOf(const api::Object& object);

  void Remove(const api::KindInfo& kind, const std::string& namespace_, const std::string& name);
  void Put(api::Object object);
  // Everything that has changed since the last time.
  void Restore();

  WriteGuard guard_;
  Rehearsal rehearsal_;
  absl::btree_map<Key, api::Object> stored_;
  std::unique_ptr<api::ObjectWatch> watch_;
  std::size_t tries_ = 0;
};

}  // namespace dray::planner::internal
