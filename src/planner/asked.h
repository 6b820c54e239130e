// SPDX-License-Identifier: Apache-2.0
//
// Asked: the outcomes of a plan that somebody asks about: all that are pending, or what has become of
// one pod, claim or workload.
#pragma once

#include <string_view>
#include <vector>

#include "planner/plan.h"

namespace dray::planner {

// In the plan's order; the plan outlives it.
struct Asked {
  std::vector<const PodOutcome*> pods;
  std::vector<const ClaimOutcome*> claims;
  std::vector<const MissingPods*> missing;

  bool empty() const { return pods.empty() && claims.empty() && missing.empty(); }
};

struct PendingOptions {
  std::string_view namespace_ = {};  // empty: all of them
  // Pods too that controllers would only make.
  bool made = true;
};
Asked PendingIn(const Plan& plan, const PendingOptions& options = {});
// The pod or claim of that name, the pods that use the claim, or the pods of the workload. `kind` as
// in KindInfo: "Pod", "Deployment". In a namespace; empty: in all of them.
Asked About(const Plan& plan, std::string_view kind, std::string_view name,
            std::string_view namespace_);

}  // namespace dray::planner
