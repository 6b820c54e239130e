// SPDX-License-Identifier: Apache-2.0
#include "driver/claim_view.h"

#include <algorithm>

#include "fmt/format.h"

namespace dray::driver {
namespace {

bool IsMeant(const api::DeviceAllocationConfiguration& config, const AllocatedDevice& device) {
  return config.requests.empty() ||
         std::ranges::any_of(config.requests, [&](const std::string& request) {
           return request == device.request || request == device.base_request;
         });
}

}  // namespace

std::string_view BaseRequest(std::string_view request) {
  return request.substr(0, request.find('/'));
}

StatusOr<ClaimView> ViewOf(const api::ResourceClaim& claim, const rpc::ClaimName& meant,
                           std::string_view driver) {
  const std::string shown = fmt::format("claim {}/{}", meant.namespace_, meant.name);
  if (claim.metadata.uid != meant.uid) {
    return base::FailedPrecondition(fmt::format("{} got replaced", shown));
  }
  if (!claim.status.allocation.has_value()) {
    return base::FailedPrecondition(fmt::format("{} not allocated", shown));
  }
  ClaimView view{.name = meant};
  if (const auto* name = claim.metadata.annotations.Find(api::kPodClaimNameAnnotation)) {
    view.pod_claim_name = *name;
  }
  const api::DeviceAllocationResult& allocation = claim.status.allocation->devices;
  for (const api::DeviceRequestAllocationResult& result : allocation.results) {
    if (result.driver != driver) continue;
    AllocatedDevice device{.request = result.request,
                           .base_request = std::string(BaseRequest(result.request)),
                           .pool = result.pool,
                           .device = result.device,
                           .share_id = result.share_id,
                           .admin_access = result.admin_access.value_or(false),
                           .consumed_capacity = result.consumed_capacity};
    for (const api::DeviceAllocationConfiguration& config : allocation.config) {
      if (!config.opaque.has_value() || config.opaque->driver != driver) continue;
      if (!IsMeant(config, device)) continue;
      device.configs.push_back({.from_claim = config.source == api::kConfigSourceClaim,
                                .parameters = config.opaque->parameters.text});
    }
    view.devices.push_back(std::move(device));
  }
  return view;
}

}  // namespace dray::driver
