// SPDX-License-Identifier: Apache-2.0
//
// Plans and explanations of a cluster as somebody sees it: what `dray plan -o json` and `dray explain
// -o json` print, by the code that they are printed by, with the numbers by which the page knows
// devices and nodes.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "api/gates.h"
#include "api/kinds.h"
#include "console/desk.h"
#include "console/requests.h"
#include "planner/plan.h"

namespace dray::console {

// What manifests make of the objects that are there.
struct ManifestResult {
  std::vector<api::Object> objects;
  std::vector<ObjectName> put;  // what the manifests name, `kind` as in KindInfo
  std::vector<planner::Skipped> skipped;
};
// Reads manifests as the commands do and applies them; or says why that cannot be done. Objects that
// name no namespace are in `namespace_`.
using ManifestReader = std::function<std::variant<ManifestResult, Answer>(
    const std::string& manifests, std::vector<api::Object> objects, const std::string& namespace_,
    const planner::PlanOptions& options)>;

// `POST plan`.
Answer PlanScene(const PlanRequest& request, Scene scene, const api::FeatureGates& gates,
                 const ManifestReader& read);
// `POST explain`.
Answer ExplainScene(const ExplainRequest& request, Scene scene, const api::FeatureGates& gates);
// `GET scalable`: what sliders may move: workloads with a number, and nodes of which there may be
// more.
Answer ScalableIn(const Scene& scene);

}  // namespace dray::console
