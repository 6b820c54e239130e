// SPDX-License-Identifier: Apache-2.0
//
// What plans and explanations have in common.
#pragma once

#include <chrono>
#include <cstddef>

#include "api/document.h"
#include "api/gates.h"
#include "base/status.h"
#include "console/desk.h"
#include "planner/plan.h"

namespace dray::console::internal {

// Bounds on what a browser may ask for.
inline constexpr std::size_t kMostMadePods = 20'000;
inline constexpr std::size_t kMostExplained = 32;  // outcomes whose cures are looked for

// Why there is no plan.
Answer OfStatus(const Status& status);
planner::PlanOptions OptionsFor(const Scene& scene, const api::FeatureGates& gates);

// The planner's document as an answer: with the revision, what is not known of the cluster, the
// numbers of its outcomes' devices and groups of nodes, and how long it took.
Answer OfDocument(api::DocumentNode document, const Scene& scene, const planner::Plan& plan,
                  std::chrono::steady_clock::time_point begun);

}  // namespace dray::console::internal
