// SPDX-License-Identifier: Apache-2.0
//
// DriverProgram: a driver of described devices as `dray driver` runs it: the description is read
// again when it changes, health is reported, controls for tests are served.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/cluster.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/mutex.h"
#include "driver/described_driver.h"
#include "driver/driver.h"
#include "driver/self_check.h"
#include "driver/test_controls.h"
#include "rpc/liveness.h"

namespace dray::driver {

struct ProgramOptions {
  DriverOptions driver;
  DescriptionSource::Reader description;
  std::string controls;  // a socket; empty: none
  // Where a liveness probe asks whether the driver answers on its own sockets; 0: a free port.
  std::optional<std::uint16_t> health_port;
  rpc::PluginConnector* connector = nullptr;  // to these sockets, if not the machine's; outlives it
  std::chrono::nanoseconds look = std::chrono::seconds(1);     // at the description
  std::chrono::nanoseconds report = std::chrono::seconds(10);  // of health
};

// One thread, but for what the driver calls.
class DriverProgram {
 public:
  // With an API server.
  static StatusOr<std::unique_ptr<DriverProgram>> Start(ProgramOptions options,
                                                        const client::ServerAccess& access);
  // All outlive it.
  static StatusOr<std::unique_ptr<DriverProgram>> Start(ProgramOptions options,
                                                        api::Cluster& cluster,
                                                        const base::Clock& clock, base::Host& host);
  ~DriverProgram();

  // Does what is due. Called several times a second.
  void Tick();
  Driver& driver() { return *driver_; }
  // Of the liveness probe; 0: there is none.
  std::uint16_t health_port() const { return liveness_ ? liveness_->port() : std::uint16_t{0}; }
  // A line of the controls.
  std::string Command(std::string_view line) { return controls_.Command(line); }

 private:
  DriverProgram(ProgramOptions options, const base::Clock& clock);
  Status Prepare();
  Status Begin();
  std::vector<rpc::DeviceHealth> Health() const;
  Status SetHealth(const std::string& pool, const std::string& device, rpc::Health health,
                   const std::string& message);

  ProgramOptions options_;
  const base::Clock& clock_;
  DescriptionSource source_;
  DescribedDevices devices_;
  TestControls controls_;
  std::chrono::nanoseconds looked_{0};
  std::chrono::nanoseconds reported_{0};
  mutable base::Mutex mutex_;
  // What the controls say, over the description.
  std::map<std::pair<std::string, std::string>, std::pair<rpc::Health, std::string>> told_
      ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<rpc::PluginConnector> connector_;
  std::unique_ptr<rpc::LivenessServer> liveness_;
  std::unique_ptr<ControlSocket> socket_;  // last: it ends first
};

}  // namespace dray::driver
