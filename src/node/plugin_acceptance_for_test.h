// SPDX-License-Identifier: Apache-2.0
//
// An agent's plugins with drivers, slices and time that are the test's.
#pragma once

#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "files/temporary_folder.h"
#include "node/drivers_for_test.h"
#include "node/plugin_manager.h"

namespace dray::node {

inline const std::string kDriver = "gpu.example.com";
inline const std::string kSocket = "/registry/gpu-reg.sock";
inline const std::string kEndpoint = "/plugins/gpu/dra.sock";
inline const DeviceName kDevice = {.driver = kDriver, .pool = "p", .device = "d"};

// Done at once, on the loop's thread.
class OffloadNowhere final : public Offload {
 public:
  void Do(std::function<void()> work) override { work(); }
};

// The slices of a cluster, by node and driver.
class FakeSlices final : public SliceWiper {
 public:
  explicit FakeSlices(Loop& loop) : loop_(loop) {}
  void Wipe(const std::string& driver, std::function<void(Status)> done) override {
    wipes.push_back(driver.empty() ? "<all>" : driver);
    if (status.ok()) {
      std::erase_if(slices, [&](const auto& slice) {
        return slice.first == "n1" && (driver.empty() || slice.second == driver);
      });
    }
    loop_.Post([done = std::move(done), status = status] { done(status); });
  }
  std::vector<std::pair<std::string, std::string>> slices;
  std::vector<std::string> wipes;
  Status status;

 private:
  Loop& loop_;
};

class Listening final : public PluginsListener {
 public:
  void OnDriverReady(const std::string& driver) override { ready.push_back(driver); }
  void OnHealthChanged(const std::vector<DeviceName>& devices) override {
    for (const DeviceName& device : devices) changed.push_back(device);
  }
  std::vector<std::string> ready;
  std::vector<DeviceName> changed;
};

class PluginAcceptance : public ::testing::Test {
 protected:
  PluginAcceptance() { StartAgent(); }

  void StartAgent(bool health = true) {
    manager_ = nullptr;
    manager_ = std::make_unique<PluginManager>(
        PluginManagerParts{.loop = loop_,
                           .offload = offload_,
                           .connector = drivers_,
                           .wiper = slices_,
                           .metrics = &registry_.emplace_back()},
        PluginManagerOptions{.root = folder_.path(), .health = health});
    manager_->ReadHealth();
    manager_->Start(listening_);
    Run({});
  }
  void Run(std::chrono::nanoseconds time) { RunFor(loop_, clock_, time); }

  FakeRegistration& Registration(const std::string& socket = kSocket) {
    return drivers_.registrations[socket];
  }
  // The driver's process starts, listens, and makes its socket.
  void StartDriver(const std::vector<std::string>& services = {"v1.DRAPlugin"}) {
    Registration().info->supported_versions = services;
    drivers_.Listen(kEndpoint);
    SocketFound();
  }
  void SocketFound(const std::string& socket = kSocket) {
    manager_->registrar().SocketFound(socket);
    Run({});
  }
  void SocketGone(const std::string& socket = kSocket) {
    manager_->registrar().SocketGone(socket);
    Run({});
  }
  Status Registered() { return manager_->plugins().Registered(kDriver); }
  StatusOr<rpc::PrepareAnswer> Prepare(const std::string& uid = "u") {
    StatusOr<rpc::PrepareAnswer> out = base::Internal("no answer");
    manager_->plugins().Prepare(kDriver, {{.namespace_ = "n", .uid = uid, .name = "c"}},
                                [&](StatusOr<rpc::PrepareAnswer> answer) { out = answer; });
    Run({});
    return out;
  }
  Status Unprepare() {
    Status out = base::Internal("no answer");
    manager_->plugins().Unprepare(
        kDriver, {{.namespace_ = "n", .uid = "u", .name = "c"}},
        [&](const StatusOr<rpc::UnprepareAnswer>& answer) { out = answer.status(); });
    Run({});
    return out;
  }
  HealthOfDevice Health() { return manager_->plugins().HealthOf(kDevice); }
  void Report(rpc::Health health, const std::string& message = "",
              std::chrono::seconds timeout = std::chrono::seconds(0)) {
    drivers_.Report(
        kEndpoint,
        {{.pool = "p", .device = "d", .health = health, .timeout = timeout, .message = message}});
    Run(std::chrono::seconds(1));
  }

  const files::TemporaryFolder folder_;
  base::ManualClock clock_{base::Time::FromUnix(1'800'000'000)};
  Loop loop_{clock_};
  OffloadNowhere offload_;
  FakeDrivers drivers_{loop_};
  FakeSlices slices_{loop_};
  Listening listening_;
  std::list<metrics::Registry> registry_;  // one for each life of the agent
  std::unique_ptr<PluginManager> manager_;
};

}  // namespace dray::node
