// SPDX-License-Identifier: Apache-2.0
//
// Sandbox: a cluster in memory with its scheduler, in which everything that is done can be undone,
// step by step, so that many changes can be tried without loading the objects anew.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "api/kinds.h"
#include "api/memory_cluster.h"
#include "planner/internal/rehearsal.h"
#include "planner/internal/write_guard.h"
#include "planner/plan.h"

namespace dray::planner::internal {

// Has no node and has not ended.
bool IsPending(const api::Object& object);

// One thread.
class Sandbox {
 public:
  // Pods that have no node are left out: whoever tries one puts it in. The options outlive it.
  Sandbox(const std::vector<api::Object>& objects, const PlanOptions& options);

  // In place of what has its kind and name.
  void Put(api::Object object);
  // Finalizers keep nothing here.
  void Remove(const api::KindInfo& kind, const std::string& namespace_, const std::string& name);
  // Every pod that has no node is tried.
  void TryOnce() { rehearsal_.TryOnce(); }

  // What has been done since can be undone. Marks are undone in reverse order.
  std::size_t Mark();
  void UndoTo(std::size_t mark);

  // As it was at the last Mark or UndoTo.
  const api::Object* Find(const api::KindInfo& kind, std::string_view namespace_,
                          std::string_view name) const;
  std::vector<const api::Object*> List(const api::KindInfo& kind) const;

  // As it is now.
  const api::MemoryCluster& cluster() { return rehearsal_.cluster(); }
  const Rehearsal& rehearsal() const { return rehearsal_; }

 private:
  using Key = std::tuple<const api::TypeInfo*, std::string, std::string>;
  static Key KeyOf(const api::Object& object);

  // Takes in what has happened.
  void Absorb();

  WriteGuard guard_;
  Rehearsal rehearsal_;
  absl::btree_map<Key, api::Object> stored_;
  std::vector<std::pair<Key, std::optional<api::Object>>> log_;  // what was there before
  std::unique_ptr<api::ObjectWatch> watch_;
};

}  // namespace dray::planner::internal
