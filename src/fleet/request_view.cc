// SPDX-License-Identifier: Apache-2.0
#include "fleet/internal/request_view.h"

#include "fmt/format.h"

namespace dray::fleet::internal {

std::optional<RequestView> FindRequest(const api::ResourceClaimSpec& spec, std::string_view name) {
  for (const api::DeviceRequest& request : spec.devices.requests) {
    if (request.exactly.has_value() && request.name == name) {
      return ViewOf(request.name, *request.exactly);
    }
    for (const api::DeviceSubRequest& sub : request.first_available) {
      if (fmt::format("{}/{}", request.name, sub.name) == name) {
        return ViewOf(std::string(name), sub);
      }
    }
  }
  return std::nullopt;
}

}  // namespace dray::fleet::internal
