// SPDX-License-Identifier: Apache-2.0
//
// What the devices that a claim has got say of themselves: published attributes, and those that
// requests derive.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "cel/device_trial.h"
#include "fleet/fleet.h"

namespace dray::fleet::internal {

// One thread. Fleet and claim outlive it.
class ClaimValues {
 public:
  ClaimValues(const Fleet& fleet, const api::ResourceClaim& claim) : fleet_(fleet), claim_(claim) {}

  bool allocated() const { return claim_.status.allocation.has_value(); }
  const std::vector<api::DeviceRequestAllocationResult>& results() const;
  // Its number; nothing: the fleet does not know it.
  std::optional<Id> IdOf(const api::DeviceRequestAllocationResult& result) const;
  std::optional<api::DeviceAttribute> Derive(const api::DeviceDerivedAttribute& attribute,
                                             const api::DeviceRequestAllocationResult& result);
  // The value of a device's own attribute, or of one that its request derives.
  std::optional<api::DeviceAttribute> ValueOf(std::string_view name,
                                              const api::DeviceRequestAllocationResult& result);

 private:
  const api::Device* Published(const api::DeviceRequestAllocationResult& result) const;

  const Fleet& fleet_;
  const api::ResourceClaim& claim_;
  std::map<std::string, std::shared_ptr<const cel::Program>, std::less<>> programs_;
};

// Whether the constraint is about what the request "request" or "request/subrequest" has got.
bool IsAbout(const api::DeviceConstraint& constraint, std::string_view request);

}  // namespace dray::fleet::internal
