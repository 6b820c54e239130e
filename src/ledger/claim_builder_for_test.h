// SPDX-License-Identifier: Apache-2.0
//
// Claims for the tests of this room: Claim("a").Exclusive("gpu-0").Share("gpu-1", {{"memory",
// "1Gi"}}).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/resource_claim.h"

namespace dray::ledger {

inline constexpr std::string_view kDriver = "gpu.example.com";
inline constexpr std::string_view kPool = "node-1";

// Allocated as soon as it has a result. Namespace "ns", uid "uid-<name>".
class Claim {
 public:
  explicit Claim(std::string_view name) {
    claim_.metadata.namespace_ = "ns";
    claim_.metadata.name = name;
    claim_.metadata.uid = "uid-" + std::string(name);
  }
  Claim& Version(std::string_view version) {
    claim_.metadata.resource_version = version;
    return *this;
  }
  // Allocated, without results.
  Claim& Allocated() {
    if (!claim_.status.allocation.has_value()) claim_.status.allocation.emplace();
    return *this;
  }
  // What follows is in this pool.
  Claim& In(std::string_view pool) {
    pool_ = pool;
    return *this;
  }
  Claim& Exclusive(std::string_view device) {
    Add(device);
    return *this;
  }
  Claim& Admin(std::string_view device) {
    Add(device).admin_access = true;
    return *this;
  }
  Claim& Share(std::string_view device,
               std::initializer_list<std::pair<std::string_view, std::string_view>> consumed = {}) {
    auto& result = Add(device);
    result.share_id = "share-" + std::to_string(claim_.status.allocation->devices.results.size());
    for (const auto& [capacity, amount] : consumed) {
      result.consumed_capacity[capacity] = base::Quantity::Parse(amount).value();
    }
    return *this;
  }
  // Of the result before.
  Claim& Groups(std::string_view counter_set, std::vector<std::string> groups) {
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
  std::string pool_ = std::string(kPool);
};

}  // namespace dray::ledger
