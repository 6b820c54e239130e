// SPDX-License-Identifier: Apache-2.0
//
// What the console's plans and explanations have in common: outcomes are those that `-o json` of the
// commands prints, with the numbers by which the page knows devices and nodes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "api/document.h"
#include "api/gates.h"
#include "base/status.h"
#include "console/desk.h"
#include "planner/cures.h"
#include "planner/plan.h"

namespace dray::cli::internal {

// Bounds on what a browser may ask for.
inline constexpr std::size_t kMostMadePods = 20'000;
inline constexpr std::size_t kMostExplained = 32;  // outcomes whose cures are looked for

console::Answer OfStatus(const Status& status);
planner::PlanOptions OptionsFor(const console::Scene& scene, const api::FeatureGates& gates);
// "namespace/name"
std::string KeyOf(std::string_view namespace_, std::string_view name);

// Outcomes of one plan. Everything outlives it.
class OutcomeWriter {
 public:
  // Without `finder` nothing is explained beyond the answer.
  OutcomeWriter(const console::Scene& scene, const planner::Plan& plan, planner::CureFinder* finder)
      : scene_(scene), plan_(plan), finder_(finder) {}

  api::DocumentNode Write(const planner::PodOutcome& pod) { return Made(pod); }
  api::DocumentNode Write(const planner::ClaimOutcome& claim) { return Made(claim); }

 private:
  template <typename Outcome>
  api::DocumentNode Made(const Outcome& outcome);

  const console::Scene& scene_;
  const planner::Plan& plan_;
  planner::CureFinder* finder_;
  std::size_t explained_ = 0;
};

}  // namespace dray::cli::internal
