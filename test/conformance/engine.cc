// SPDX-License-Identifier: Apache-2.0
#include "conformance/engine.h"

#include <algorithm>

#include "allocator/capacity.h"
#include "engine/engine.h"
#include "ledger/node_usage.h"
#include "model/groups.h"

namespace dray::conformance {
namespace {

// The recorded cases need less than a hundred steps; of the hard ones the smaller fit in here.
model::Outcome AllocateByModel(const model::Instance& instance) {
  return model::Solve(instance, {.max_steps = 40'000});
}

bool AdmitsByModel(const std::vector<std::vector<std::string>>& placed,
                   const std::vector<std::string>& candidate) {
  model::CommonGroups common;
  for (const auto& groups : placed) common.Add(groups);
  return common.Admits(candidate);
}

model::Outcome AllocateByDray(const model::Instance& instance) { return engine::Solve(instance); }

// As the allocator puts the parts together (allocator/verdicts.cc), which tells only whether the
// device can serve the request.
model::FitResult FitsByDray(const api::CapacityRequirements* request, std::string_view driver,
                            const api::Map<api::DeviceCapacity>& capacity,
                            const model::Amounts& already, bool fractional) {
  model::FitResult result;
  const auto requested = model::RequestedAmounts(request, driver, capacity);
  if (!requested) return {.fit = model::Fit::kDoesNotFit, .consumed = {}};
  for (const auto& [name, entry] : capacity) {
    const auto asked = requested->find(std::string(name));
    const auto amount = allocator::ConsumedAmount(
        asked == requested->end() ? nullptr : &asked->second, entry, fractional);
    if (!amount || amount->Sign() < 0)
      return {.fit = model::Fit::kNotRepresentable, .consumed = {}};
    result.consumed[std::string(name)] = *amount;
  }
  for (const auto& [name, entry] : capacity) {
    base::Quantity sum = result.consumed[std::string(name)];
    if (allocator::ViolatesPolicy(sum, entry.request_policy.get(), fractional)) {
      result.fit = model::Fit::kDoesNotFit;
    }
    if (const auto it = already.find(std::string(name)); it != already.end()) sum += it->second;
    if (sum > entry.value) result.fit = model::Fit::kDoesNotFit;
  }
  return result;
}

bool AdmitsByDray(const std::vector<std::vector<std::string>>& placed,
                  const std::vector<std::string>& candidate) {
  inventory::Dictionary dictionary;
  ledger::GroupState state;
  for (const auto& groups : placed) state.Place(dictionary.At(dictionary.InternGroups(groups)));
  return state.Admits(dictionary.At(dictionary.InternGroups(candidate)));
}

constexpr Engine kEngines[] = {
    {.name = "dray",
     .may_give_up = false,
     .allocate = AllocateByDray,
     .consumed = allocator::ConsumedAmount,
     .violates = allocator::ViolatesPolicy,
     .fits = FitsByDray,
     .counts_in_milli = allocator::CountsInMilli,
     .admits = AdmitsByDray},
    {.name = "model",
     .may_give_up = true,
     .allocate = AllocateByModel,
     .consumed = model::ConsumedOf,
     .violates = model::ViolatesPolicy,
     .fits = model::Fits,
     .counts_in_milli = model::CountsInMilli,
     .admits = AdmitsByModel},
};

}  // namespace

std::span<const Engine> Engines() { return kEngines; }

const Engine* FindEngine(std::string_view name) {
  const auto it = std::ranges::find(kEngines, name, &Engine::name);
  return it == std::end(kEngines) ? nullptr : it;
}

std::string KnownEngines() {
  std::string text;
  for (const Engine& engine : kEngines) {
    if (!text.empty()) text += ", ";
    text += engine.name;
  }
  return text;
}

Chosen& EngineChoice() {
  static Chosen chosen;
  return chosen;
}

}  // namespace dray::conformance
