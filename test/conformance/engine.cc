// SPDX-License-Identifier: Apache-2.0
#include "conformance/engine.h"

#include <algorithm>

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

constexpr Engine kEngines[] = {
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
