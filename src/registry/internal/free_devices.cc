// SPDX-License-Identifier: Apache-2.0
#include "registry/internal/free_devices.h"

#include <algorithm>

#include "fmt/format.h"

namespace dray::registry::internal {
namespace {

// A capacity without a domain is in its driver's.
std::string Qualified(std::string_view name, std::string_view driver) {
  return name.find('/') == std::string_view::npos ? fmt::format("{}/{}", driver, name)
                                                  : std::string(name);
}

}  // namespace

void HeldDevices::Add(const api::ResourceClaim& claim) {
  if (!claim.status.allocation.has_value()) return;
  for (const auto& result : claim.status.allocation->devices.results) {
    if (result.admin_access.value_or(false)) continue;
    Held& held = held_[{result.driver, result.pool, result.device}];
    if (!result.share_id) held.whole = true;
    for (const auto& [name, amount] : result.consumed_capacity) {
      held.consumed[Qualified(name, result.driver)] += amount;
    }
  }
}

bool HeldDevices::HasRoom(const Held& held, const api::Device& device,
                          const std::string& driver) const {
  if (held.whole || !device.allow_multiple_allocations.value_or(false)) return false;
  return std::ranges::all_of(device.capacity, [&](const auto& entry) {
    const base::Quantity* consumed = held.consumed.Find(Qualified(entry.first, driver));
    return consumed == nullptr || *consumed < entry.second.value;
  });
}

std::int64_t HeldDevices::FreeIn(const api::ResourceSlice& slice) const {
  if (!slice.spec.devices) return 0;
  return std::ranges::count_if(*slice.spec.devices, [&](const api::Device& device) {
    const auto held = held_.find({slice.spec.driver, slice.spec.pool.name, device.name});
    return held == held_.end() || HasRoom(held->second, device, slice.spec.driver);
  });
}

}  // namespace dray::registry::internal
