// SPDX-License-Identifier: Apache-2.0
#include "fleet/internal/claim_values.h"

#include <algorithm>

#include "fleet/internal/request_view.h"

namespace dray::fleet::internal {

using api::DeviceRequestAllocationResult;

const std::vector<DeviceRequestAllocationResult>& ClaimValues::results() const {
  static const std::vector<DeviceRequestAllocationResult> kNothing;
  return allocated() ? claim_.status.allocation->devices.results : kNothing;
}

std::optional<Id> ClaimValues::IdOf(const DeviceRequestAllocationResult& result) const {
  return fleet_.FindDevice(result.driver, result.pool, result.device);
}

const api::Device* ClaimValues::Published(const DeviceRequestAllocationResult& result) const {
  const auto id = IdOf(result);
  return id ? fleet_.PublishedOf(fleet_.devices()[*id]) : nullptr;
}

std::optional<api::DeviceAttribute> ClaimValues::Derive(
    const api::DeviceDerivedAttribute& attribute, const DeviceRequestAllocationResult& result) {
  const api::Device* device = Published(result);
  if (device == nullptr) return std::nullopt;
  auto known = programs_.find(attribute.expression);
  if (known == programs_.end()) {
    known =
        programs_
            .emplace(attribute.expression,
                     cel::ReviewExpression(attribute.expression, cel::Purpose::kDerivedAttribute)
                         .program)
            .first;
  }
  if (known->second == nullptr) return std::nullopt;
  return cel::TryOn(*known->second, cel::Purpose::kDerivedAttribute, result.driver, *device)
      .attribute;
}

std::optional<api::DeviceAttribute> ClaimValues::ValueOf(
    std::string_view name, const DeviceRequestAllocationResult& result) {
  if (const auto request = FindRequest(claim_.spec, result.request)) {
    for (const api::DeviceDerivedAttribute& derived : *request->derived) {
      if (derived.name == name) return Derive(derived, result);
    }
  }
  const api::Device* device = Published(result);
  if (device == nullptr) return std::nullopt;
  if (const auto* attribute = device->attributes.Find(name)) return *attribute;
  const auto slash = name.find('/');
  if (slash != std::string_view::npos && name.substr(0, slash) == result.driver) {
    if (const auto* attribute = device->attributes.Find(name.substr(slash + 1))) return *attribute;
  }
  return std::nullopt;
}

bool IsAbout(const api::DeviceConstraint& constraint, std::string_view request) {
  const std::string_view base_name = request.substr(0, request.find('/'));
  return constraint.requests.empty() ||
         std::ranges::any_of(constraint.requests, [&](const std::string& name) {
           return name == request || name == base_name;
         });
}

}  // namespace dray::fleet::internal
