// SPDX-License-Identifier: Apache-2.0
//
// Plans and explanations of a live cluster for the console, with the code of `dray plan` and `dray
// explain`.
#pragma once

#include "api/gates.h"
#include "console/desk.h"

namespace dray::cli::internal {

console::Answer PlanScene(const console::PlanRequest& request, console::Scene scene,
                          const api::FeatureGates& gates);
console::Answer ExplainScene(const console::ExplainRequest& request, console::Scene scene,
                             const api::FeatureGates& gates);
// What sliders may move: workloads with a number, and nodes of which there may be more.
console::Answer ScalableIn(const console::Scene& scene);

}  // namespace dray::cli::internal
