// SPDX-License-Identifier: Apache-2.0
//
// How many devices of a slice somebody can still get, for tables.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "api/map.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/quantity.h"

namespace dray::registry::internal {

// What claims hold of devices. One thread.
class HeldDevices {
 public:
  void Add(const api::ResourceClaim& claim);
  // Devices that nobody holds, and shared ones with something left of every capacity. Counters and
  // taints are not looked at: that is the scheduler's.
  std::int64_t FreeIn(const api::ResourceSlice& slice) const;

 private:
  struct Held {
    bool whole = false;
    api::Map<base::Quantity> consumed;  // by names with their domain
  };
  bool HasRoom(const Held& held, const api::Device& device, const std::string& driver) const;

  std::map<std::tuple<std::string, std::string, std::string>, Held> held_;
};

}  // namespace dray::registry::internal
