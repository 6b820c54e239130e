// SPDX-License-Identifier: Apache-2.0
//
// Who answers the cases on allocation: one row per engine, the first is the default.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource_slice.h"
#include "base/quantity.h"
#include "model/capacity.h"
#include "model/instance.h"
#include "model/model.h"

namespace dray::conformance {

struct Engine {
  std::string_view name;
  // A limit on steps is an answer only from an engine that says so.
  bool may_give_up = false;

  model::Outcome (*allocate)(const model::Instance& instance);
  // The arithmetic of one capacity, see model/capacity.h.
  std::optional<base::Quantity> (*consumed)(const base::Quantity* request,
                                            const api::DeviceCapacity& capacity, bool fractional);
  bool (*violates)(const base::Quantity& amount, const api::CapacityRequestPolicy* policy,
                   bool fractional);
  model::FitResult (*fits)(const api::CapacityRequirements* request, std::string_view driver,
                           const api::Map<api::DeviceCapacity>& capacity,
                           const model::Amounts& already, bool fractional);
  bool (*counts_in_milli)(const api::CapacityRequestPolicyRange& range, bool fractional);
  // Whether a device with these groups may join those that were placed.
  bool (*admits)(const std::vector<std::vector<std::string>>& placed,
                 const std::vector<std::string>& candidate);
};

std::span<const Engine> Engines();
const Engine* FindEngine(std::string_view name);
std::string KnownEngines();

// What the command line asked for; set before any case is loaded.
struct Chosen {
  std::string name = std::string(Engines().front().name);
  std::string record_folder;  // empty: nothing is recorded
};
Chosen& EngineChoice();

}  // namespace dray::conformance
