// SPDX-License-Identifier: Apache-2.0
//
// What agents and drivers say to each other, as plain values: whoever includes this sees nothing of
// gRPC or protobuf. One set for all versions of a service; what a version lacks is left out by it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace dray::rpc {

// Called once, from any thread. Never from inside the call that it was handed to.
template <class T>
using Done = std::function<void(StatusOr<T>)>;
using DoneStatus = std::function<void(Status)>;

// What a plugin says about itself on its registration socket.
struct PluginInfo {
  std::string type;      // DRAPlugin
  std::string name;      // the driver's
  std::string endpoint;  // empty: this very socket
  std::vector<std::string> supported_versions;
  friend bool operator==(const PluginInfo&, const PluginInfo&) = default;
};

struct ClaimName {
  std::string namespace_;
  std::string uid;
  std::string name;
  friend bool operator==(const ClaimName&, const ClaimName&) = default;
};

struct PreparedDevice {
  std::vector<std::string> requests;  // empty: all of them; without subrequests
  std::string pool;
  std::string device;
  std::vector<std::string> cdi_ids;
  std::optional<std::string> share_id;  // not in v1beta1
  friend bool operator==(const PreparedDevice&, const PreparedDevice&) = default;
};

struct PreparedClaim {
  std::vector<PreparedDevice> devices;
  std::string error;  // empty: none
  friend bool operator==(const PreparedClaim&, const PreparedClaim&) = default;
};

// By the claim's UID, as the driver answered: nothing has been checked yet.
using PrepareAnswer = std::map<std::string, PreparedClaim, std::less<>>;
using UnprepareAnswer = std::map<std::string, std::string, std::less<>>;  // UID -> error or empty

enum class Health : std::uint8_t { kUnknown, kHealthy, kUnhealthy };

struct DeviceHealth {
  std::string pool;
  std::string device;
  Health health = Health::kUnknown;
  std::int64_t last_updated_seconds = 0;
  std::chrono::seconds timeout{0};  // 0: the reader's own; at most 100 years
  std::string message;
  friend bool operator==(const DeviceHealth&, const DeviceHealth&) = default;
};

// Services as plugins name them when they register.
enum class DraService : std::uint8_t { kV1, kV1Beta1 };
enum class HealthService : std::uint8_t { kNone, kV1, kV1Alpha1 };

}  // namespace dray::rpc
