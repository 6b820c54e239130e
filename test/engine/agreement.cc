// SPDX-License-Identifier: Apache-2.0
#include "engine/agreement.h"

#include <ctime>

#include "api/json.h"
#include "engine/engine.h"
#include "fmt/format.h"
#include "model/checker.h"

namespace dray::engine {

using model::Outcome;
using Kind = model::Outcome::Kind;

namespace {

void NormalizeShareIds(Outcome& outcome) {
  for (api::AllocationResult& result : outcome.results) {
    for (api::DeviceRequestAllocationResult& device : result.devices.results) {
      if (device.share_id.has_value()) device.share_id = "share";
    }
  }
}

std::string BrokenRule(const model::Instance& instance, const Outcome& outcome) {
  if (outcome.kind != Kind::kAllocated) return "";
  const auto complaints = model::CheckAllocation(instance, outcome.results);
  return complaints.empty() ? "" : complaints.front();
}

// In another order of preference there is something to find exactly when there is in the first.
// Two things depend on the order itself: which device an expression fails on, and, without lists,
// whose value a list is compared with.
bool OrderMatters(const model::Instance& instance, const Outcome& first, const Outcome& best) {
  return first.kind == Kind::kError || best.kind == Kind::kError ||
         !instance.features.list_type_attributes;
}

}  // namespace

std::string Describe(const Outcome& outcome) {
  std::string text(model::ToString(outcome.kind));
  if (outcome.node_only) text += " (this node)";
  if (outcome.kind == Kind::kError) text += ": " + outcome.error;
  for (const api::AllocationResult& result : outcome.results) {
    text += "\n  " + api::EncodeJson(result);
  }
  return text;
}

bool SameAnswer(Outcome a, Outcome b) {
  NormalizeShareIds(a);
  NormalizeShareIds(b);
  return a.kind == b.kind && a.node_only == b.node_only && a.results == b.results;
}

Agreement AskAll(const model::Instance& instance, const Limits& limits) {
  Agreement all;
  World world(instance);
  allocator::Allocator allocator;
  const std::clock_t began = std::clock();
  all.dray = Decide(world, allocator, {});
  all.seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  all.plain = Decide(world, allocator, {.work_budget = limits.plain_work, .look_ahead = false});
  all.best_fit = Decide(world, allocator, {.policy = allocator::Policy::kBestFit});
  all.model = model::Solve(instance, {.max_steps = limits.model_steps});
  const auto contradicts = [&](const char* who, const Outcome& other) {
    if (other.kind == Kind::kBudget || all.dray.kind == Kind::kBudget) return;
    if (SameAnswer(all.dray, other)) return;
    all.complaint += fmt::format("\n{}: {}\ndray: {}", who, Describe(other), Describe(all.dray));
  };
  contradicts("model", all.model);
  contradicts("plain search", all.plain);
  if (const std::string rule = BrokenRule(instance, all.dray); !rule.empty()) {
    all.complaint += "\ndray breaks a rule: " + rule;
  }
  if (const std::string rule = BrokenRule(instance, all.best_fit); !rule.empty()) {
    all.complaint += "\nbest fit breaks a rule: " + rule;
  }
  if (all.dray.kind != Kind::kBudget && all.best_fit.kind != Kind::kBudget &&
      all.dray.kind != all.best_fit.kind && !OrderMatters(instance, all.dray, all.best_fit)) {
    all.complaint +=
        fmt::format("\nbest fit: {}\nfirst fit: {}", Describe(all.best_fit), Describe(all.dray));
  }
  return all;
}

void Tally::Count(const Agreement& agreement) {
  ++instances;
  switch (agreement.dray.kind) {
    case Kind::kAllocated:
      ++allocated;
      break;
    case Kind::kNotPossible:
      ++refused;
      break;
    case Kind::kError:
      ++errors;
      break;
    case Kind::kBudget:
      ++gave_up;
      break;
  }
  const bool no_model = agreement.model.kind == Kind::kBudget;
  const bool no_plain = agreement.plain.kind == Kind::kBudget;
  model_gave_up += static_cast<std::uint64_t>(no_model);
  plain_gave_up += static_cast<std::uint64_t>(no_plain);
  neither += static_cast<std::uint64_t>(no_model && no_plain);
  wrong += static_cast<std::uint64_t>(!agreement.complaint.empty());
}

void Tally::Add(const Tally& other) {
  instances += other.instances;
  allocated += other.allocated;
  refused += other.refused;
  errors += other.errors;
  gave_up += other.gave_up;
  model_gave_up += other.model_gave_up;
  plain_gave_up += other.plain_gave_up;
  neither += other.neither;
  wrong += other.wrong;
}

std::string Tally::ToString() const {
  return fmt::format(
      "{} instances: {} allocated, {} refused, {} errors, {} given up; "
      "beyond the model {}, beyond the plain search {}, beyond both {}; {} contradictions",
      instances, allocated, refused, errors, gave_up, model_gave_up, plain_gave_up, neither, wrong);
}

}  // namespace dray::engine
