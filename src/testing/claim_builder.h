// SPDX-License-Identifier: Apache-2.0
//
// Claims that have been allocated, for tests:
//
//   AllocatedClaim("a").Exclusive("gpu-0").Share("gpu-1", {{"memory", "1Gi"}})
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/resource_claim.h"
#include "testing/slice_builder.h"

namespace dray::testing {

// Allocated as soon as it has a result. Namespace "ns", uid "uid-<name>"; devices are of the driver
// and the pool that Slice has by default.
class AllocatedClaim {
 public:
  explicit AllocatedClaim(std::string_view name) {
    claim_.metadata.namespace_ = "ns";
    claim_.metadata.name = name;
    claim_.metadata.uid = "uid-" + std::string(name);
  }
  AllocatedClaim& Version(std::string_view version) {
    claim_.metadata.resource_version = version;
    return *this;
  }
  // Allocated, without results.
  AllocatedClaim& Allocated() {
    if (!claim_.status.allocation.has_value()) claim_.status.allocation.emplace();
    return *this;
  }
  // What follows is in this pool.
  AllocatedClaim& In(std::string_view pool) {
    pool_ = pool;
    return *this;
  }
  AllocatedClaim& Exclusive(std::string_view device) {
    Add(device);
    return *this;
  }
  AllocatedClaim& Admin(std::string_view device) {
    Add(device).admin_access = true;
    return *this;
  }
  AllocatedClaim& Share(std::string_view device, Amounts consumed = {}) {
    auto& result = Add(device);
    result.share_id = "share-" + std::to_string(claim_.status.allocation->devices.results.size());
    for (const auto& [capacity, amount] : consumed) {
      result.consumed_capacity[capacity] = ToQuantity(amount);
    }
    return *this;
  }
  // Of the result before.
  AllocatedClaim& Groups(std::string_view counter_set, std::vector<std::string> groups) {
    claim_.status.allocation->devices.results.back().compatibility_groups[counter_set] =
        std::move(groups);
    return *this;
  }

  operator const api::ResourceClaim&() const { return claim_; }  // NOLINT: that is what it is
  const api::AllocationResult& allocation() const { return *claim_.status.allocation; }
  // The same claim, not allocated.
  api::ResourceClaim Pending() const {
    api::ResourceClaim pending = claim_;
    pending.status.allocation.reset();
    return pending;
  }

 private:
  api::DeviceRequestAllocationResult& Add(std::string_view device) {
    Allocated();
    return claim_.status.allocation->devices.results.emplace_back(
        api::DeviceRequestAllocationResult{.request = "r",
                                           .driver = std::string(kDriver),
                                           .pool = pool_,
                                           .device = std::string(device)});
  }

  api::ResourceClaim claim_;
  std::string pool_ = "pool";
};

}  // namespace dray::testing
