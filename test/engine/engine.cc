// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "fmt/format.h"

namespace dray::engine {

using model::Outcome;

inventory::Features FeaturesOf(const model::Features& features) {
  return {.admin_access = features.admin_access,
          .compatibility_groups = features.compatibility_groups,
          .consumable_capacity = features.consumable_capacity,
          .derived_attributes = features.derived_attributes,
          .device_binding_and_status = features.device_binding_and_status,
          .device_taints = features.device_taints,
          .fractional_capacity_range = features.fractional_capacity_range,
          .list_type_attributes = features.list_type_attributes,
          .optional_node_operations = features.optional_node_operations,
          .partitionable_devices = features.partitionable_devices,
          .prioritized_list = features.prioritized_list};
}

World::World(const model::Instance& instance) : instance_(instance) {
  for (const api::DeviceClass& device_class : instance.classes) {
    classes_.push_back(std::make_shared<api::DeviceClass>(device_class));
  }
  // Recorded cases give one name to several slices, which no API server would. '!' sorts before
  // everything that a name can go on with.
  absl::flat_hash_map<std::string, int> seen;
  for (api::ResourceSlice slice : instance.slices) {
    if (const int n = seen[slice.metadata.name]++; n > 0) {
      slice.metadata.name += fmt::format("!{:04}", n);
    }
    inventory_.Put(slice);
  }
  for (const api::DeviceTaintRule& rule : instance.taint_rules) inventory_.PutTaintRule(rule);
  int unnamed = 0;
  for (api::ResourceClaim claim : instance.allocated_claims) {
    if (claim.metadata.uid.empty()) claim.metadata.uid = fmt::format("unnamed-{}", ++unnamed);
    ledger_.Put(claim);
  }
  auto devices =
      inventory::Gather(inventory_.snapshot(), instance.node, FeaturesOf(instance.features));
  if (!devices.ok()) {
    status_ = devices.status();
    return;
  }
  devices_ = *std::move(devices);
  usage_.Update(devices_, ledger_.snapshot());
  plan_ = PlanOf(instance.claims);
}

std::shared_ptr<const allocator::Plan> World::PlanOf(
    const std::vector<api::ResourceClaim>& claims) {
  std::vector<std::shared_ptr<const api::ResourceClaim>> shared;
  shared.reserve(claims.size());
  for (const api::ResourceClaim& claim : claims) {
    shared.push_back(std::make_shared<api::ResourceClaim>(claim));
  }
  return allocator::MakePlan(shared, *this, FeaturesOf(instance_.features), expressions_);
}

std::shared_ptr<const api::DeviceClass> World::FindClass(std::string_view name) const {
  const auto it = std::ranges::find_if(
      classes_, [&](const auto& device_class) { return device_class->metadata.name == name; });
  return it == classes_.end() ? nullptr : *it;
}

std::string CountedShareIds::Next() {
  return fmt::format("00000000-0000-4000-8000-{:012}", next_++);
}

Outcome Decide(World& world, allocator::Allocator& allocator,
               const allocator::SearchOptions& options) {
  Outcome outcome;
  const auto fail = [&](const allocator::Fault& fault) {
    outcome.kind = Outcome::Kind::kError;
    outcome.node_only = fault.only_this_node;
    outcome.error = base::Message(fault.status);
    return outcome;
  };
  if (!world.status().ok()) return fail({world.status(), false});
  const allocator::Decision decision = allocator.Decide(*world.plan(), world.usage(), options);
  outcome.steps = decision.steps;
  outcome.work = decision.work;
  switch (decision.kind) {
    case allocator::Decision::Kind::kFault:
      return fail(decision.fault);
    case allocator::Decision::Kind::kRefused:
      outcome.kind = Outcome::Kind::kNotPossible;
      break;
    case allocator::Decision::Kind::kBudget:
      outcome.kind = Outcome::Kind::kBudget;
      break;
    case allocator::Decision::Kind::kFits: {
      CountedShareIds share_ids;
      auto results = allocator.Build(share_ids);
      if (!results.ok()) return fail({results.status(), false});
      outcome.kind = Outcome::Kind::kAllocated;
      outcome.results = *std::move(results);
      break;
    }
  }
  return outcome;
}

Outcome Solve(const model::Instance& instance, const allocator::SearchOptions& options) {
  World world(instance);
  allocator::Allocator allocator;
  return Decide(world, allocator, options);
}

}  // namespace dray::engine
