// SPDX-License-Identifier: Apache-2.0
//
// Claims that are to be allocated, for tests:
//
//   PendingClaim("c").Request(Ask("gpu").Count(2).Where("device.name == 'a'")).Match("d/numa")
//
// What is not said is what matters least: class "any", one device.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/resource_claim.h"
#include "testing/slice_builder.h"

namespace dray::testing {

// What a request asks for; as an exact request or as one entry of a prioritized list. Each method
// gives the builder back. One thread.
class Ask {
 public:
  explicit Ask(std::string_view name) : name_(name) {
    exactly_.device_class_name = "any";
    exactly_.allocation_mode = api::kAllocationModeExactCount;
    exactly_.count = 1;
  }
  Ask& Class(std::string_view name) {
    exactly_.device_class_name = name;
    return *this;
  }
  Ask& Count(std::int64_t count) {
    exactly_.count = count;
    return *this;
  }
  Ask& Mode(std::string_view mode) {
    exactly_.allocation_mode = mode;
    return *this;
  }
  Ask& All() {
    exactly_.count = 0;
    return Mode(api::kAllocationModeAll);
  }
  Ask& Where(std::string_view expression) {
    exactly_.selectors.push_back({.cel = api::CELDeviceSelector{std::string(expression)}});
    return *this;
  }
  Ask& SelectorWithoutExpression() {
    exactly_.selectors.emplace_back();
    return *this;
  }
  Ask& Admin(bool access = true) {
    exactly_.admin_access = access;
    return *this;
  }
  Ask& Tolerate(api::DeviceToleration toleration) {
    exactly_.tolerations.push_back(std::move(toleration));
    return *this;
  }
  Ask& Capacity(Amounts amounts) {
    exactly_.capacity.emplace();
    for (const auto& [name, amount] : amounts) {
      exactly_.capacity->requests[name] = ToQuantity(amount);
    }
    return *this;
  }
  Ask& Derive(std::string_view name, std::string_view expression) {
    exactly_.derived_attributes.push_back(
        {.name = std::string(name), .expression = std::string(expression)});
    return *this;
  }

  api::DeviceRequest Exact() const {
    api::DeviceRequest request{.name = name_};
    request.exactly = exactly_;
    return request;
  }
  api::DeviceSubRequest Sub() const {
    return {.name = name_,
            .device_class_name = exactly_.device_class_name,
            .selectors = exactly_.selectors,
            .allocation_mode = exactly_.allocation_mode,
            .count = exactly_.count,
            .tolerations = exactly_.tolerations,
            .capacity = exactly_.capacity,
            .derived_attributes = exactly_.derived_attributes};
  }

 private:
  std::string name_;
  api::ExactDeviceRequest exactly_;
};

// Namespace "ns", uid "uid-<name>".
class PendingClaim {
 public:
  explicit PendingClaim(std::string_view name) {
    claim_.metadata.namespace_ = "ns";
    claim_.metadata.name = name;
    claim_.metadata.uid = "uid-" + std::string(name);
  }
  PendingClaim& Request(const Ask& ask) { return Request(ask.Exact()); }
  PendingClaim& Request(api::DeviceRequest request) {
    claim_.spec.devices.requests.push_back(std::move(request));
    return *this;
  }
  PendingClaim& FirstAvailable(std::string_view name, std::initializer_list<Ask> list) {
    api::DeviceRequest request{.name = std::string(name)};
    for (const Ask& ask : list) request.first_available.push_back(ask.Sub());
    return Request(std::move(request));
  }
  PendingClaim& Match(std::string_view attribute, std::vector<std::string> requests = {}) {
    api::DeviceConstraint constraint{.requests = std::move(requests)};
    constraint.match_attribute = std::string(attribute);
    return Constraint(std::move(constraint));
  }
  PendingClaim& Distinct(std::string_view attribute, std::vector<std::string> requests = {}) {
    api::DeviceConstraint constraint{.requests = std::move(requests)};
    constraint.distinct_attribute = std::string(attribute);
    return Constraint(std::move(constraint));
  }
  PendingClaim& Constraint(api::DeviceConstraint constraint) {
    claim_.spec.devices.constraints.push_back(std::move(constraint));
    return *this;
  }
  // Configuration for a driver of that name, for those requests.
  PendingClaim& Config(std::string_view driver, std::vector<std::string> requests = {}) {
    api::DeviceClaimConfiguration config{.requests = std::move(requests)};
    config.opaque = api::OpaqueDeviceConfiguration{.driver = std::string(driver)};
    claim_.spec.devices.config.push_back(std::move(config));
    return *this;
  }

  operator api::ResourceClaim() const { return claim_; }  // NOLINT: that is what it is for

 private:
  api::ResourceClaim claim_;
};

}  // namespace dray::testing
