// SPDX-License-Identifier: Apache-2.0
//
// Plain values to messages and back. The versions of a service differ by namespace and by a field or
// two, so they are templates over the messages.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rpc/messages.h"

namespace dray::rpc::internal {

template <class Strings>
std::vector<std::string> ToVector(const Strings& strings) {
  return {strings.begin(), strings.end()};
}

template <class Request>
Request ClaimsRequest(const std::vector<ClaimName>& claims) {
  Request out;
  for (const ClaimName& claim : claims) {
    auto* to = out.add_claims();
    to->set_namespace_(claim.namespace_);
    to->set_uid(claim.uid);
    to->set_name(claim.name);
  }
  return out;
}

template <class Request>
std::vector<ClaimName> ClaimsOf(const Request& request) {
  std::vector<ClaimName> out;
  out.reserve(static_cast<std::size_t>(request.claims_size()));
  for (const auto& claim : request.claims()) {
    out.push_back({.namespace_ = claim.namespace_(), .uid = claim.uid(), .name = claim.name()});
  }
  return out;
}

template <class Response>
PrepareAnswer PrepareAnswerOf(const Response& response) {
  PrepareAnswer out;
  for (const auto& [uid, claim] : response.claims()) {
    PreparedClaim& to = out[uid];
    to.error = claim.error();
    to.devices.reserve(static_cast<std::size_t>(claim.devices_size()));
    for (const auto& device : claim.devices()) {
      PreparedDevice& prepared = to.devices.emplace_back();
      prepared.requests = ToVector(device.request_names());
      prepared.pool = device.pool_name();
      prepared.device = device.device_name();
      prepared.cdi_ids = ToVector(device.cdi_device_ids());
      if constexpr (requires { device.has_share_id(); }) {
        if (device.has_share_id()) prepared.share_id = device.share_id();
      }
    }
  }
  return out;
}

template <class Response>
void ToResponse(const PrepareAnswer& answer, Response& out) {
  for (const auto& [uid, claim] : answer) {
    auto& to = (*out.mutable_claims())[uid];
    to.set_error(claim.error);
    for (const PreparedDevice& prepared : claim.devices) {
      auto* device = to.add_devices();
      for (const std::string& request : prepared.requests) device->add_request_names(request);
      device->set_pool_name(prepared.pool);
      device->set_device_name(prepared.device);
      for (const std::string& id : prepared.cdi_ids) device->add_cdi_device_ids(id);
      if constexpr (requires { device->has_share_id(); }) {
        if (prepared.share_id) device->set_share_id(*prepared.share_id);
      }
    }
  }
}

template <class Response>
UnprepareAnswer UnprepareAnswerOf(const Response& response) {
  UnprepareAnswer out;
  for (const auto& [uid, claim] : response.claims()) out[uid] = claim.error();
  return out;
}

template <class Response>
void ToResponse(const UnprepareAnswer& answer, Response& out) {
  for (const auto& [uid, error] : answer) (*out.mutable_claims())[uid].set_error(error);
}

// A number that no version of the service knows is unknown health.
inline Health HealthOf(int status) {
  if (status == 1) return Health::kHealthy;
  if (status == 2) return Health::kUnhealthy;
  return Health::kUnknown;
}

template <class Response>
std::vector<DeviceHealth> HealthOf(const Response& response) {
  // A timeout of a hundred years never ends; in nanoseconds three of them would overflow.
  constexpr std::int64_t longest = 100LL * 365 * 24 * 3600;
  std::vector<DeviceHealth> out;
  out.reserve(static_cast<std::size_t>(response.devices_size()));
  for (const auto& device : response.devices()) {
    out.push_back({.pool = device.device().pool_name(),
                   .device = device.device().device_name(),
                   .health = HealthOf(static_cast<int>(device.health())),
                   .last_updated_seconds = device.last_updated_time(),
                   .timeout = std::chrono::seconds(
                       std::clamp<std::int64_t>(device.health_check_timeout_seconds(), 0, longest)),
                   .message = device.message()});
  }
  return out;
}

template <class Response>
void ToResponse(const std::vector<DeviceHealth>& devices, Response& out) {
  using HealthStatus = decltype(out.devices(0).health());
  for (const DeviceHealth& device : devices) {
    auto* to = out.add_devices();
    to->mutable_device()->set_pool_name(device.pool);
    to->mutable_device()->set_device_name(device.device);
    to->set_health(static_cast<HealthStatus>(device.health));
    to->set_last_updated_time(device.last_updated_seconds);
    to->set_health_check_timeout_seconds(device.timeout.count());
    to->set_message(device.message);
  }
}

}  // namespace dray::rpc::internal
