// SPDX-License-Identifier: Apache-2.0
//
// Which pods may be moved, by the rules of `kubectl drain` and the cluster autoscaler, and which
// rule keeps each of the others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "planner/defrag.h"

namespace dray::planner::internal {

// Priorities of the system begin above it.
inline constexpr std::int32_t kHighestUserPriority = 1'999'999'999;

// Whose pods every node has, and who is not in the way of an empty one.
bool IsDaemon(const api::Pod& pod);

class MoveRules {
 public:
  // `limit`: pods with a higher priority stay; `because` says what it comes from: "above that of pod
  // a (0)". Objects and options outlive it.
  MoveRules(const std::vector<api::Object>& objects, const DefragOptions& options,
            std::int32_t limit, std::string because);
  ~MoveRules();
  MoveRules(const MoveRules&) = delete;
  MoveRules& operator=(const MoveRules&) = delete;

  // Of a pod on a node. Nothing: it may be moved.
  std::optional<KeptPod> KeptOf(const api::Pod& pod) const;

 private:
  struct Budget;
  std::optional<std::string> KeptByBudget(const api::Pod& pod) const;
  std::optional<std::string> SharedClaimOf(const api::Pod& pod) const;
  std::optional<std::string> LocalStorageOf(const api::Pod& pod) const;

  const DefragOptions& options_;
  const std::int32_t limit_;
  const std::string because_;
  std::vector<Budget> budgets_;
  std::map<std::string, const api::ResourceClaim*, std::less<>> claims_;  // "namespace/name"
};

}  // namespace dray::planner::internal
