// SPDX-License-Identifier: Apache-2.0
//
// A claim as one driver sees it: the devices that it was given of this driver, each with the
// parameters that are meant for it. Pure.
//
// Spec: docs/spec/node.md 17.1.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource_claim.h"
#include "base/quantity.h"
#include "rpc/messages.h"

namespace dray::driver {

// Parameters of a driver, as somebody wrote them: JSON that only the driver understands.
struct DeviceConfig {
  bool from_claim = false;  // else an administrator wrote them, in the device class
  std::string parameters;
  friend bool operator==(const DeviceConfig&, const DeviceConfig&) = default;
};

struct AllocatedDevice {
  std::string request;       // with a subrequest: gpu/big
  std::string base_request;  // gpu
  std::string pool;
  std::string device;
  std::optional<std::string> share_id;
  bool admin_access = false;
  api::Map<base::Quantity> consumed_capacity;
  std::vector<DeviceConfig> configs;  // where two say different things, the later one holds
};

struct ClaimView {
  rpc::ClaimName name;
  // What the pod calls the claim, if it was made from a template.
  std::optional<std::string> pod_claim_name;
  std::vector<AllocatedDevice> devices;  // in the order of the results
};

// `gpu` of `gpu/big`.
std::string_view BaseRequest(std::string_view request);

// FailedPrecondition: it is not the claim that is meant (it was replaced) or not allocated.
StatusOr<ClaimView> ViewOf(const api::ResourceClaim& claim, const rpc::ClaimName& meant,
                           std::string_view driver);

}  // namespace dray::driver
