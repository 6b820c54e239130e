// SPDX-License-Identifier: Apache-2.0
//
// Instances in a few lines, for tests that look at one rule:
//
//   WorldOf({OnNode().With(Device("g0"))}, {Claim("c", {Ask("gpu", 2)})}, {AllocatedClaim("a")...})
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/resource_claim.h"
#include "model/instance.h"
#include "testing/slice_builder.h"

namespace dray::engine {

inline api::DeviceSelector Selector(std::string_view expression) {
  return {.cel = api::CELDeviceSelector{.expression = std::string(expression)}};
}

// A request of class "gpu" for `count` devices.
class Ask {
 public:
  explicit Ask(std::string_view name, std::int64_t count = 1) {
    request_.name = name;
    exactly_.device_class_name = "gpu";
    exactly_.allocation_mode = "ExactCount";
    exactly_.count = count;
  }
  Ask& Class(std::string_view name) { return exactly_.device_class_name = name, *this; }
  Ask& All() { return exactly_.allocation_mode = "All", exactly_.count = 0, *this; }
  Ask& Where(std::string_view expression) {
    return exactly_.selectors.push_back(Selector(expression)), *this;
  }
  Ask& Capacity(std::string_view name, std::string_view amount) {
    if (!exactly_.capacity.has_value()) exactly_.capacity.emplace();
    return exactly_.capacity->requests[name] = testing::ToQuantity(amount), *this;
  }
  // Makes it a prioritized list; called again it adds the next entry.
  Ask& Or(std::string_view name, std::int64_t count) {
    return request_.first_available.push_back({.name = std::string(name),
                                               .device_class_name = exactly_.device_class_name,
                                               .allocation_mode = "ExactCount",
                                               .count = count}),
           *this;
  }
  operator api::DeviceRequest() const {  // NOLINT: that is what it is for
    api::DeviceRequest request = request_;
    if (request.first_available.empty()) request.exactly = exactly_;
    return request;
  }

 private:
  api::DeviceRequest request_;
  api::ExactDeviceRequest exactly_;
};

inline api::ResourceClaim Claim(std::string_view name, std::vector<api::DeviceRequest> requests,
                                std::vector<api::DeviceConstraint> constraints = {}) {
  api::ResourceClaim claim;
  claim.metadata.name = name;
  claim.metadata.namespace_ = "default";
  claim.spec.devices.requests = std::move(requests);
  claim.spec.devices.constraints = std::move(constraints);
  return claim;
}

inline api::DeviceConstraint Match(std::string_view attribute) {
  return {.match_attribute = std::string(attribute)};
}
inline api::DeviceConstraint Distinct(std::string_view attribute) {
  return {.distinct_attribute = std::string(attribute)};
}

// All features on; classes "gpu" and "nic", each for the devices of its driver.
inline model::Instance WorldOf(std::vector<api::ResourceSlice> slices,
                               std::vector<api::ResourceClaim> claims,
                               std::vector<api::ResourceClaim> taken = {}) {
  model::Instance instance;
  instance.features = model::Features::All();
  instance.node = testing::Node("node-1");
  for (const std::string_view kind : {"gpu", "nic"}) {
    api::DeviceClass device_class;
    device_class.metadata.name = kind;
    device_class.spec.selectors = {
        Selector("device.driver == '" + std::string(kind) + ".example.com'")};
    instance.classes.push_back(device_class);
  }
  instance.slices = std::move(slices);
  instance.claims = std::move(claims);
  instance.allocated_claims = std::move(taken);
  return instance;
}

// A slice of node-1, where the claims are to go.
inline testing::Slice OnNode(std::string_view name = "slice") {
  testing::Slice slice(name);
  slice.OnNode("node-1");
  return slice;
}

}  // namespace dray::engine
