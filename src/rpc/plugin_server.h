// SPDX-License-Identifier: Apache-2.0
//
// The driver's end: registration, both versions of DRAPlugin and of DRAResourceHealth on sockets.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rpc/messages.h"

namespace dray::rpc {

// Reports of health to one agent. Thread-safe.
class HealthReports {
 public:
  virtual ~HealthReports() = default;
  // False: the agent has gone; nothing more needs to be said.
  virtual bool Send(std::vector<DeviceHealth> devices) = 0;
};

// What a driver does when it is asked. Called from several threads; may take its time.
class PluginHandler {
 public:
  virtual ~PluginHandler() = default;
  virtual StatusOr<PrepareAnswer> Prepare(const std::vector<ClaimName>& claims) = 0;
  virtual StatusOr<UnprepareAnswer> Unprepare(const std::vector<ClaimName>& claims) = 0;
  // An agent wants to hear of health. kUnimplemented: there is none. Keeps `reports` as long as it
  // has something to say; the stream ends when the last owner lets go.
  virtual Status WatchHealth(std::shared_ptr<HealthReports> reports) = 0;
  // GetInfo was answered with what this says.
  virtual StatusOr<PluginInfo> Info() = 0;
  virtual Status Registered(bool registered, const std::string& error) = 0;
};

struct PluginSockets {
  std::string registration;  // empty: not served here
  std::string dra;           // may be the same path
  bool v1 = true;            // services offered on the DRA socket
  bool v1beta1 = true;
  bool health_v1 = true;
  bool health_v1alpha1 = true;
};

// Serves until it is destroyed; streams end then. Socket files that nobody listens on are replaced,
// ours are removed at the end. The handler outlives it.
class PluginServer {
 public:
  virtual ~PluginServer() = default;
};

StatusOr<std::unique_ptr<PluginServer>> ServePlugin(const PluginSockets& sockets,
                                                    PluginHandler& handler);

}  // namespace dray::rpc
