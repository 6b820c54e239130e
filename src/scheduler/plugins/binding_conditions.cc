// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/binding_conditions.h"

#include <algorithm>
#include <string_view>

#include "fmt/format.h"

namespace dray::scheduler {
namespace {

const api::AllocatedDeviceStatus* StatusOf(const api::ResourceClaim& claim,
                                           const api::DeviceRequestAllocationResult& result) {
  const auto it = std::ranges::find_if(claim.status.devices, [&](const auto& status) {
    return status.driver == result.driver && status.pool == result.pool &&
           status.device == result.device && status.share_id == result.share_id;
  });
  return it == claim.status.devices.end() ? nullptr : &*it;
}

const api::Condition* FindTrue(const api::AllocatedDeviceStatus& status, std::string_view type) {
  const auto it = std::ranges::find_if(status.conditions, [&](const api::Condition& condition) {
    return condition.type == type && condition.status == "True";
  });
  return it == status.conditions.end() ? nullptr : &*it;
}

}  // namespace

BindingState BindingStateOf(const api::ResourceClaim& claim) {
  using Kind = BindingState::Kind;
  BindingState state;
  for (const auto& result : claim.status.allocation->devices.results) {
    if (result.binding_conditions.empty()) continue;
    const api::AllocatedDeviceStatus* status = StatusOf(claim, result);
    if (status == nullptr) {
      state.kind = Kind::kPending;
      continue;
    }
    for (const std::string& type : result.binding_failure_conditions) {
      const api::Condition* failed = FindTrue(*status, type);
      if (failed == nullptr) continue;
      return {Kind::kFailed,
              fmt::format("device binding failed: claim={}, reason={}, message=\"{}\"",
                          claim.metadata.name, failed->reason, failed->message)};
    }
    if (!std::ranges::all_of(result.binding_conditions, [&](const std::string& type) {
          return FindTrue(*status, type) != nullptr;
        })) {
      state.kind = Kind::kPending;
    }
  }
  return state;
}

bool HasBindingConditions(const api::ResourceClaim& claim) {
  return claim.status.allocation.has_value() &&
         std::ranges::any_of(claim.status.allocation->devices.results,
                             [](const auto& result) { return !result.binding_conditions.empty(); });
}

std::optional<base::Time> BindingDeadline(const api::ResourceClaim& claim,
                                          std::chrono::nanoseconds timeout) {
  if (!HasBindingConditions(claim)) return std::nullopt;
  const auto& allocated = claim.status.allocation->allocation_timestamp;
  if (!allocated.has_value()) return std::nullopt;
  return *allocated + timeout;
}

}  // namespace dray::scheduler
