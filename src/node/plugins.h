// SPDX-License-Identifier: Apache-2.0
//
// Plugins: the drivers of this node, as the rest of the agent sees them. Who registers, which
// endpoint of a driver is called, whose slices are wiped, and how devices feel is decided behind it
// (plugin_manager.h).
//
// Spec: docs/spec, the node side of Dynamic Resource Allocation, sections 3, 5 and 8.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "rpc/messages.h"

namespace dray::node {

// A device of this node. Shares of it are the same device.
struct DeviceName {
  std::string driver;
  std::string pool;
  std::string device;
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
  friend auto operator<=>(const DeviceName&, const DeviceName&) = default;
};

// What a pod's status says of a device.
struct HealthOfDevice {
  rpc::Health health = rpc::Health::kUnknown;
  std::string message;  // valid UTF-8, at most 1024 bytes; empty: none
  friend bool operator==(const HealthOfDevice&, const HealthOfDevice&) = default;
};

// Told on the loop, never from inside a call of Plugins.
class PluginsListener {
 public:
  virtual ~PluginsListener() = default;
  // The driver can be called from now on: pods that wait for it are worth another try. Told for
  // every registration, a second endpoint of a driver too, and whenever a driver that could not be
  // reached is connected again.
  virtual void OnDriverReady(const std::string& driver) = 0;
  // Health, message, or whether anything is known of them at all. Each device once.
  virtual void OnHealthChanged(const std::vector<DeviceName>& devices) = 0;
};

// On the loop's thread alone; answers come on it, too, never from inside the call.
class Plugins {
 public:
  virtual ~Plugins() = default;

  // "DRA driver <name> is not registered", "DRA driver name is empty": what Prepare and Unprepare
  // would answer.
  virtual Status Registered(std::string_view driver) const = 0;
  // One call of NodePrepareResources with all of the claims, answered within 45 s. OK: what the
  // driver has said, entry by entry, unchecked. Not OK: the driver is not registered, or the call
  // has failed; the message begins with neither "NodePrepareResources" nor the driver's name.
  virtual void Prepare(std::string_view driver, std::vector<rpc::ClaimName> claims,
                       rpc::Done<rpc::PrepareAnswer> done) = 0;
  virtual void Unprepare(std::string_view driver, std::vector<rpc::ClaimName> claims,
                         rpc::Done<rpc::UnprepareAnswer> done) = 0;
  // Unknown without a message: nobody has said anything of it, or too long ago.
  virtual HealthOfDevice HealthOf(const DeviceName& device) const = 0;
};

}  // namespace dray::node
