// SPDX-License-Identifier: Apache-2.0
//
// The two forms of a request of a claim, looked at as one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/resource_claim.h"

namespace dray::fleet::internal {

// What the two forms of a request have in common.
struct RequestView {
  std::string name;  // "request" or "request/subrequest"
  const std::string* device_class = nullptr;
  const std::vector<api::DeviceSelector>* selectors = nullptr;
  const std::string* mode = nullptr;
  std::int64_t count = 0;
  bool admin = false;
  const std::vector<api::DeviceToleration>* tolerations = nullptr;
  const api::Box<api::CapacityRequirements>* capacity = nullptr;
  const std::vector<api::DeviceDerivedAttribute>* derived = nullptr;
};

template <typename T>
RequestView ViewOf(std::string name, const T& request) {
  RequestView view{.name = std::move(name),
                   .device_class = &request.device_class_name,
                   .selectors = &request.selectors,
                   .mode = &request.allocation_mode,
                   .count = request.count,
                   .tolerations = &request.tolerations,
                   .capacity = &request.capacity,
                   .derived = &request.derived_attributes};
  if constexpr (requires { request.admin_access; }) {
    view.admin = request.admin_access.value_or(false);
  }
  return view;
}

// The form that results of this name were given for.
std::optional<RequestView> FindRequest(const api::ResourceClaimSpec& spec, std::string_view name);

}  // namespace dray::fleet::internal
